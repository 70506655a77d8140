/**
 * Group relative policy optimisation (Shao et al. 2024, arXiv 2402.03300), as used by
 * ParallelSearch and Search-R1. Details and departures:
 *
 * 1. The standard deviation of a group is `torch.std` (n - 1), as in the authors' script.
 * 2. The loss is the mean over all tokens of a mini-batch (verl; DAPO Eq. 8), not over
 *    rollouts first.
 * 3. The KL to the initial model is part of the loss, not of the reward.
 * 4. Groups of equal rewards (`frac_reward_zero_std`) are skipped: they would add only
 *    KL.
 * 5. Log-probs are those of the sampling distribution, temperature included; the old ones
 *    come from the sampler.
 * 6. A reward may score each search turn; the turn's advantage is added to its tokens.
 *
 * A step, file by file: `run.ts` asks for it and records it; `buildTrainer` in
 * `trainer.ts` has its order: draw questions (`question-sampler.ts`), sample and score
 * groups (`rollout-groups.ts`, `rollout/rollout.ts`, `rewards/reward.ts`), advantages
 * (`advantages.ts`) and reference log-probs (`sequences.ts`), then per mini-batch the
 * loss (below), its gradient (`gradients.ts`), clipping and AdamW (`adapter.ts`).
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { isZeroVariance, tokenAdvantages, withAdvantages } from './advantages.js';
import type { PassValues } from './gradients.js';
import type { Metrics } from './metrics.js';
import { splitIntoGroups } from './rollout-groups.js';
import {
  buildTrainer,
  TrainingSession,
  type PolicyRow,
  type Sampled,
  type Step,
  type Trainer,
  type TrainingTask,
} from './trainer.js';

/** A rollout's tokens and the inputs of the loss: one value per trained token. */
export interface GrpoRow extends PolicyRow {
  advantages: number[];
}

/** The ratio is clipped to [1 - clip, 1 + clip]; `beta` weighs the KL. */
type Coefficients = { clip: number; beta: number };

/** @throws RangeError if two rewards have the same name */
export function createGrpoTrainer(task: TrainingTask): Trainer {
  const session = new TrainingSession(task, 'grpo');
  return buildTrainer(session, { isOnPolicy: true, ...grpoParts(session, task.config.grpo!) });
}

/** Names of the metrics of an update. */
const UPDATE_METRICS = ['loss', 'kl', 'clip_ratio', 'grad_norm'];

/** What a step does after sampling: advantages and log-probs, then loss and update. */
export function grpoParts(session: TrainingSession, { clip, beta }: Coefficients) {
  return {
    prepare: ({ trajectories }: Sampled) => prepareGroups(session, trajectories),
    update: (rows: readonly GrpoRow[], { learningRate }: Step) =>
      updateGrpo(session, rows, { learningRate, clip, beta }),
    updateMetrics: UPDATE_METRICS,
  };
}

/** Rewards relative to the group mean; groups of equal rewards are left out. */
async function prepareGroups(session: TrainingSession, sampled: Sampled['trajectories']) {
  const { groupSize } = session.settings;
  const trajectories = withAdvantages(sampled, groupSize);
  const useful = splitIntoGroups(trajectories, groupSize)
    .filter((group) => !isZeroVariance(group))
    .flat();
  const policyRows = await session.policyRows(useful);
  const rows = policyRows.map((row, i) => ({ ...row, advantages: tokenAdvantages(useful[i]) }));
  return { trajectories, rows };
}

async function updateGrpo(
  { settings, trained }: TrainingSession,
  rows: readonly GrpoRow[],
  { learningRate, clip, beta }: Coefficients & { learningRate: number },
): Promise<Metrics> {
  const numTokens = sum(rows, (row) => row.oldLogProbs.length);
  const rates = { learningRate, maxGradNorm: settings.maxGradNorm };
  const { loss, gradNorm, passes } = await trained.update(rows, rates, (logProbs, batch) => {
    const tokens = {
      oldLogProbs: tokenColumn(batch, 'oldLogProbs'), // (M), like the others
      referenceLogProbs: tokenColumn(batch, 'referenceLogProbs'),
      advantages: tokenColumn(batch, 'advantages'),
      weights: tf.fill<tf.Rank.R1>([logProbs.size], 1 / numTokens),
    };
    return { loss: grpoLoss(logProbs, tokens, { clip, beta }), read: { logProbs } };
  });
  return { loss, grad_norm: gradNorm, ...clipStatistics(passes, numTokens, clip) };
}

/** A number per trained token of a batch (M). The caller disposes of the result. */
export const tokenColumn = <Name extends string>(
  batch: readonly Readonly<Record<Name, readonly number[]>>[],
  name: Name,
): tf.Tensor1D => tf.tensor1d(batch.flatMap((row) => row[name]));

/** Inputs of the loss per trained token, (M) each. */
interface GrpoTokens {
  /** Log-probs (nats) under the sampling policy. */
  oldLogProbs: tf.Tensor1D;
  referenceLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for a token mean. */
  weights: tf.Tensor1D;
}

/**
 * min(ratio A, clip(ratio) A) of each token (M), with the ratio clipped to [1 - clip, 1 +
 * clip]. Differentiable in `logProbs`. The caller disposes of the result.
 */
export function clippedObjective(
  logProbs: tf.Tensor1D,
  { oldLogProbs, advantages }: Pick<GrpoTokens, 'oldLogProbs' | 'advantages'>,
  clip: number,
): tf.Tensor1D {
  const ratio = tf.exp(tf.sub(logProbs, oldLogProbs));
  const clipped = tf.mul(tf.clipByValue(ratio, 1 - clip, 1 + clip), advantages);
  // Not tf.where, whose gradient needs that of the comparison. Equal shapes, because tfjs
  // has wrong gradients for broadcast ones.
  return tf.minimum(tf.mul(ratio, advantages), clipped);
}

/**
 * Sum over tokens of weight * (-min(ratio A, clip(ratio) A) + beta * KL), with Schulman's
 * low-variance estimator KL = exp(d) - d - 1, d = log reference - log policy.
 * Differentiable in `logProbs`. The caller disposes of the result.
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
 * Token means over an update: the KL estimator (nats), and the share of tokens whose
 * clipped surrogate is the smaller one.
 */
export function clipStatistics(
  passes: readonly PassValues<GrpoRow>[],
  numTokens: number,
  clip: number,
): { kl: number; clip_ratio: number } {
  const means = { kl: 0, clip_ratio: 0 };
  for (const { rows, values } of passes) {
    const old = rows.flatMap((row) => row.oldLogProbs);
    const reference = rows.flatMap((row) => row.referenceLogProbs);
    const advantages = rows.flatMap((row) => row.advantages);
    let [kl, clipped] = [0, 0];
    values.logProbs.forEach((logProb, m) => {
      const ratio = Math.exp(logProb - old[m]);
      const d = reference[m] - logProb;
      kl += Math.exp(d) - d - 1;
      if ((advantages[m] > 0 && ratio > 1 + clip) || (advantages[m] < 0 && ratio < 1 - clip))
        clipped++;
    });
    const n = Math.max(1, old.length);
    means.kl += (kl / n) * (old.length / numTokens);
    means.clip_ratio += (clipped / n) * (old.length / numTokens);
  }
  return means;
}
