/** What a result says about where it was computed. */
import { execFileSync } from 'node:child_process';
import { packagePath } from './paths.js';

/** The short hash of the package's commit, or words that say there is none. */
export function commitOf(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: packagePath(), stdio: 'pipe' })
      .toString()
      .trim();
  } catch {
    return 'not a git checkout';
  }
}
