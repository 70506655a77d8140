/** Where a result was computed, and hashes that tell whether it is still current. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { sort } from 'd3-array';
import { packagePath } from './paths.js';

/** Where numbers come from: seeds, commit, config hash, backend, hardware and so on. */
export type Provenance = Record<string, unknown>;

/** The short hash of the package's commit, or `not a git checkout`. */
export function readCommit(): string {
  try {
    const options = { cwd: packagePath(), stdio: 'pipe' } as const;
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], options).toString().trim();
  } catch {
    return 'not a git checkout';
  }
}

/** The provenance of a computation in this process; never contains a host name. */
export const provenanceHere = (): Provenance => ({
  commit: readCommit(),
  hardware: `${process.arch}, ${availableParallelism()} cores, ${process.platform}`,
  node: process.version,
});

/** A `JSON.stringify` replacer that sorts keys: equal configurations print alike. */
const withSortedKeys = (_: string, value: unknown): unknown =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(sort(Object.entries(value), ([key]) => key));

export const sha256 = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex');

/** Twelve hex digits that change with any setting. */
export const configHash = (config: object): string =>
  sha256(JSON.stringify(config, withSortedKeys)).slice(0, 12);

/** Keyed by the files with their sizes and modification times. */
const contentHashes = new Map<string, string>();

/** SHA-256 (hex) over the contents of files, in order. */
export async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths)
    for await (const chunk of createReadStream(path, {
      highWaterMark: 1 << 20,
    }) as AsyncIterable<Buffer>)
      hash.update(chunk);
  return hash.digest('hex');
}

/** Twelve digits of {@link hashFiles}, cached because experiments share most files. */
export async function contentHash(paths: readonly string[]): Promise<string> {
  const versions = paths.map((path) => {
    const { size, mtimeMs, ctimeMs } = statSync(path);
    return [path, size, mtimeMs, ctimeMs];
  });
  const key = JSON.stringify(versions);
  const cached = contentHashes.get(key);
  if (cached !== undefined) return cached;
  const digest = (await hashFiles(paths)).slice(0, 12);
  contentHashes.set(key, digest);
  return digest;
}
