/**
 * Outputs of matrix products that the forward pass leaves for the backward pass, which
 * computes the rest of a layer again (selective activation checkpointing, as PyTorch has
 * it): products are most of the arithmetic.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { ProductStore } from '../policy/transformer.js';

const FLOAT = 4;

/**
 * Bytes that may be kept: a quarter of what is free. What memory a GPU or wasm has left
 * is not known.
 */
export const roomForProducts = (): number =>
  tf.getBackend() === 'tensorflow' ? process.availableMemory() / 4 : 0;

export class KeptProducts {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param room bytes that may be kept; what does not fit is computed again */
  constructor(private room = roomForProducts()) {}

  /** For the way forward. */
  readonly keeping: ProductStore = {
    getOutput: (key, compute) => {
      const output = compute();
      const bytes = output.size * FLOAT;
      if (bytes > this.room) return output;
      this.room -= bytes;
      this.outputs.set(key, tf.keep(tf.clone(output)));
      return output;
    },
  };

  /** For the way back: each is given once and then forgotten. */
  readonly taking: ProductStore = {
    getOutput: (key, compute) => {
      const kept = this.outputs.get(key);
      if (!kept) return compute();
      this.outputs.delete(key);
      const output = tf.clone(kept);
      kept.dispose();
      return output;
    },
  };

  /** Forgets what was not taken. */
  release(): void {
    tf.dispose([...this.outputs.values()]);
    this.outputs.clear();
  }
}
