/** The model families by `model_type`. A new one is its file and its line here. */
import { createRegistry } from '../../registry.js';
import type { ModelConfig } from '../model-config.js';
import type { ModelFamily, Slot } from './family.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { qwen2, qwen3 } from './qwen.js';

export type { ModelFamily, Part, Slot } from './family.js';

export const FAMILIES = createRegistry<ModelFamily>('model_type', [llama, mistral, qwen2, qwen3]);

/**
 * Reads a Hugging Face `config.json`.
 * @throws Error for an unknown `model_type`, or naming the field that is missing or not
 * supported
 */
export const parseModelConfig = (json: unknown): ModelConfig =>
  FAMILIES.get(String((json as { model_type?: unknown } | null)?.model_type)).parse(json);

/**
 * Prints a config as Hugging Face's `config.json`, so that `transformers` loads the
 * folder.
 */
export const printModelConfig = (config: ModelConfig): Record<string, unknown> =>
  FAMILIES.get(config.modelType).print(config);

/** Every weight, its shape and the tensors of a checkpoint that it is made of. */
export const weightSlots = (config: ModelConfig): Slot[] =>
  FAMILIES.get(config.modelType).slots(config);

/** Number of weights, the tied head counted once. */
export const numParameters = (config: ModelConfig): number =>
  weightSlots(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/**
 * Weights from which on a model is trained by adapters alone, with one layer's
 * activations in memory at a time.
 */
const LARGE = 20e6;
export const isLarge = (config: ModelConfig): boolean => numParameters(config) > LARGE;
