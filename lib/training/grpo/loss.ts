/**
 * The loss of group relative policy optimisation (Shao et al. 2024), and what it tells of
 * a step.
 */
import * as tf from '@tensorflow/tfjs-core';

/** What the loss needs of each masked-in token, (M) each. */
interface GrpoTokens {
  /** Log-probabilities (nats) under the policy that sampled. */
  oldLogProbs: tf.Tensor1D;
  referenceLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for the token mean. */
  weights: tf.Tensor1D;
}

/**
 * min(ratio A, clip(ratio) A) of each token (M), the ratio clipped to [1 - clip, 1 +
 * clip]. Differentiable in `logProbs`.
 */
export function clippedObjective(
  logProbs: tf.Tensor1D,
  { oldLogProbs, advantages }: Pick<GrpoTokens, 'oldLogProbs' | 'advantages'>,
  clip: number,
): tf.Tensor1D {
  const ratio = tf.exp(tf.sub(logProbs, oldLogProbs));
  const clipped = tf.mul(tf.clipByValue(ratio, 1 - clip, 1 + clip), advantages);
  // Not tf.where, whose gradient asks for one of the comparison. Equal shapes: tfjs's
  // gradient is wrong for broadcast ones.
  return tf.minimum(tf.mul(ratio, advantages), clipped);
}

/**
 * Sum over tokens of weight * (-min(ratio A, clip(ratio) A) + beta * KL), with
 * Schulman's low-variance estimator KL = exp(d) - d - 1, d = log reference - log policy.
 * Differentiable in `logProbs`.
 * @param options.clip the ratio is clipped to [1 - clip, 1 + clip]
 * @param options.beta weight of the KL term
 */
export function grpoLoss(
  logProbs: tf.Tensor1D,
  tokens: GrpoTokens,
  { clip, beta }: { clip: number; beta: number },
): tf.Scalar {
  const d = tf.sub(tokens.referenceLogProbs, logProbs);
  const kl = tf.sub(tf.sub(tf.exp(d), d), 1);
  const surrogate = clippedObjective(logProbs, tokens, clip);
  return tf.sum(tf.mul(tf.sub(tf.mul(kl, beta), surrogate), tokens.weights));
}

/**
 * Token means that tell how a step went, from plain numbers: of the KL estimator
 * (nats), and the share of tokens whose clipped surrogate is the smaller one.
 */
export function grpoStatistics(
  logProbs: ArrayLike<number>,
  old: ArrayLike<number>,
  reference: ArrayLike<number>,
  advantages: ArrayLike<number>,
  clip: number,
): { kl: number; clipFraction: number } {
  let [kl, clipped] = [0, 0];
  for (let m = 0; m < logProbs.length; m++) {
    const ratio = Math.exp(logProbs[m] - old[m]);
    const d = reference[m] - logProbs[m];
    kl += Math.exp(d) - d - 1;
    if ((advantages[m] > 0 && ratio > 1 + clip) || (advantages[m] < 0 && ratio < 1 - clip))
      clipped++;
  }
  const n = Math.max(1, logProbs.length);
  return { kl: kl / n, clipFraction: clipped / n };
}
