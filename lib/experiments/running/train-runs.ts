/**
 * Trains runs into `data/checkpoints`, two at a time, each in its own process
 * (`tools/runs`), and estimates how long that takes. Resumes if interrupted.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mean, median, sum } from 'd3-array';
import { readLog } from '../../io/logs.js';
import { CHECKPOINTS, packagePath, SMALL_WORLD } from '../../io/paths.js';
import { runConcurrently } from '../../io/processes.js';
import { contentHash } from '../../io/provenance.js';
import { runScript, type ScriptOptions } from '../../io/scripts.js';
import { ADAPTER_WEIGHTS, METRICS_FILE } from '../../policy/folders/files.js';
import { trainingEnvironment } from '../../tensor/backend-names.js';
import type { BackendName } from '../../tensor/backend.js';
import { trainerSettings } from '../../training/config.js';
import { METHODS } from '../../training/methods.js';
import { initialModelName, SMALL_WORLD_MODELS } from '../../training/models.js';
import { simulatorFolder } from '../../training/zerosearch.js';
import type { Preparation } from '../experiment.js';
import {
  adapterFolder,
  trainConfigForRun,
  isTrained,
  modelNameForRun,
  runName,
  type PolicyRun,
} from './policy-runs.js';
import { PUBLISH_EVERY, INIT_SEEDS } from './runs.js';

const NUM_PROCESSES = 2;

export interface TrainRunsOptions {
  backend: BackendName | 'auto';
  /** Maximum RL steps of a run, for a trial. */
  maxSteps?: number;
  signal?: AbortSignal;
  log?: (line: string) => void;
  /** @param fraction of the steps that this call has to do */
  onProgress?: (fraction: number) => void;
}

export const countSteps = (run: PolicyRun, maxSteps = Infinity): number =>
  Math.min(maxSteps, trainerSettings(trainConfigForRun(run)).steps);

/** The folder of a run's checkpoints, named by the contents of its model and data. */
export async function runFolder(run: PolicyRun, maxSteps?: number): Promise<string> {
  const model = join(CHECKPOINTS, modelNameForRun(run), 'model.safetensors');
  const { zerosearch } = trainConfigForRun(run);
  const simulator = zerosearch
    ? [join(simulatorFolder(zerosearch.simulator!), ADAPTER_WEIGHTS)].filter((file) =>
        existsSync(file),
      )
    : [];
  const hash = await contentHash([model, join(SMALL_WORLD, 'passages.jsonl'), ...simulator]);
  const suffix = maxSteps === undefined ? '' : `-${maxSteps}-steps`;
  return packagePath('runs', 'training', hash + suffix, runName(run));
}

/** Means over greedy answers at a step; step 0 is the model without adapter. */
export interface DevPoint {
  step: number;
  reward: number;
  outcome: number;
  /** Share of the parallelizable questions that are decomposed. */
  decomposition: number;
  modelCalls: number;
  /** Share of the evidence that was shown; absent in early records. */
  evidenceSeen?: number;
}

const PROGRESS_INTERVAL_MS = 5000;

/**
 * Trains several runs, reporting the finished share of the remaining steps.
 * @param folders of the runs
 * @param numSteps of all runs
 */
export async function withTrainingProgress(
  {
    folders,
    numSteps,
    onProgress,
  }: { folders: readonly string[]; numSteps: number } & Pick<TrainRunsOptions, 'onProgress'>,
  train: () => Promise<void>,
): Promise<void> {
  const countDone = async (): Promise<number> => {
    const logs = await Promise.all(folders.map((folder) => readLog(join(folder, METRICS_FILE))));
    return sum(logs, (lines) => lines.length);
  };
  let before = await countDone();
  const report = async (): Promise<void> => {
    const done = await countDone();
    // A resumed run repeats the steps after its last checkpoint.
    before = Math.min(before, done);
    onProgress?.((done - before) / Math.max(1, numSteps - before));
  };
  const timer = setInterval(() => void report(), PROGRESS_INTERVAL_MS);
  await train().finally(() => clearInterval(timer));
}

/**
 * Lines of a metrics file times their median seconds, so that pauses do not count; 0
 * without a file.
 * @param names of the metrics that are summed within a line
 */
export async function recordedSeconds(path: string, names: readonly string[]): Promise<number> {
  const steps = await readLog<Record<string, number>>(path);
  const seconds = steps.map((metrics) => sum(names, (name) => metrics[name] ?? 0));
  return (median(seconds) ?? 0) * seconds.length;
}

/** The mean of the known values; 0 if there are none. */
const meanRecorded = (seconds: readonly number[]): number =>
  mean(seconds.filter((value) => value > 0)) ?? 0;

/**
 * Estimated seconds of training, from recorded metrics (native backend, 2 cores). A run
 * without metrics counts as the mean of `similar` runs; 0 if none has metrics.
 */
export async function estimateTraining(
  runs: readonly PolicyRun[],
  similar: readonly PolicyRun[] = runs,
): Promise<number> {
  const names = ['rollout_seconds', 'update_seconds'];
  const readSeconds = (some: readonly PolicyRun[]): Promise<number[]> =>
    Promise.all(some.map((run) => recordedSeconds(join(adapterFolder(run), METRICS_FILE), names)));
  const usual = meanRecorded(await readSeconds(similar));
  return sum(await readSeconds(runs), (seconds) => seconds || usual) / NUM_PROCESSES;
}

/** Estimated seconds of training the initial models, from the metrics of trained ones. */
export async function estimateWarmUps(seeds: readonly number[]): Promise<number> {
  const readSeconds = async (seed: number): Promise<number> => {
    const files = SMALL_WORLD_MODELS.map((name) =>
      join(CHECKPOINTS, initialModelName(name, seed), METRICS_FILE),
    );
    const seconds = await Promise.all(files.map((file) => recordedSeconds(file, ['seconds'])));
    return PUBLISH_EVERY * sum(seconds);
  };
  const usual = meanRecorded(await Promise.all(INIT_SEEDS.map(readSeconds)));
  return (usual * seeds.length) / NUM_PROCESSES;
}

/** The seeds of initial models that runs need and that are not trained. */
const missingSeeds = (runs: readonly PolicyRun[]): number[] => [
  ...new Set(
    runs
      .filter((run) => !existsSync(join(CHECKPOINTS, modelNameForRun(run), 'README.md')))
      .map(({ initSeed }) => initSeed),
  ),
];

/**
 * Runs a module of `tools/`, such as a training, in its own process.
 * @param options.environment default: one thread
 * @throws Error in an installed package, which has no `tools/`
 */
export async function runTool(
  name: string,
  task: object,
  { environment = trainingEnvironment(1), ...options }: ScriptOptions,
): Promise<void> {
  const file = packagePath('tools', `${name}.ts`);
  if (!existsSync(file))
    throw new Error(
      `Expected ${file}, but this is an installed package. Train the small world's models in a clone of the project.`,
    );
  await runScript(pathToFileURL(file).href, task, { ...options, environment });
}

/**
 * Trains the initial models of `seeds`, two seeds at a time. Resumes if interrupted.
 * @throws Error if a process fails, or the signal's reason
 */
export const trainInitialModels = (
  seeds: readonly number[],
  { backend, maxSteps, signal, log }: TrainRunsOptions,
): Promise<void> =>
  runConcurrently(seeds, NUM_PROCESSES, (seed) =>
    runTool('warm-up/initial-models', { seed, backend, maxSteps }, { signal, log }),
  );

/**
 * Trains runs and publishes their adapters in `data/checkpoints`. Resumes if interrupted.
 * @throws Error if a process fails, or the signal's reason
 */
export async function trainRuns(
  runs: readonly PolicyRun[],
  options: TrainRunsOptions,
): Promise<void> {
  const { backend, maxSteps, signal, log, onProgress } = options;
  const folders = await Promise.all(runs.map((run) => runFolder(run, maxSteps)));
  const numSteps = sum(runs, (run) => countSteps(run, maxSteps));
  const started = new Map<string, Promise<void>>();
  await withTrainingProgress({ folders, numSteps, onProgress }, () =>
    runConcurrently(runs, NUM_PROCESSES, async (run) => {
      // The simulator is trained before this run, but maybe in parallel.
      const simulator = trainConfigForRun(run).zerosearch?.simulator;
      if (simulator !== undefined) await started.get(simulator);
      const training = runTool('runs/train-run', { run, backend, maxSteps }, { signal, log });
      started.set(runName(run), training);
      await training;
    }),
  );
}

/**
 * Trains the missing runs of an experiment, and their initial models.
 * @param similar runs whose metrics estimate the time
 */
export function planTraining(
  runs: () => readonly PolicyRun[],
  similar: () => readonly PolicyRun[] = runs,
): Preparation {
  const open = (): PolicyRun[] => {
    const untrained = runs().filter((run) => !isTrained(run));
    const simulators = untrained.map((run) => trainConfigForRun(run).zerosearch?.simulator);
    // Preparations are only trained for runs that need them.
    return untrained.filter(
      (run) => !METHODS.get(run.method).isPreparation || simulators.includes(runName(run)),
    );
  };
  return {
    plan: async () => {
      const untrained = open();
      if (untrained.length === 0) return null;
      const steps = sum(untrained, (run) => countSteps(run));
      const trained = similar().filter((run) => isTrained(run));
      const seeds = missingSeeds(untrained);
      const first = seeds.length > 0 ? `the initial models of seed ${seeds.join(' and ')}, ` : '';
      return {
        work: `${first}${untrained.length} of ${runs().length} runs to train (${steps} steps)`,
        seconds: (await estimateWarmUps(seeds)) + (await estimateTraining(untrained, trained)),
      };
    },
    run: async ({ backend, signal, onProgress }) => {
      const seeds = missingSeeds(open());
      if (seeds.length > 0) await trainInitialModels(seeds, { backend, signal });
      await trainRuns(open(), { backend, signal, onProgress });
    },
  };
}
