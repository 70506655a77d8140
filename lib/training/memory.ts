/** Estimates memory before training, so that an oversized run fails at once. */
import { type ModelConfig, numParameters } from '../policy/families.js';
import { LOGITS_AT_ONCE } from '../tensor/ops.js';
import { trainerSettings, type TrainConfig } from './config.js';

/** Bytes of Node, the backend and the data, without a model. */
const BASELINE_BYTES = 0.35e9;
const FLOAT = 4;
/** Allocators hold about twice the memory in use. */
const ALLOCATOR_FACTOR = 2;

/** Tokens of the longest possible context of a rollout. */
function longestContext(model: ModelConfig, { rollout }: TrainConfig): number {
  const { maxSearchTurns, maxNewTokens, maxInformationTokens } = rollout;
  const prompt = 300;
  const turns = maxSearchTurns * (maxNewTokens + maxInformationTokens) + maxNewTokens;
  return Math.min(model.maxPositionEmbeddings, prompt + turns);
}

/**
 * Peak bytes of adapter training with gradient checkpointing: the weights, plus the
 * larger of the KV cache and the activations of one pass. Fitted to SmolLM2-135M on the
 * native backend: 1.9 GB for a row of 556 tokens, 2.9 GB for four.
 */
export function trainingMemory(model: ModelConfig, config: TrainConfig): number {
  const { numLayers, numHeads, numKeyValueHeads, headDim, hiddenSize, intermediateSize } = model;
  const { groupSize, questionsPerStep, maxTokensPerPass } = trainerSettings(config);
  const longest = longestContext(model, config);
  const weights = 1.1 * numParameters(model) * FLOAT;
  const cache = groupSize * questionsPerStep * longest * numLayers * 2 * numKeyValueHeads * headDim;
  const floatsPerToken =
    numLayers * hiddenSize + 8 * numHeads * longest + 12 * hiddenSize + 14 * intermediateSize;
  const pass = Math.max(longest, maxTokensPerPass) * floatsPerToken;
  const logits = 8 * Math.min(LOGITS_AT_ONCE, maxTokensPerPass * model.vocabSize);
  return BASELINE_BYTES + weights + ALLOCATOR_FACTOR * FLOAT * (Math.max(cache, pass) + logits);
}
