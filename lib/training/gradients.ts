import * as tf from '@tensorflow/tfjs-core';
import { disposeWeights, type Weights } from '../policy/weights.js';

/**
 * Value of a loss and its gradient with respect to every tensor in `weights`.
 * The caller disposes of the gradients.
 */
export function lossAndGradients(
  weights: Weights,
  loss: (weights: Weights) => tf.Scalar,
): { value: number; gradients: Weights } {
  const keys = Object.keys(weights);
  const differentiate = tf.valueAndGrads((...tensors: tf.Tensor[]) =>
    loss(Object.fromEntries(keys.map((key, i) => [key, tensors[i]]))),
  );
  const { value, grads } = differentiate(keys.map((key) => weights[key]));
  const number = value.dataSync()[0];
  value.dispose();
  return { value: number, gradients: Object.fromEntries(keys.map((key, i) => [key, grads[i]])) };
}

/** Sum of two sets of gradients; disposes of both. */
export function addGradients(a: Weights | null, b: Weights): Weights {
  if (!a) return b;
  const sum = tf.tidy(() => Object.fromEntries(Object.keys(b).map((key) => [key, tf.add(a[key], b[key])])));
  disposeWeights(a);
  disposeWeights(b);
  return sum;
}

/** Scales gradients to at most `maxNorm` in global L2 norm, as PyTorch does; disposes of the old ones. */
export function clipByGlobalNorm(gradients: Weights, maxNorm: number): { gradients: Weights; norm: number } {
  const squares = tf.tidy(() => tf.addN(Object.values(gradients).map((g) => tf.sum(tf.square(g)))));
  const norm = Math.sqrt(squares.dataSync()[0]);
  squares.dispose();
  const scale = maxNorm / (norm + 1e-6);
  if (!(scale < 1)) return { gradients, norm };
  const clipped = tf.tidy(() =>
    Object.fromEntries(Object.entries(gradients).map(([k, g]) => [k, tf.mul(g, scale)])),
  );
  disposeWeights(gradients);
  return { gradients: clipped, norm };
}
