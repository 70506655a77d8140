/** Pythons that tests of exported trainings need, each where it is there. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../lib/io/paths.js';

/** Any Python 3.8 or later. */
export const python = findProgram('python3');
/** One with verl, and one with TRL. */
export const verlPython = process.env.PARALLELSEARCH_VERL_PYTHON;
export const trlPython = process.env.PARALLELSEARCH_TRL_PYTHON;

/** Importing torch and a trainer takes minutes on a busy machine. */
export const PATIENCE_MS = 1_800_000;

/**
 * What a script writes to standard output. @throws Error with its standard error where it
 * fails
 */
export async function runPython(
  program: string,
  args: readonly string[],
  folder: string,
): Promise<string> {
  // For models of this size threads only wait for each other.
  const oneThread = { OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const quiet = {
    HF_HUB_OFFLINE: '1',
    TOKENIZERS_PARALLELISM: 'false',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  // verl's launch script asks for it.
  const launched = { PYTHON: verlPython };
  const env = {
    ...process.env,
    ...launched,
    ...oneThread,
    ...quiet,
    PYTHONPATH: path.resolve(folder),
  };
  const { stdout } = await promisify(execFile)(program, args, {
    cwd: folder,
    env,
    maxBuffer: 1 << 28,
  });
  return stdout;
}
