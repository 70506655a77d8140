/**
 * Trains everything again: the encoder, the initial models, then every run of the main
 * comparison and of the ablations, two at a time.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKPOINTS } from '../io/paths.js';
import { trainedBy } from '../training/methods.js';
import type { BackendName } from '../tensor/backend.js';
import { lambdaRuns } from './lambda-ablation.js';
import { mainRuns } from './main-results.js';
import { runName, type PolicyRun } from '../training/checkpoints.js';
import { WARM_UPS } from './runs.js';
import { topKRuns } from './top-k.js';
import {
  estimateTraining,
  estimateWarmUps,
  runTool,
  trainInitialModels,
  trainRuns,
} from './train-runs.js';

/** The runs that training makes: those of the main comparison first. */
export function trainedRuns(): PolicyRun[] {
  const all = [...mainRuns(), ...topKRuns(), ...lambdaRuns()];
  const own = all.filter(({ method }) => trainedBy(method) === method);
  return [...new Map(own.map((run) => [runName(run), run])).values()];
}

/**
 * Seconds that the recorded training took, as its metrics say; it ran on the native
 * backend with 2 cores.
 */
export const estimateRetraining = async (): Promise<number> =>
  (await estimateWarmUps(WARM_UPS)) + (await estimateTraining(trainedRuns()));

interface RetrainOptions {
  backend: BackendName;
  /** What is done is marked here. */
  folder: string;
  /**
   * Most steps of each stage of a model and of each run: to see whether all of it works,
   * with weights that are of no use.
   */
  maxSteps?: number;
  signal: AbortSignal;
  log: (line: string) => void;
}

/**
 * Trains what is not finished and puts the weights into `data/checkpoints`. Goes on
 * where it was stopped, until {@link finishRetraining}.
 */
export async function retrainEverything(options: RetrainOptions): Promise<void> {
  const step = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const done = join(options.folder, `${name}-finished`);
    if (existsSync(done)) return options.log(`${name}: finished before`);
    options.log(`${name}: training`);
    await work();
    await mkdir(done, { recursive: true });
  };
  await step('encoder', () => trainEncoder(options));
  await step('initial models', async () => {
    await rm(CHECKPOINTS, { recursive: true, force: true });
    await trainInitialModels(WARM_UPS, options);
  });
  await trainRuns(trainedRuns(), options);
}

/** Trains the encoder in a process with all threads. */
const trainEncoder = ({ backend, signal, log }: RetrainOptions): Promise<void> =>
  runTool('encoder/retrain-encoder', { backend }, { signal, log, environment: {} });

/**
 * Moves the folder of a training aside once its weights have been evaluated too: the next
 * one begins anew.
 */
export async function finishRetraining(folder: string): Promise<void> {
  await rm(`${folder}-finished`, { recursive: true, force: true });
  await rename(folder, `${folder}-finished`);
}
