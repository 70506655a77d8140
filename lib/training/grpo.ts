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
 * 5. Log-probs are of the sampling distribution, temperature included; the old ones
 *    come from the sampler.
 * 6. A reward may score each search turn; the turn's advantage is added to its tokens.
 * 7. TRL's variants are options (`variants.ts`). Token weights count the rows that are
 *    trained: neither those of skipped groups nor masked ones.
 * 8. Rollouts of another sampler are corrected (`importance-sampling.ts`): the old
 *    log-probs are then the learner's.
 *
 * A step, file by file: `trainers.ts` creates the trainer; `run.ts` requests each step
 * and records it; `buildTrainer` in `trainer.ts` defines its order: draw questions
 * (`question-sampler.ts`), sample and score groups (`rollout-groups.ts`,
 * `rollout/rollout.ts`, `rewards/reward.ts`), advantages
 * (`advantages.ts`) and reference log-probs (`sequences.ts`), then per mini-batch the
 * loss (below), its gradient and clipping (`gradients.ts`) and the update (`adamw.ts`),
 * both called by `adapter.ts`. Rollouts and passes go through `ranks.ts`, which shares
 * them if there are several processes.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import type { With } from '../rollout/trajectory.js';
import {
  isZeroVariance,
  phantomAdvantages,
  tokenAdvantages,
  withAdvantages,
} from './advantages.js';
import type { PassValues } from './gradients.js';
import { correctSampling } from './importance-sampling.js';
import { isTruncated, type Metrics } from './metrics.js';
import { isTimedOut, splitIntoGroups } from './rollout-groups.js';
import {
  buildTrainer,
  TrainingSession,
  type PolicyRow,
  type SampledStep,
  type Step,
  type Trainer,
  type TrainingTask,
} from './trainer.js';
import { grpoVariant, type GrpoVariant } from './variants.js';

/** A rollout's tokens and the inputs of the loss, one value per trained token. */
export interface GrpoRow extends PolicyRow {
  advantages: number[];
  /** Weight of each token in the loss. Default: 1 / tokens of the mini-batch. */
  tokenWeight?: number;
  /** Number of tokens of each turn. Default: one turn. */
  actionLengths?: number[];
  /** For rollouts of another sampler. Default: all 1. */
  importanceWeights?: number[];
}

/**
 * @throws RangeError if two rewards have the same name, or an outcome gate has no outcome
 * reward
 */
export function createGrpoTrainer(task: TrainingTask): Trainer {
  const session = new TrainingSession(task, 'grpo');
  const { topKs, ...settings } = task.config.grpo!;
  const variant = grpoVariant(settings);
  return buildTrainer(session, {
    isOnPolicy: true,
    sampling: async ({ random }) => ({
      policy: await task.sampler?.(session),
      rollout: topKs && { topK: random.fork('top k').choice(topKs) },
    }),
    ...grpoParts(session, variant),
  });
}

const UPDATE_METRICS = ['loss', 'kl', 'clip_ratio', 'grad_norm'];

/** The parts of a step after sampling: advantages and log-probs, then loss and update. */
export function grpoParts(session: TrainingSession, variant: GrpoVariant) {
  const { rewards } = session;
  const hasOutcome = rewards.some(({ name, weight }) => name === 'outcome' && weight !== 0);
  if (variant.outcomeGate !== 'none' && !hasOutcome)
    throw new RangeError(
      `Expected a reward "outcome" with a weight for outcomeGate "${variant.outcomeGate}", but got ${rewards.map(({ name }) => name).join(', ')}. Add one, or leave outcomeGate out.`,
    );
  return {
    prepare: (sampled: SampledStep) => prepareGroups(session, sampled, variant),
    update: (rows: readonly GrpoRow[], { learningRate }: Step) =>
      updateGrpo(session, rows, { learningRate, variant }),
    updateMetrics: [...UPDATE_METRICS, ...(variant.llds > 0 ? ['llds'] : [])],
  };
}

/** Computes advantages and rows, without groups of equal rewards and masked rollouts. */
async function prepareGroups(session: TrainingSession, sampled: SampledStep, variant: GrpoVariant) {
  const { groupSize, miniBatches } = session.settings;
  const { maxNewTokens, maxSearchTurns } = session.task.config.rollout;
  const isMasked = (trajectory: With<'rewards'>): boolean =>
    isTimedOut(trajectory) ||
    (variant.maskTruncatedCompletions && isTruncated(trajectory, maxNewTokens));
  const { rewards } = session;
  const options = { ...variant, rewards, isMasked };
  const trajectories = withAdvantages(sampled.trajectories, groupSize, options);
  const trainedGroups = splitIntoGroups(trajectories, groupSize)
    .filter((group) => !isZeroVariance(group))
    .map((group) => group.filter((trajectory) => !isMasked(trajectory)));
  const useful = trainedGroups.flat();
  const recorded = await session.policyRows(useful);
  const corrected = sampled.isOwn
    ? null
    : correctSampling(recorded, await session.trained.logProbs(recorded), variant);
  const policyRows = corrected?.rows ?? recorded;
  const lengths = policyRows.map(({ oldLogProbs }) => oldLogProbs.length);
  const maxCompletionLength = maxNewTokens * (maxSearchTurns + 1);
  const weights = tokenWeights(lengths, { ...variant, miniBatches, maxCompletionLength });
  const rows = policyRows.map(
    (row, i): GrpoRow => ({
      ...row,
      advantages: tokenAdvantages(useful[i]),
      tokenWeight: weights[i],
      actionLengths: useful[i].segments
        .filter(({ kind, tokenIds }) => kind === 'policy' && tokenIds.length > 0)
        .map(({ tokenIds }) => tokenIds.length),
    }),
  );
  const hasOutcome = rewards.some(({ name }) => name === 'outcome');
  const metrics: Metrics = {
    ...corrected?.metrics,
    ...(hasOutcome && { phantom_advantages: phantomAdvantages(trainedGroups) }),
  };
  return { trajectories, rows, metrics };
}

/**
 * The weight of each token of a row in the loss of its mini-batch, by TRL's `loss_type`.
 * With these weights, the mean loss over mini-batches does not depend on their number.
 * Exception: `bnpo` gives undefined, which means 1 / tokens of the mini-batch.
 * @param lengths trained tokens of each row of the step
 * @param options.maxCompletionLength maximum tokens the policy can write in a rollout
 */
export function tokenWeights(
  lengths: readonly number[],
  options: { lossType: GrpoVariant['lossType']; miniBatches: number; maxCompletionLength: number },
): (number | undefined)[] {
  const { lossType, miniBatches, maxCompletionLength } = options;
  // Mini-batches are never empty.
  const numBatches = Math.min(miniBatches, lengths.length);
  const rowsPerBatch = lengths.length / numBatches;
  const tokensPerBatch = sum(lengths) / numBatches;
  switch (lossType) {
    case 'bnpo':
      return lengths.map(() => undefined);
    case 'dapo':
      return lengths.map(() => 1 / tokensPerBatch);
    case 'grpo':
      return lengths.map((length) => 1 / (rowsPerBatch * length));
    case 'dr_grpo':
      return lengths.map(() => 1 / (rowsPerBatch * maxCompletionLength));
  }
}

async function updateGrpo(
  { settings, trained }: TrainingSession,
  rows: readonly GrpoRow[],
  { learningRate, variant }: { learningRate: number; variant: GrpoVariant },
): Promise<Metrics> {
  const numTokens = sum(rows, (row) => row.oldLogProbs.length);
  const rates = { learningRate, maxGradNorm: settings.maxGradNorm };
  const { loss, gradNorm, passes } = await trained.update(rows, rates, (logProbs, batch) => {
    const tokens = {
      oldLogProbs: tokenColumn(batch, 'oldLogProbs'), // (M), like the others
      referenceLogProbs: tokenColumn(batch, 'referenceLogProbs'),
      advantages: tokenColumn(batch, 'advantages'),
      weights: tf.tensor1d(
        batch.flatMap(({ oldLogProbs, tokenWeight = 1 / numTokens }) =>
          oldLogProbs.map(() => tokenWeight),
        ),
      ),
      rowLengths: batch.map(({ oldLogProbs }) => oldLogProbs.length),
      actionLengths: batch.flatMap(
        ({ actionLengths, oldLogProbs }) => actionLengths ?? [oldLogProbs.length],
      ),
      ...(batch[0].importanceWeights && {
        importanceWeights: tokenColumn(batch as Required<GrpoRow>[], 'importanceWeights'),
      }),
    };
    const loss = grpoLoss(logProbs, tokens, variant);
    const read: Record<string, tf.Tensor> = { logProbs };
    if (variant.llds > 0) {
      const penalties = likelihoodPenalty(logProbs, tokens, variant.lldsGate);
      read.llds = tf.sum(tf.mul(penalties, tokens.weights));
    }
    return { loss, read };
  });
  return {
    loss,
    grad_norm: gradNorm,
    ...(variant.llds > 0 && { llds: sum(passes, ({ values }) => values.llds[0]) }),
    ...clipStatistics(passes, { numTokens, ...variant }),
  };
}

/** Concatenates a per-token column of a batch (M). The caller disposes of the result. */
export const tokenColumn = <Name extends string>(
  batch: readonly Readonly<Record<Name, readonly number[]>>[],
  name: Name,
): tf.Tensor1D => tf.tensor1d(batch.flatMap((row) => row[name]));

/** Inputs of the loss, one value per trained token (M) each. */
interface GrpoTokens {
  /** Log-probs (nats) under the sampling policy. */
  oldLogProbs: tf.Tensor1D;
  referenceLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for a token mean. */
  weights: tf.Tensor1D;
  /** Trained tokens of each row, M in total; only for ratios per sequence and LLDS. */
  rowLengths?: readonly number[];
  /** Trained tokens of each turn, M in total; only for LLDS. */
  actionLengths?: readonly number[];
  /** For tokens of another sampler: weights of the ratio term, not of the KL. */
  importanceWeights?: tf.Tensor1D;
}

/** How importance ratios are computed and clipped. */
interface RatioOptions {
  /** The ratio is clipped to [1 - clip, 1 + epsilonHigh]. */
  clip: number;
  /** Default: `clip`. */
  epsilonHigh?: number;
  /** One ratio per `token` (default) or per `sequence`. */
  importanceSamplingLevel?: GrpoVariant['importanceSamplingLevel'];
}

/** Matrix (M, R): 1 if the token is in the span. The caller disposes of the result. */
const spanMembership = (lengths: readonly number[]): tf.Tensor2D =>
  tf.tensor2d(
    lengths.flatMap((length, span) =>
      Array.from({ length }, () => lengths.map((_, s) => Number(s === span))),
    ),
    [sum(lengths), lengths.length],
  );

/**
 * The mean over each row, repeated for its tokens (M). Uses two products with constants,
 * whose gradients are right on all backends.
 */
function rowMeans(values: tf.Tensor1D, rowLengths: readonly number[]): tf.Tensor1D {
  const membership = spanMembership(rowLengths); // (M, R)
  const shares = tf.div(
    membership,
    tf.expandDims(tf.tensor1d(rowLengths.map((n) => Math.max(1, n))), 0),
  );
  const means = tf.matMul<tf.Tensor2D>(shares, tf.expandDims(values, 1), true); // (R, 1)
  return tf.squeeze(tf.matMul(membership, means), [1]);
}

/**
 * min(ratio A, clip(ratio) A) of each token (M), with the ratio clipped to [1 - clip, 1 +
 * epsilonHigh]. Per sequence, a token's ratio is the geometric mean over its row (GSPO,
 * arXiv 2507.18071). Differentiable in `logProbs`. The caller disposes of the result.
 * @throws RangeError for ratios per sequence without `rowLengths`
 */
export function clippedObjective(
  logProbs: tf.Tensor1D,
  tokens: Pick<GrpoTokens, 'oldLogProbs' | 'advantages' | 'rowLengths'>,
  { clip, epsilonHigh = clip, importanceSamplingLevel = 'token' }: RatioOptions,
): tf.Tensor1D {
  const { oldLogProbs, advantages, rowLengths } = tokens;
  let logRatio = tf.sub<tf.Tensor1D>(logProbs, oldLogProbs);
  if (importanceSamplingLevel === 'sequence') {
    if (!rowLengths)
      throw new RangeError('Expected rowLengths with importanceSamplingLevel "sequence".');
    logRatio = rowMeans(logRatio, rowLengths);
  }
  const ratio = tf.exp(logRatio);
  const clipped = tf.mul(tf.clipByValue(ratio, 1 - clip, 1 + epsilonHigh), advantages);
  // Not tf.where, whose gradient needs that of the comparison. Equal shapes, because tfjs
  // computes wrong gradients for broadcasts.
  return tf.minimum(tf.mul(ratio, advantages), clipped);
}

/**
 * Decrease of a span's mean log-prob (nats per token) from which LLDS acts. Smaller ones
 * are rounding differences between sampling and training.
 */
const MIN_DECREASE = 1e-4;

/**
 * LLDS' penalty of each token (M): max(0, log old - log policy) for tokens with advantage
 * >= 0 in a turn (or rollout) whose summed log-prob has fallen. The condition has no
 * gradient. Differentiable in `logProbs`. The caller disposes of the result. Source:
 * arXiv 2512.04220 and the authors' code.
 */
export function likelihoodPenalty(
  logProbs: tf.Tensor1D,
  tokens: Pick<GrpoTokens, 'oldLogProbs' | 'advantages' | 'rowLengths' | 'actionLengths'>,
  gate: GrpoVariant['lldsGate'],
): tf.Tensor1D {
  const { oldLogProbs, advantages } = tokens;
  const { rowLengths = [logProbs.size], actionLengths = rowLengths } = tokens;
  const isPreserved = tf.cast(tf.greaterEqual(advantages, 0), 'float32');
  const decrease = tf.mul<tf.Tensor1D>(tf.sub(oldLogProbs, logProbs), isPreserved);
  const membership = spanMembership(gate === 'action' ? actionLengths : rowLengths); // (M, R)
  const sums = tf.matMul(membership, tf.expandDims(tf.sub(decrease, MIN_DECREASE), 1), true);
  const hasFallen = tf.squeeze<tf.Tensor1D>(tf.matMul(membership, tf.step(sums)), [1]);
  return tf.mul(tf.relu(decrease), hasFallen);
}

/**
 * Sum over tokens of weight * (-w min(ratio A, clip(ratio) A) + beta * KL + llds *
 * penalty), with the importance weight w, {@link likelihoodPenalty} and Schulman's
 * low-variance estimator KL = exp(d) - d - 1, d = log reference - log policy.
 * Differentiable in `logProbs`. The caller disposes of the result.
 */
export function grpoLoss(
  logProbs: tf.Tensor1D,
  tokens: GrpoTokens,
  options: RatioOptions & Partial<Pick<GrpoVariant, 'llds' | 'lldsGate'>> & { beta: number },
): tf.Scalar {
  const { beta, llds = 0, lldsGate = 'action' } = options;
  const d = tf.sub(tokens.referenceLogProbs, logProbs);
  const kl = tf.sub(tf.sub(tf.exp(d), d), 1);
  const objective = clippedObjective(logProbs, tokens, options);
  const { importanceWeights } = tokens;
  const surrogate = importanceWeights ? tf.mul(objective, importanceWeights) : objective;
  const losses = tf.sub<tf.Tensor1D>(tf.mul(kl, beta), surrogate);
  const penalized =
    llds > 0 ? tf.add(losses, tf.mul(likelihoodPenalty(logProbs, tokens, lldsGate), llds)) : losses;
  return tf.sum(tf.mul(penalized, tokens.weights));
}

/** Token means: the KL estimate (nats) and the share of clipped tokens. */
export function clipStatistics(
  passes: readonly PassValues<GrpoRow>[],
  options: RatioOptions & { numTokens: number },
): { kl: number; clip_ratio: number } {
  const { numTokens, clip, epsilonHigh = clip, importanceSamplingLevel = 'token' } = options;
  const means = { kl: 0, clip_ratio: 0 };
  for (const { rows, values } of passes) {
    const old = rows.flatMap((row) => row.oldLogProbs);
    const reference = rows.flatMap((row) => row.referenceLogProbs);
    const advantages = rows.flatMap((row) => row.advantages);
    let logRatios = Array.from(values.logProbs, (logProb, m) => logProb - old[m]);
    if (importanceSamplingLevel === 'sequence') {
      let start = 0;
      logRatios = rows.flatMap(({ oldLogProbs: { length } }) => {
        const rowLogRatios = logRatios.slice(start, (start += length));
        return rowLogRatios.map(() => sum(rowLogRatios) / length);
      });
    }
    let kl = 0;
    let clipped = 0;
    values.logProbs.forEach((logProb, m) => {
      const ratio = Math.exp(logRatios[m]);
      const d = reference[m] - logProb;
      kl += Math.exp(d) - d - 1;
      if ((advantages[m] > 0 && ratio > 1 + epsilonHigh) || (advantages[m] < 0 && ratio < 1 - clip))
        clipped++;
    });
    const n = Math.max(1, old.length);
    means.kl += (kl / n) * (old.length / numTokens);
    means.clip_ratio += (clipped / n) * (old.length / numTokens);
  }
  return means;
}
