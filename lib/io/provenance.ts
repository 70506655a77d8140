/** What a result says about where it was computed. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { packagePath } from './paths.js';

/**
 * Where numbers come from: seeds, commit, config hash, backend, hardware, ... by name.
 */
export type Provenance = Record<string, unknown>;

/** The short hash of the package's commit, or words that say there is none. */
export function commitOf(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: packagePath(),
      stdio: 'pipe',
    })
      .toString()
      .trim();
  } catch {
    return 'not a git checkout';
  }
}

/** Where something is computed that is computed now; never a host's name. */
export const provenanceHere = (): Provenance => ({
  commit: commitOf(),
  hardware: `${process.arch}, ${availableParallelism()} cores, ${process.platform}`,
  node: process.version,
});
