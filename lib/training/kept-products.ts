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
export const freeProductBytes = (): number =>
  tf.getBackend() === 'tensorflow' ? process.availableMemory() / 4 : 0;

export class KeptProducts {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param budgetBytes bytes available; the rest is recomputed */
  constructor(private budgetBytes = freeProductBytes()) {}

  /** For the forward pass. */
  readonly forwardStore: ProductStore = {
    getOutput: (key, compute) => {
      const output = compute();
      const bytes = output.size * FLOAT;
      if (bytes > this.budgetBytes) return output;
      this.budgetBytes -= bytes;
      this.outputs.set(key, tf.keep(tf.clone(output)));
      return output;
    },
  };

  /** For the backward pass: each output is returned once and then released. */
  readonly backwardStore: ProductStore = {
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
