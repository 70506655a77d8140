import * as tf from '@tensorflow/tfjs-core';
import type { Weights } from '../../lib/policy/model/weights.js';
import { rowGradients } from '../../lib/training/gradients.js';
import type { PassOptions, Sequence } from '../../lib/training/sequences.js';

/**
 * Gradients of the weighted mean cross-entropy over rows. The caller disposes of them.
 * @param options.totalWeight divides the summed loss: the total weight of the step's
 * tokens
 */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  options: PassOptions & { totalWeight: number },
): ReturnType<typeof rowGradients> {
  return rowGradients(weights, rows, options, (logProbs, _, { lossWeights }) => {
    const negated = lossWeights.map((weight) => -weight / options.totalWeight);
    return { loss: tf.sum<tf.Scalar>(tf.mul(logProbs, tf.tensor1d(negated))) };
  });
}
