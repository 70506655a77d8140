/**
 * Trainings of the real model: the warm-up on all cores, then reinforcement of either
 * method, two at a time. Interrupted trainings resume.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { sum } from 'd3-array';
import {
  trainHere,
  trainingEnvironment,
  trainInProcess,
  runConcurrently,
} from '../../io/processes.js';
import { exportModel, roundAdapter } from '../../policy/model-folder.js';
import { loadModel } from '../../policy/model-folder.js';
import { weightFiles } from '../../tensor/weight-files.js';
import { useBackend, type BackendName } from '../../tensor/backend.js';
import { keptAdapter, runTraining } from '../../training/run.js';
import { type DevPoint, evaluateAdapter, publishAdapter, readLines } from '../publish.js';
import { type TrainConfig, trainerSettings, withSettings } from '../../training/config.js';
import type { Preparation } from '../experiment.js';
import { loadRealWorld } from './settings.js';
import {
  adapterPath,
  ADAPTERS,
  BATCH_SIZE,
  INITIAL,
  MODEL,
  realConfig,
  realRunName,
  TRAINED,
  triedSteps,
  WARM_UP,
  WORK,
  type RealRun,
} from './settings.js';
import { contentHash } from '../../io/provenance.js';

const PROGRESS_INTERVAL_MS = 5000;
/** Per step on two cores; reinforcement two at a time. For the estimate only. */
const ROUGH_SECONDS = { warmUp: 60, reinforcement: 200 };
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
export async function makeInitialModel(folder = INITIAL): Promise<void> {
  if (existsSync(join(folder, 'model.safetensors'))) return;
  await exportModel(folder, [MODEL, adapterPath(WARM_UP)], 'F16');
}

/** Trains a run in this process, tries its adapters on dev questions, keeps the best. */
async function trainRun(
  { run, backend }: { run: RealRun; backend: BackendName },
  signal: AbortSignal,
) {
  await useBackend(backend);
  if (!isWarmUp(run)) await makeInitialModel();
  const { retriever, train, dev } = await loadRealWorld();
  const [config, folder] = [localConfig(run, backend), runFolder(run)];
  const model = isWarmUp(run) ? MODEL : INITIAL;
  const keepSteps = triedSteps(config);
  await runTraining({
    config,
    model: await loadModel(model),
    modelFolder: model,
    retriever,
    questions: train,
    inputsHash: await contentHash(await weightFiles(model)),
    folder,
    keepSteps,
    signal,
  });
  for (const step of keepSteps)
    await roundAdapter(join(folder, keptAdapter(step)), SIGNIFICANT_BITS);
  const curve: DevPoint[] = [];
  for (const step of isWarmUp(run) ? keepSteps.slice(-1) : [0, ...keepSteps]) {
    signal.throwIfAborted();
    const adapter = step > 0 ? join(folder, keptAdapter(step)) : undefined;
    curve.push(
      await evaluateAdapter({ config, model, adapter, step }, dev, {
        retriever,
        batchSize: BATCH_SIZE,
      }),
    );
  }
  const name = isWarmUp(run) ? config.model.split('/').at(-1)! : 'the model after the warm-up';
  await publishAdapter(adapterPath(run), folder, curve, {
    name: realRunName(run),
    model: name,
    base: join('..', '..', '..', config.model),
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
      const { warmUp, reinforcement } = ROUGH_SECONDS;
      return numSteps(run) * (isWarmUp(run) ? warmUp : reinforcement);
    });
    const work = `${runs.length} adapters to train (${sum(runs, numSteps)} steps)`;
    return Promise.resolve({ work, seconds });
  },
  run: async ({ backend, signal, onProgress }) => {
    const runs = untrainedRuns();
    const doneSteps = async (): Promise<number> =>
      sum(
        await Promise.all(runs.map((run) => readLines(join(runFolder(run), 'metrics.jsonl')))),
        (lines) => lines.length,
      );
    const total = sum(runs, numSteps);
    const timer = setInterval(
      () => void doneSteps().then((done) => onProgress(done / total)),
      PROGRESS_INTERVAL_MS,
    );
    try {
      const cores = availableParallelism();
      const train = (run: RealRun, threads: number): Promise<void> =>
        trainInProcess(
          import.meta.url,
          { run, backend },
          { signal, environment: trainingEnvironment(threads) },
        );
      for (const run of runs.filter(isWarmUp)) await train(run, cores);
      const reinforced = runs.filter((run) => !isWarmUp(run));
      if (reinforced.length > 0) await makeInitialModel();
      const threads = Math.max(1, Math.floor(cores / SIDE_BY_SIDE));
      await runConcurrently(reinforced, SIDE_BY_SIDE, (run) => train(run, threads));
    } finally {
      clearInterval(timer);
    }
  },
};

trainHere<{ run: RealRun; backend: BackendName }>(import.meta.url, (task, { signal }) =>
  trainRun(task, signal),
);
