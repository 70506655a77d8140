/** A warm-up of a one-layer model that takes a second. */
import type { Model } from '../../../lib/policy/model/model.js';
import { createRandom } from '../../../lib/random.js';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { SMALL_MODEL } from '../../../tools/warm-up/recipes.js';
import type { WarmUpOptions } from '../../../tools/warm-up/rows.js';
import type { WarmUpRun } from '../../../tools/warm-up/run-warm-up.js';
import { trainTokenizer } from '../../../tools/warm-up/tokenizer.js';
import { randomModelWeights } from '../../../tools/warm-up/random-weights.js';

const tokenizerJson = trainTokenizer(createRandom('tokenizer'), SMALL_MODEL.vocabSize);
const config = { ...SMALL_MODEL, hiddenSize: 16, intermediateSize: 24, headDim: 4, numLayers: 1 };
/** Fresh weights, the same at every call. */
export const smallModel = (): Model => ({
  config,
  tokenizerJson,
  tokenizer: createTokenizer(tokenizerJson),
  weights: randomModelWeights(config, createRandom(3)),
});

const optionsOf = (mix: WarmUpOptions['mix']): WarmUpOptions => ({
  mix,
  rowsPerStep: 2,
  mostRepeated: 3,
  topKs: [1],
  maxSearchTurns: 4,
  retryShare: 0,
  contextWeight: 0,
  recapWeight: 2,
  parallelShare: 0.5,
});
/** Two stages with the given numbers of steps. */
export function warmUpOf(folder: string, checkpointEvery = 100, steps = 3): WarmUpRun {
  const first = { steps, learningRate: 0.01, finalLearningRate: 0.01, warmupSteps: 2 };
  const second = { steps, learningRate: 0.004, finalLearningRate: 0.001, warmupSteps: 0 };
  return {
    seed: 1,
    folder,
    maxTokens: 400,
    checkpointEvery,
    supervised: { maxGradNorm: 1, maxTokensPerPass: 400 },
    stages: [
      { ...first, options: optionsOf({ repeat: 1 }) },
      { ...second, options: optionsOf({ copy: 1 }) },
    ],
  };
}
