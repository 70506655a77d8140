/**
 * Trains the real model: the warm-up on all cores, then RL with either method, two runs
 * at a time. Interrupted runs resume.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { sum } from 'd3-array';
import { runConcurrently } from '../../io/processes.js';
import { makeWarmedUp } from '../../policy/folders/model-folder.js';
import { trainingEnvironment } from '../../tensor/backend-names.js';
import { trainerSettings } from '../../training/config.js';
import type { Preparation } from '../experiment.js';
import { runTool, withTrainingProgress } from '../running/train-runs.js';
import {
  adapterPath,
  MODEL,
  realConfig,
  realRunName,
  TRAINED,
  WARM_UP,
  WORK,
  type RealRun,
} from './settings.js';

/** Seconds per step on two cores, with two RL runs at a time. For the estimate only. */
const ROUGH_SECONDS = { warmUp: 60, rl: 200 };
/** RL runs at a time: generation makes little use of a second core. */
const MAX_CONCURRENT_RUNS = 2;

const isWarmUp = ({ method }: RealRun): boolean => method === WARM_UP.method;
const numSteps = (run: RealRun): number => trainerSettings(realConfig(run)).steps;

export const realRunFolder = (run: RealRun): string => join(WORK, realRunName(run));

/** Merges the warm-up's adapter into the model, unless the folder exists. */
export const makeInitialModel = (): Promise<string> => makeWarmedUp(MODEL, adapterPath(WARM_UP));

const untrainedRuns = (): RealRun[] =>
  [WARM_UP, ...TRAINED].filter((run) => !existsSync(adapterPath(run)));

export const realTraining: Preparation = {
  plan: () => {
    const runs = untrainedRuns();
    if (runs.length === 0) return Promise.resolve(null);
    const seconds = sum(runs, (run) => {
      const { warmUp, rl } = ROUGH_SECONDS;
      return numSteps(run) * (isWarmUp(run) ? warmUp : rl);
    });
    const work = `${runs.length} adapters to train (${sum(runs, numSteps)} steps)`;
    return Promise.resolve({ work, seconds });
  },
  run: async ({ backend, signal, onProgress }) => {
    const runs = untrainedRuns();
    const rlRuns = runs.filter((run) => !isWarmUp(run));
    const cores = availableParallelism();
    const train = (run: RealRun, threads: number): Promise<void> =>
      runTool(
        'runs/train-real-model',
        { run, backend },
        { signal, environment: trainingEnvironment(threads) },
      );
    const progress = {
      folders: runs.map(realRunFolder),
      numSteps: sum(runs, numSteps),
      onProgress,
    };
    await withTrainingProgress(progress, async () => {
      for (const run of runs.filter(isWarmUp)) await train(run, cores);
      if (rlRuns.length > 0) await makeInitialModel();
      const threads = Math.max(1, Math.floor(cores / MAX_CONCURRENT_RUNS));
      await runConcurrently(rlRuns, MAX_CONCURRENT_RUNS, (run) => train(run, threads));
    });
  },
};
