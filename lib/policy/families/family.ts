import type { ModelConfig } from '../model-config.js';

/** A tensor of a checkpoint inside a weight of ours. */
export interface Part {
  /** Hugging Face's name. */
  name: string;
  /** Columns that it takes. */
  columns: number;
}

/** A weight as it is computed with, input by output. */
export interface Slot {
  /** As {@link Weights} names it. */
  key: string;
  shape: number[];
  /**
   * Tensors of the checkpoint side by side in this one; each is stored transposed if it
   * is a matrix.
   */
  parts: Part[];
  kind: 'matrix' | 'gain' | 'bias' | 'embedding';
}

/**
 * Models that say their sizes in one way and name their tensors in one way. All are
 * computed alike: pre-normalised blocks of rotary grouped-query attention and SwiGLU,
 * with or without biases and norms of queries and keys.
 */
export interface ModelFamily {
  /** `model_type` in config.json. */
  readonly name: string;
  /**
   * Reads a config.json. @throws Error naming the field that is missing or not supported
   */
  readonly parse: (json: unknown) => ModelConfig;
  /** Prints a config.json that `transformers` loads. */
  readonly print: (config: ModelConfig) => Record<string, unknown>;
  /** Every weight, its shape and the tensors that it is made of. */
  readonly slots: (config: ModelConfig) => Slot[];
}
