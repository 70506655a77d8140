/** The Pythons for tests of exported trainings, if installed. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../lib/io/paths.js';

/** Python 3.8 or later. */
export const python = findProgram('python3');
export const verlPython = process.env.PARALLELSEARCH_VERL_PYTHON;
export const trlPython = process.env.PARALLELSEARCH_TRL_PYTHON;
export const verifiersPython = process.env.PARALLELSEARCH_VERIFIERS_PYTHON;
export const trackioPython = process.env.PARALLELSEARCH_TRACKIO_PYTHON;

/** Importing torch and a trainer can take minutes. */
export const PATIENCE_MS = 1_800_000;

/** The standard output of a script. @throws Error with its standard error if it fails */
export async function runPython(
  program: string,
  args: readonly string[],
  folder: string,
): Promise<string> {
  // Models of this size are slower with threads.
  const oneThread = { OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const quiet = {
    HF_HUB_OFFLINE: '1',
    TOKENIZERS_PARALLELISM: 'false',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  // For verl's launch script.
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
