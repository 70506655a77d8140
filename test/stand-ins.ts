/**
 * Weights for the whole test run: the trained ones, and for runs that have not been
 * trained those of others of their kind. Tests of reports make up all answers anyway, and
 * are to see every run that there can be.
 */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default async function setup(): Promise<() => void> {
  const { warn } = console;
  // Here tfjs comes twice, and says so of each of its kernels.
  console.warn = () => undefined;
  const { baselineRuns } = await import('../lib/experiments/baselines.js');
  const { trainedRuns } = await import('../lib/experiments/retrain.js');
  const { modelNameOf, runName } = await import('../lib/training/checkpoints.js');
  const { CHECKPOINTS } = await import('../lib/io/paths.js');
  console.warn = warn;

  const root = mkdtempSync(join(tmpdir(), 'parallelsearch-checkpoints-'));
  const link = (name: string, standIn: string): void => {
    const from = [name, standIn]
      .map((one) => join(CHECKPOINTS, one))
      .find((folder) => existsSync(folder));
    if (from && !existsSync(join(root, name))) symlinkSync(from, join(root, name));
  };
  for (const run of [...trainedRuns(), ...baselineRuns()]) {
    const method = run.method.startsWith('parallelsearch') ? 'parallelsearch' : 'search-r1';
    const standIn = { method, model: run.model, warmUp: 1, seed: 1 };
    link(modelNameOf(run), modelNameOf(standIn));
    link(runName(run), runName(standIn));
  }
  process.env.PARALLELSEARCH_CHECKPOINTS = root;
  return () => rmSync(root, { recursive: true, force: true });
}
