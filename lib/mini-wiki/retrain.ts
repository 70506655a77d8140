/** Trains everything again: the encoder, the initial models, then every run of the main comparison and of the ablation, two at a time. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from 'd3-array';
import { trainedBy } from '../methods/index.js';
import { modelFolder, runName, WARM_UP_NAMES, type PolicyRun, type WarmUpName } from '../experiments/runs.js';
import type { BackendReport } from '../tensor/backend.js';
import { retrainEncoder } from './encoder/retrain-encoder.js';
import { lambdaRuns } from '../experiments/lambda-ablation/settings.js';
import { mainRuns } from '../experiments/main-results/experiment.js';
import { trainInitialModel } from './warm-up/train-model.js';
import { estimateTraining, recordedSeconds, trainRuns } from '../experiments/train-runs.js';
import { loadWorld } from '../experiments/world.js';

const WARM_UP_SEED = 1;

/** The runs that training makes: those of the main comparison first. */
export function trainedRuns(): PolicyRun[] {
  const all = [...mainRuns(), ...lambdaRuns()].filter(({ method }) => trainedBy(method) === method);
  return [...new Map(all.map((run) => [runName(run), run])).values()];
}

/** Seconds that the recorded training took, as its metrics say; it ran on the native backend with 2 cores. */
export async function estimateRetraining(): Promise<number> {
  const ofModels = await Promise.all(
    WARM_UP_NAMES.map((name) => recordedSeconds(join(modelFolder(name), 'metrics.jsonl'), ['seconds'])),
  );
  return sum(ofModels) + (await estimateTraining(trainedRuns()));
}

interface RetrainOptions {
  backend: BackendReport;
  /** Where runs keep their checkpoints. */
  folder: string;
  /** Most steps of each stage of a model and of each run: to see whether all of it works, with weights that are of no use. */
  maxSteps?: number;
  signal: AbortSignal;
  log: (line: string) => void;
}

async function retrainModel(name: WarmUpName, options: RetrainOptions): Promise<void> {
  const folder = join(options.folder, `warm-up-${name}`);
  const done = join(folder, 'finished');
  if (existsSync(done)) return options.log(`${name}: finished before`);
  await trainInitialModel(name, await loadWorld(), {
    seed: WARM_UP_SEED,
    folder,
    maxSteps: options.maxSteps,
    backend: options.backend.name,
    signal: options.signal,
    onStep: ({ step, loss }, total) => {
      if ((step + 1) % 20 === 0) options.log(`${name}: step ${step + 1}/${total}, loss ${loss.toFixed(3)}`);
    },
  });
  await copyFile(join(folder, 'metrics.jsonl'), join(modelFolder(name), 'metrics.jsonl'));
  await mkdir(done);
}

/**
 * Trains what is not finished in `folder` and puts the weights into `data/checkpoints`. Goes on where it was stopped, until
 * {@link finishRetraining}.
 */
export async function retrainEverything(options: RetrainOptions): Promise<void> {
  if (!existsSync(join(options.folder, 'encoder-finished'))) {
    options.log('encoder: training');
    await retrainEncoder(await loadWorld());
    await mkdir(join(options.folder, 'encoder-finished'), { recursive: true });
  }
  for (const name of WARM_UP_NAMES) await retrainModel(name, options);
  await trainRuns(trainedRuns(), { ...options, backend: options.backend.name });
}

/** Moves the folder of a training aside once its weights have been evaluated too: the next one begins anew. */
export async function finishRetraining(folder: string): Promise<void> {
  await rm(`${folder}-finished`, { recursive: true, force: true });
  await rename(folder, `${folder}-finished`);
}
