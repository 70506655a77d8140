/**
 * Retrains everything: the encoder, the initial models, then the runs of the main
 * comparison and the ablations, two at a time.
 */
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../io/files.js';
import { CHECKPOINTS } from '../../io/paths.js';
import type { BackendName } from '../../tensor/backend.js';
import { trainedBy } from '../../training/methods.js';
import { lambdaRuns } from '../lambda-ablation.js';
import { mainRuns } from '../main-results.js';
import { topKRuns } from '../top-k.js';
import { listTestRuns } from '../training/fresh-test-experiment.js';
import { TRAINING_TESTS } from '../training/tests.js';
import { runName, type PolicyRun } from './policy-runs.js';
import { INIT_SEEDS } from './runs.js';
import {
  estimateTraining,
  estimateWarmUps,
  runTool,
  trainInitialModels,
  trainRuns,
} from './train-runs.js';

/** The runs to train: the main comparison, the ablations, then the conditions. */
export function trainedRuns(): PolicyRun[] {
  const tests = TRAINING_TESTS.flatMap(listTestRuns);
  const all = [...mainRuns(), ...topKRuns(), ...lambdaRuns(), ...tests];
  const trained = all.filter(({ method }) => trainedBy(method) === method);
  return [...new Map(trained.map((run) => [runName(run), run])).values()];
}

/** Estimated seconds, from recorded metrics (native backend, 2 cores). */
export const estimateRetraining = async (): Promise<number> =>
  (await estimateWarmUps(INIT_SEEDS)) + (await estimateTraining(trainedRuns()));

interface RetrainOptions {
  backend: BackendName;
  /** Folder that marks finished stages. */
  folder: string;
  /** Maximum steps of each stage and run, for a trial whose weights are useless. */
  maxSteps?: number;
  signal: AbortSignal;
  log: (line: string) => void;
  /** @param fraction of the RL steps that this call has to do */
  onProgress?: (fraction: number) => void;
}

/** Trains everything into `data/checkpoints`. Resumes until {@link finishRetraining}. */
export async function retrainEverything(options: RetrainOptions): Promise<void> {
  const step = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const done = join(options.folder, `${name}-finished`);
    if (existsSync(done)) return options.log(`${name}: already trained`);
    options.log(`${name}: training`);
    await work();
    await makeFolder(done);
  };
  const { backend, signal, log } = options;
  // In a process that may use all threads.
  const everyThread = { signal, log, environment: {} };
  await step('encoder', () => runTool('encoder/retrain-encoder', { backend }, everyThread));
  await step('initial models', async () => {
    await rm(CHECKPOINTS, { recursive: true, force: true });
    await trainInitialModels(INIT_SEEDS, options);
  });
  await trainRuns(trainedRuns(), options);
}

/** Moves a finished retraining's folder away, so that the next one starts afresh. */
export async function finishRetraining(folder: string): Promise<void> {
  await rm(`${folder}-finished`, { recursive: true, force: true });
  await rename(folder, `${folder}-finished`);
}
