/** Hashes that tell whether results are still those of the same settings and files. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Keys in order at every depth, so that equal configurations print alike. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

/** Twelve hex digits that change with any setting. */
export function configHash(config: object): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(config)))
    .digest('hex')
    .slice(0, 12);
}

/** SHA-256 over the contents of files, twelve hex digits. */
export async function contentHash(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(await readFile(path));
  return hash.digest('hex').slice(0, 12);
}
