/**
 * Trains an initial model of the embedded scale by supervision, from fresh weights or
 * from the model before it.
 */
import { loadModel, saveModel, type Model } from '../../lib/policy/model-folder.js';
import { disposeWeights, randomWeights } from '../../lib/policy/weights.js';
import { createRandom } from '../../lib/random.js';
import { createTokenizer } from '../../lib/text/tokenizer.js';
import type { InitialModelName } from '../../lib/training/stored-policies.js';
import { findRecipe, SMALL_MODEL } from './recipes.js';
import { runWarmUp, totalSteps, type SupervisedStep } from './run-warm-up.js';
import { trainTokenizer } from './tokenizer.js';

export interface TrainModelOptions {
  seed: number;
  /** Where the run's checkpoint and metrics go. */
  folder: string;
  /** Most steps of each stage. */
  maxSteps?: number;
  /** The folder of the model to go on from; by default fresh weights. */
  from?: string;
  /** Where the finished model goes. */
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
    weights: randomWeights(SMALL_MODEL, createRandom(seed).fork('weights')),
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
