/** Trains a model of the embedded scale by supervision, from fresh weights or from the model before it. */
import { join } from 'node:path';
import { modelFolder, WARM_UP_NAMES, type WarmUpName } from '../../experiments/runs.js';
import type { World } from '../../experiments/world.js';
import { CHECKPOINTS } from '../../io/paths.js';
import { loadModel, saveModel, type Model } from '../../policy/model-folder.js';
import { disposeWeights, randomWeights } from '../../policy/weights.js';
import { createRandom } from '../../random.js';
import type { BackendName } from '../../tensor/backend.js';
import { trainBpe } from '../../text/bpe.js';
import { createTokenizer } from '../../text/tokenizer.js';
import { startGradientWorker, type SupervisedStep } from '../../training/supervised.js';
import { writeModelCard } from './model-card.js';
import { recipeOf, SMALL_MODEL } from './recipes.js';
import type { WarmUpData } from './rows.js';
import { runWarmUp, totalSteps } from './run-warm-up.js';
import { TAG_TOKENS, tokenizerLines, trainingPassages } from './training-text.js';

export interface TrainModelOptions {
  seed: number;
  /** Where the run's checkpoint and metrics go. */
  folder: string;
  /** Most steps of each stage. */
  maxSteps?: number;
  backend: BackendName;
  /** Where the finished weights go, and where those to go on from are. */
  checkpoints?: string;
  signal?: AbortSignal;
  onStep?: (report: SupervisedStep, totalSteps: number) => void;
}

/** A fresh model with a tokenizer trained on the training text. */
function freshModel(
  { passages, questions }: Pick<WarmUpData, 'passages' | 'questions'>,
  seed: number,
): Model {
  const tokenizerJson = trainBpe(tokenizerLines(passages, questions), {
    vocabSize: SMALL_MODEL.vocabSize,
    minFrequency: 2,
    addedTokens: [
      ...['<pad>', '<eos>'].map((content) => ({ content, special: true })),
      // Not special: other trainers decode with special tokens skipped, and the tags must stay.
      ...TAG_TOKENS.map((content) => ({ content, special: false })),
    ],
  });
  return {
    config: SMALL_MODEL,
    tokenizerJson,
    tokenizer: createTokenizer(tokenizerJson),
    weights: randomWeights(SMALL_MODEL, createRandom(seed).fork('weights')),
  };
}

/** Trains a model and writes it in half precision, with its card, into the checkpoints' folder. */
export async function trainInitialModel(
  name: WarmUpName,
  world: World,
  { seed, folder, maxSteps, backend, checkpoints = CHECKPOINTS, signal, onStep }: TrainModelOptions,
): Promise<void> {
  const text = {
    questions: world.questions.filter(({ split }) => split === 'train'),
    passages: trainingPassages(world.passages, world.questions),
  };
  const before = WARM_UP_NAMES[WARM_UP_NAMES.indexOf(name) - 1] as WarmUpName | undefined;
  const model = before ? await loadModel(modelFolder(before, checkpoints)) : freshModel(text, seed);
  const data = { ...text, retriever: world.retriever, tokenizer: model.tokenizer };
  const recipe = recipeOf(name, maxSteps);
  const worker = startGradientWorker(backend);
  try {
    const run = { ...recipe, seed, folder, checkpointEvery: 50 };
    const weights = await runWarmUp(model, data, run, {
      worker,
      signal,
      onStep: (report) => onStep?.(report, totalSteps(recipe.stages)),
    });
    await saveModel(join(checkpoints, name), { ...model, weights }, { storage: 'F16' });
    disposeWeights(weights);
    await writeModelCard(name, world, { seed, recipe, checkpoints });
  } finally {
    worker.stop();
  }
}
