/**
 * Trainings of the real model: the warm-up on all cores, then RL of either
 * method, two at a time. Interrupted trainings resume.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { sum } from 'd3-array';
import {
  trainHere,
  trainingEnvironment,
  trainInProcess,
  runConcurrently,
} from '../../io/processes.js';
import { makeWarmedUp } from '../../policy/prepare-trained-model.js';
import { useBackend, type BackendName } from '../../tensor/backend.js';
import { publishAdapter, trainAdapter, withTrainingProgress } from '../publish.js';
import { type TrainConfig, trainerSettings, withSettings } from '../../training/config.js';
import type { Preparation } from '../experiment.js';
import {
  adapterPath,
  ADAPTERS,
  INITIAL,
  loadRealWorld,
  MODEL,
  realConfig,
  realRunName,
  TRAINED,
  triedSteps,
  WARM_UP,
  WORK,
  type RealRun,
} from './settings.js';

/** Per step on two cores; RL two at a time. For the estimate only. */
const ROUGH_SECONDS = { warmUp: 60, rl: 200 };
/** Generation makes little use of a second core. */
const SIDE_BY_SIDE = 2;
/** Rounded weights compress to three quarters of the size. */
const SIGNIFICANT_BITS = 6;

/**
 * A group of rollouts shares its prompt in a pass; larger on a GPU, where passes cost
 * more.
 */
const TOKENS_PER_PASS = { cpu: 6144, gpu: 8192 };
const GPUS: readonly BackendName[] = ['gpu', 'webgpu'];

const isWarmUp = ({ method }: RealRun): boolean => method === WARM_UP.method;
const numSteps = (run: RealRun): number => trainerSettings(realConfig(run)).steps;

/** A run's configuration; only the size of a pass depends on the machine. */
function localConfig(run: RealRun, backend: BackendName): TrainConfig {
  const config = realConfig(run);
  const maxTokensPerPass = TOKENS_PER_PASS[GPUS.includes(backend) ? 'gpu' : 'cpu'];
  return withSettings(config, { maxTokensPerPass });
}

const runFolder = (run: RealRun): string => join(WORK, realRunName(run));

/** Merges the warm-up's adapter into the model, unless the folder exists. */
export const makeInitialModel = (): Promise<string> => makeWarmedUp(MODEL, adapterPath(WARM_UP));

/** Trains a run in this process, tries its adapters on dev questions, keeps the best. */
async function trainRun(
  { run, backend }: { run: RealRun; backend: BackendName },
  signal: AbortSignal,
) {
  await useBackend(backend);
  if (!isWarmUp(run)) await makeInitialModel();
  const { retriever, train: questions, dev } = await loadRealWorld();
  const [config, folder] = [localConfig(run, backend), runFolder(run)];
  const modelFolder = isWarmUp(run) ? MODEL : INITIAL;
  const curve = await trainAdapter({
    config,
    modelFolder,
    folder,
    retriever,
    questions,
    dev,
    evaluatedSteps: isWarmUp(run) ? [numSteps(run)] : [0, ...triedSteps(config)],
    significantBits: SIGNIFICANT_BITS,
    signal,
  });
  const name = isWarmUp(run) ? config.model.split('/').at(-1)! : 'the model after the warm-up';
  await publishAdapter(adapterPath(run), folder, curve, {
    name: realRunName(run),
    model: name,
    base: relative(adapterPath(run), modelFolder),
    purpose:
      'It shows that a small language model can learn this; do not rely on it as a search agent.',
  });
}

const untrainedRuns = (root = ADAPTERS): RealRun[] =>
  [WARM_UP, ...TRAINED].filter((run) => !existsSync(adapterPath(run, root)));

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
    const reinforced = runs.filter((run) => !isWarmUp(run));
    const cores = availableParallelism();
    const train = (run: RealRun, threads: number): Promise<void> =>
      trainInProcess(
        import.meta.url,
        { run, backend },
        { signal, environment: trainingEnvironment(threads) },
      );
    const progress = { folders: runs.map(runFolder), numSteps: sum(runs, numSteps), onProgress };
    await withTrainingProgress(progress, async () => {
      for (const run of runs.filter(isWarmUp)) await train(run, cores);
      if (reinforced.length > 0) await makeInitialModel();
      const threads = Math.max(1, Math.floor(cores / SIDE_BY_SIDE));
      await runConcurrently(reinforced, SIDE_BY_SIDE, (run) => train(run, threads));
    });
  },
};

trainHere<{ run: RealRun; backend: BackendName }>(import.meta.url, (task, { signal }) =>
  trainRun(task, signal),
);
