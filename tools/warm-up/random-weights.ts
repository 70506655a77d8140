import * as tf from '@tensorflow/tfjs-core';
import { weightSlots, type ModelConfig } from '../../lib/policy/model/families.js';
import type { Weights } from '../../lib/policy/model/weights.js';
import type { Random } from '../../lib/random.js';

/**
 * Random normal weights. Deviations: 0.02 for embeddings as in GPT-2; 1/sqrt(rows) for
 * products, which keeps activations alive in narrow models where 0.02 does not; 1/sqrt(2
 * layers) of that for products that end in a residual. Gains are 1, biases 0. The caller
 * disposes of them.
 */
export function randomModelWeights(config: ModelConfig, random: Random): Weights {
  const weights: Weights = {};
  for (const { key, shape, kind } of weightSlots(config)) {
    const isResidual = key.endsWith('.o') || key.endsWith('.down');
    const deviation =
      (kind === 'embedding' ? 0.02 : 1 / Math.sqrt(shape[0])) /
      (isResidual ? Math.sqrt(2 * config.numLayers) : 1);
    const stream = random.fork(key);
    const constant = { gain: 1, bias: 0 }[kind as string];
    const values = Float32Array.from(
      { length: tf.util.sizeFromShape(shape) },
      () => constant ?? stream.normal() * deviation,
    );
    weights[key] = tf.tensor(values, shape);
  }
  return weights;
}
