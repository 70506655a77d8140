/** Group relative policy optimisation (Shao et al. 2024): advantages and the loss, as pure functions. */
import * as tf from '@tensorflow/tfjs-core';

/**
 * Advantages (r - group mean) / (group std + 1e-6), as in the authors' GRPO script. `rewards` holds the groups one after
 * the other, `groupSize` each. All zeros when a group's rewards are equal.
 * @param options.unbiased divides the variance by groupSize - 1 (torch.std, default) or by groupSize
 */
export function groupAdvantages(
  rewards: readonly number[],
  groupSize: number,
  { unbiased = true }: { unbiased?: boolean } = {},
): number[] {
  if (!Number.isInteger(groupSize) || groupSize < 2) {
    throw new RangeError(`Expected groupSize to be an integer >= 2, but got ${groupSize}.`);
  }
  if (rewards.length % groupSize !== 0) {
    throw new RangeError(`Expected a multiple of groupSize ${groupSize} rewards, but got ${rewards.length}.`);
  }
  return rewards.map((reward, i) => {
    const from = i - (i % groupSize);
    const group = rewards.slice(from, from + groupSize);
    const mean = group.reduce((a, b) => a + b, 0) / groupSize;
    const squares = group.reduce((sum, r) => sum + (r - mean) ** 2, 0);
    const deviation = Math.sqrt(squares / (unbiased ? groupSize - 1 : groupSize));
    return deviation < 1e-9 ? 0 : (reward - mean) / (deviation + 1e-6);
  });
}

export interface GrpoLossOptions {
  /** The ratio is clipped to [1 - clip, 1 + clip]. */
  clip: number;
  /** Weight of the KL term. */
  beta: number;
}

/** What the loss needs of each masked-in token, (M) each. */
export interface GrpoTokens {
  /** Log-probabilities (nats) under the policy that sampled. */
  oldLogProbs: tf.Tensor1D;
  referenceLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for the token mean. */
  weights: tf.Tensor1D;
}

/**
 * Sum over tokens of weight * (-min(ratio A, clip(ratio) A) + beta * KL), with Schulman's low-variance estimator
 * KL = exp(d) - d - 1, d = log reference - log policy. Differentiable in `logProbs`.
 */
export function grpoLoss(
  logProbs: tf.Tensor1D,
  tokens: GrpoTokens,
  { clip, beta }: GrpoLossOptions,
): tf.Scalar {
  const ratio = tf.exp(tf.sub(logProbs, tokens.oldLogProbs));
  const unclipped = tf.mul(ratio, tokens.advantages);
  const clipped = tf.mul(tf.clipByValue(ratio, 1 - clip, 1 + clip), tokens.advantages);
  const d = tf.sub(tokens.referenceLogProbs, logProbs);
  const kl = tf.sub(tf.sub(tf.exp(d), d), 1);
  // Not tf.where, whose gradient asks for one of the comparison. Equal shapes: tfjs's gradient is wrong for broadcast ones.
  const surrogate = tf.minimum(unclipped, clipped);
  return tf.sum(tf.mul(tf.sub(tf.mul(kl, beta), surrogate), tokens.weights));
}

export interface GrpoStatistics {
  /** Mean over tokens of the KL estimator, nats. */
  kl: number;
  /** Share of tokens whose clipped surrogate is the smaller one. */
  clipFraction: number;
  /** Mean ratio of new to old probability. */
  ratio: number;
}

/** Token means that tell how a step went, from plain numbers. */
export function grpoStatistics(
  logProbs: ArrayLike<number>,
  old: ArrayLike<number>,
  reference: ArrayLike<number>,
  advantages: ArrayLike<number>,
  clip: number,
): GrpoStatistics {
  let [kl, clipped, ratioSum] = [0, 0, 0];
  for (let m = 0; m < logProbs.length; m++) {
    const ratio = Math.exp(logProbs[m] - old[m]);
    const d = reference[m] - logProbs[m];
    kl += Math.exp(d) - d - 1;
    ratioSum += ratio;
    if ((advantages[m] > 0 && ratio > 1 + clip) || (advantages[m] < 0 && ratio < 1 - clip)) clipped++;
  }
  const n = Math.max(1, logProbs.length);
  return { kl: kl / n, clipFraction: clipped / n, ratio: ratioSum / n };
}
