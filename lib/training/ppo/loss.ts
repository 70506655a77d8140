/**
 * The loss of proximal policy optimisation (Schulman et al. 2017), with a value loss that
 * is clipped as in OpenAI's and verl's code.
 */
import * as tf from '@tensorflow/tfjs-core';
import { clippedObjective } from '../grpo/loss.js';

/** What the loss needs of each masked-in token, (M) each. */
interface PpoTokens {
  /** Log-probabilities (nats) under the policy that sampled. */
  oldLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Under the value head that the advantages are from. */
  oldValues: tf.Tensor1D;
  returns: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for the token mean. */
  weights: tf.Tensor1D;
}

/**
 * Sum over tokens of weight * max((V - R)^2, (clip(V) - R)^2) / 2, with V clipped to
 * `valueClip` around the old value.
 */
export function valueLoss(
  values: tf.Tensor1D,
  { oldValues, returns, weights }: Pick<PpoTokens, 'oldValues' | 'returns' | 'weights'>,
  valueClip: number,
): tf.Scalar {
  const moved = tf.clipByValue(tf.sub(values, oldValues), -valueClip, valueClip);
  const squares = tf.square(tf.sub(values, returns));
  const clipped = tf.square(tf.sub(tf.add(oldValues, moved), returns));
  return tf.sum(tf.mul(tf.maximum(squares, clipped), tf.mul(weights, 0.5)));
}

/**
 * Policy and value loss: sum over tokens of weight * -min(ratio A, clip(ratio) A), plus
 * `valueWeight` times {@link valueLoss}.
 */
export function ppoLoss(
  logProbs: tf.Tensor1D,
  values: tf.Tensor1D,
  tokens: PpoTokens,
  { clip, valueClip, valueWeight }: { clip: number; valueClip: number; valueWeight: number },
): tf.Scalar {
  const objective = clippedObjective(logProbs, tokens, clip);
  const policyLoss = tf.neg(tf.sum(tf.mul(objective, tokens.weights)));
  return tf.add(policyLoss, tf.mul(valueLoss(values, tokens, valueClip), valueWeight));
}
