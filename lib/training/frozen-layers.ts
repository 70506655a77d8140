/**
 * Cache of the outputs of the layers below the lowest trained one. They are the same for
 * the policy and its reference, so these layers run once per row.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { PrefixTree } from '../policy/prefix-tree.js';
import type { FrozenLayerStore } from '../policy/transformer.js';

export class FrozenLayerCache implements FrozenLayerStore {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param count number of frozen layers, from the first */
  constructor(readonly count: number) {}

  getOutput({ ids, places }: PrefixTree, compute: () => tf.Tensor2D): tf.Tensor2D {
    const key = `${ids.join()} ${places.join()}`;
    let output = this.outputs.get(key);
    if (!output) {
      output = tf.keep(tf.tidy(compute));
      this.outputs.set(key, output);
    }
    return tf.clone(output);
  }

  /** Clears the cache. */
  release(): void {
    tf.dispose([...this.outputs.values()]);
    this.outputs.clear();
  }
}
