/** Gradients of any loss of the log-probabilities of rows of tokens. */
import * as tf from '@tensorflow/tfjs-core';
import { disposeWeights, type Weights } from '../policy/weights.js';
import {
  batchHidden,
  batchLogProbs,
  passesOf,
  type PassOptions,
  type Sequence,
  type SequenceBatch,
} from './sequences.js';

/** What a loss may look at beside log-probabilities: hidden states (M, C) of the tokens before, and what is trained. */
interface PassStates {
  hidden: tf.Tensor2D;
  trained: Weights;
}

/** The share of the loss that some rows have, from the log-probabilities (M) of their masked-in tokens, row by row. */
export type TokenLoss<Row> = (
  logProbs: tf.Tensor1D,
  rows: readonly Row[],
  batch: SequenceBatch,
  states: PassStates,
) => tf.Scalar;

/**
 * The loss summed over passes, and its gradients. The caller disposes of the gradients.
 * @param options.weightsOf the weights that run, out of those that are trained; by default they are the same
 * @throws Error when no token is masked in
 */
export function rowGradients<Row extends Sequence>(
  trained: Weights,
  rows: readonly Row[],
  options: PassOptions & { weightsOf?: (trained: Weights) => Weights },
  tokenLoss: TokenLoss<Row>,
): { loss: number; gradients: Weights } {
  const { weightsOf = (same) => same } = options;
  let gradients: Weights | null = null;
  let loss = 0;
  for (const { indices, batch } of passesOf(rows, options.maxTokensPerPass)) {
    const some = indices.map((i) => rows[i]);
    const part = lossAndGradients(trained, (newest) => {
      const weights = weightsOf(newest);
      const hidden = batchHidden(weights, batch, options);
      const logProbs = batchLogProbs(weights, batch, options, hidden);
      return tokenLoss(logProbs, some, batch, { hidden, trained: newest });
    });
    loss += part.value;
    gradients = gradients ? addGradients(gradients, part.gradients) : part.gradients;
  }
  if (!gradients) throw new Error('Expected at least one token with a loss, but the batch has none.');
  return { loss, gradients };
}

/** Value of a loss and its gradient with respect to every tensor in `weights`. The caller disposes of the gradients. */
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
export function addGradients(a: Weights, b: Weights): Weights {
  const sum = tf.tidy(() => Object.fromEntries(Object.keys(b).map((key) => [key, tf.add(a[key], b[key])])));
  disposeWeights(a);
  disposeWeights(b);
  return sum;
}

/**
 * Scales gradients to at most `maxNorm` in global L2 norm, as PyTorch does; disposes of the old ones.
 * @throws Error where the norm is not a number: weights never recover from such gradients
 */
export function clipByGlobalNorm(gradients: Weights, maxNorm: number): { gradients: Weights; norm: number } {
  const squares = tf.tidy(() => tf.addN(Object.values(gradients).map((g) => tf.sum(tf.square(g)))));
  const norm = Math.sqrt(squares.dataSync()[0]);
  squares.dispose();
  if (!Number.isFinite(norm))
    throw new Error(`Expected a finite norm of the gradients, but got ${norm}. Lower the learning rate.`);
  const scale = maxNorm / (norm + 1e-6);
  if (!(scale < 1)) return { gradients, norm };
  const clipped = tf.tidy(() =>
    Object.fromEntries(Object.entries(gradients).map(([key, g]) => [key, tf.mul(g, scale)])),
  );
  disposeWeights(gradients);
  return { gradients: clipped, norm };
}
