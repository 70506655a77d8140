/** What a training takes of memory, so that it is known before hours are spent. */
import { type ModelConfig, numParameters } from '../policy/families.js';
import { LOGITS_AT_ONCE } from '../tensor/ops.js';
import { trainerSettings, type TrainConfig } from './config.js';

/** Bytes of Node, the backend and the data before a model is loaded. */
const BEFORE = 0.35e9;
const FLOAT = 4;
/** Allocators keep about as much again as is in use at a time. */
const KEPT = 2;

/** Tokens of the longest context that rollouts can come to. */
function longestContext(model: ModelConfig, { rollout }: TrainConfig): number {
  const { maxSearchTurns, maxNewTokens, maxInformationTokens } = rollout;
  const prompt = 300;
  const turns = maxSearchTurns * (maxNewTokens + maxInformationTokens) + maxNewTokens;
  return Math.min(model.maxPositionEmbeddings, prompt + turns);
}

/**
 * Bytes that a training of an adapter takes at most, for models that are trained a
 * layer at a time: the weights, and the larger of the cache of generation and the
 * activations of one pass. Fitted to SmolLM2-135M on the native backend: 1.9 GB for a row
 * of 556 tokens and 2.9 GB for four.
 */
export function trainingMemory(model: ModelConfig, config: TrainConfig): number {
  const { numLayers, numHeads, numKeyValueHeads, headDim, hiddenSize, intermediateSize } = model;
  const { groupSize, questionsPerStep, maxTokensPerPass } = trainerSettings(config);
  const longest = longestContext(model, config);
  const weights = 1.1 * numParameters(model) * FLOAT;
  const cache = groupSize * questionsPerStep * longest * numLayers * 2 * numKeyValueHeads * headDim;
  const aToken =
    numLayers * hiddenSize + 8 * numHeads * longest + 12 * hiddenSize + 14 * intermediateSize;
  const pass = Math.max(longest, maxTokensPerPass) * aToken;
  const logits = 8 * LOGITS_AT_ONCE * model.vocabSize;
  return BEFORE + weights + KEPT * FLOAT * (Math.max(cache, pass) + logits);
}
