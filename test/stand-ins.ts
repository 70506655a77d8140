/**
 * Weights for all tests: the trained ones, and those of similar runs for untrained ones,
 * since report tests make up answers of every run.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default async function setup(): Promise<() => void> {
  const { warn } = console;
  // tfjs is loaded twice here and warns about every kernel.
  console.warn = () => undefined;
  const { baselineRuns } = await import('../lib/experiments/baselines/experiment.js');
  const { trainedRuns } = await import('../lib/experiments/running/retrain.js');
  const { modelNameForRun, runName } = await import('../lib/experiments/running/policy-runs.js');
  const { CHECKPOINTS } = await import('../lib/io/paths.js');
  console.warn = warn;

  // All temporary files go into one folder, including leftovers of skipped or killed
  // tests.
  const temporary = mkdtempSync(join(tmpdir(), 'parallelsearch-tests-'));
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = temporary;
  const root = join(temporary, 'checkpoints');
  mkdirSync(root);
  const link = (name: string, ...standIns: string[]): void => {
    const from = [name, ...standIns]
      .map((one) => join(CHECKPOINTS, one))
      .find((folder) => existsSync(folder));
    if (from && !existsSync(join(root, name))) symlinkSync(from, join(root, name));
  };
  for (const run of [...trainedRuns(), ...baselineRuns()]) {
    const method = run.method.startsWith('parallelsearch') ? 'parallelsearch' : 'search-r1';
    const standIn = { method, model: run.model, initSeed: 1, seed: 1 };
    link(modelNameForRun(run), modelNameForRun(standIn));
    link(runName(run), runName(standIn), runName({ ...standIn, steps: run.steps }));
  }
  process.env.PARALLELSEARCH_CHECKPOINTS = root;
  return () => rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
}
