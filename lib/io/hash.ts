/** Hashes that tell whether results are still those of the same settings and files. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { sort } from 'd3-array';

/**
 * Keys in order, at every depth when it is a replacer of `JSON.stringify`: equal
 * configurations print alike.
 */
const withSortedKeys = (_: string, value: unknown): unknown =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(sort(Object.entries(value), ([key]) => key));

/** SHA-256 in hex digits. */
export const sha256 = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex');

/** Twelve hex digits that change with any setting. */
export const configHash = (config: object): string =>
  sha256(JSON.stringify(config, withSortedKeys)).slice(0, 12);

/** SHA-256 over the contents of files, twelve hex digits. */
export async function contentHash(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths)
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex').slice(0, 12);
}
