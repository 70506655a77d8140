/**
 * Outputs of matrix products kept by the forward pass for the backward pass, which
 * recomputes the rest of a layer (selective activation checkpointing, as in PyTorch):
 * products are most of the arithmetic.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { ProductStore } from '../policy/transformer.js';

const FLOAT = 4;

/**
 * Bytes available for outputs: a quarter of the free memory. The free memory of a GPU or
 * of wasm is unknown.
 */
export const roomForProducts = (): number =>
  tf.getBackend() === 'tensorflow' ? process.availableMemory() / 4 : 0;

export class KeptProducts {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param room bytes available; the rest is recomputed */
  constructor(private room = roomForProducts()) {}

  /** For the forward pass. */
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

  /** For the backward pass: each output is returned once and then released. */
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

  /** Releases unused outputs. */
  release(): void {
    tf.dispose([...this.outputs.values()]);
    this.outputs.clear();
  }
}
