/**
 * Trains the initial models of a seed: `base`, `instruct`, then `hasty` and `paired`.
 * Resumes if interrupted.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { PUBLISH_EVERY } from '../../lib/experiments/running/runs.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { CHECKPOINTS, packagePath } from '../../lib/io/paths.js';
import { asScript } from '../../lib/io/scripts.js';
import { METRICS_FILE } from '../../lib/policy/folders/files.js';
import { loadModel, saveModel } from '../../lib/policy/folders/model-folder.js';
import type { Model } from '../../lib/policy/model/model.js';
import { disposeWeights } from '../../lib/policy/model/weights.js';
import { createRandom } from '../../lib/random.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { createTokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import {
  initialModelName,
  SMALL_WORLD_MODELS,
  type InitialModelName,
} from '../../lib/training/models.js';
import { writeModelCard } from './model-card.js';
import { randomModelWeights } from './random-weights.js';
import { findRecipe, TRAINED_FROM, SMALL_MODEL } from './recipes.js';
import { runWarmUp, totalSteps, type SupervisedStep } from './run-warm-up.js';
import { trainTokenizer } from './tokenizer.js';

const REPORT_EVERY = 50;

/** Copies every n-th line of a run's metrics to the model's folder. */
async function publishMetrics(from: string, to: string): Promise<void> {
  const lines = (await readFile(join(from, METRICS_FILE), 'utf8')).trimEnd().split('\n');
  const published = lines.filter((_, i) => (i + 1) % PUBLISH_EVERY === 0);
  await writeFileSafely(join(to, METRICS_FILE), published.map((line) => `${line}\n`).join(''));
}

interface TrainModelsOptions {
  seed: number;
  backend: BackendName | 'auto';
  /** Output folder of the models. */
  models?: string;
  /** Maximum number of steps per stage. */
  maxSteps?: number;
  signal?: AbortSignal;
  /** Receives lines about progress. */
  log?: (line: string) => void;
}

async function trainModels({
  seed,
  backend,
  models = CHECKPOINTS,
  maxSteps,
  signal,
  log,
}: TrainModelsOptions): Promise<void> {
  await useBackend(backend);
  const world = await loadDataSet();
  for (const name of SMALL_WORLD_MODELS) {
    const parent = TRAINED_FROM[name];
    const folder = join(models, initialModelName(name, seed));
    if (existsSync(join(folder, 'README.md'))) continue;
    const short = maxSteps === undefined ? '' : `-${maxSteps}-steps`;
    const runFolder = packagePath('runs', `warm-up${short}`, initialModelName(name, seed));
    await trainInitialModel(name, {
      seed,
      folder: runFolder,
      maxSteps,
      signal,
      from: parent && join(models, initialModelName(parent, seed)),
      to: folder,
      onStep: ({ step, loss, seconds, numTokens }, total) => {
        if ((step + 1) % REPORT_EVERY > 0) return;
        const speed = (numTokens / seconds).toFixed(0);
        log?.(
          `${name} ${seed}: step ${step + 1} of ${total}, loss ${loss.toFixed(3)}, ${speed} tokens/s`,
        );
      },
    });
    await publishMetrics(runFolder, folder);
    await writeModelCard(folder, world, { name, seed, recipe: findRecipe(name) });
  }
}

interface TrainModelOptions {
  seed: number;
  /** Folder of the run's checkpoint and metrics. */
  folder: string;
  /** Maximum number of steps per stage. */
  maxSteps?: number;
  /** The folder of the model to continue from. Default: new weights. */
  from?: string;
  /** Output folder of the finished model. */
  to: string;
  signal?: AbortSignal;
  onStep?: (report: SupervisedStep, totalSteps: number) => void;
}

/** The same for every seed. */
const TOKENIZER_SEED = 'tokenizer';

function freshModel(seed: number): Model {
  const tokenizerJson = trainTokenizer(createRandom(TOKENIZER_SEED), SMALL_MODEL.vocabSize);
  return {
    config: SMALL_MODEL,
    tokenizerJson,
    tokenizer: createTokenizer(tokenizerJson),
    weights: randomModelWeights(SMALL_MODEL, createRandom(seed).fork('weights')),
  };
}

/** Trains a model and writes it in half precision. */
export async function trainInitialModel(
  name: InitialModelName,
  { seed, folder, maxSteps, from, to, signal, onStep }: TrainModelOptions,
): Promise<void> {
  const model = from ? await loadModel(from) : freshModel(seed);
  const recipe = findRecipe(name, maxSteps);
  const weights = await runWarmUp(
    model,
    { ...recipe, seed, folder, checkpointEvery: 50 },
    { signal, onStep: (report) => onStep?.(report, totalSteps(recipe.stages)) },
  );
  await saveModel(to, { ...model, weights }, { storage: 'F16' });
  disposeWeights(weights);
}

asScript<TrainModelsOptions>(import.meta.url, (options, training) =>
  trainModels({ ...options, ...training }),
);
