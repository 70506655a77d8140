/**
 * One GRPO step: roll out groups, reward them, compute advantages, and update an adapter in several mini-batches. The
 * reference is the start, which stays as it is.
 */
import * as tf from '@tensorflow/tfjs-core';
import { questionShape, type Question } from '../data/question.js';
import { coverage } from '../rewards/coverage.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import { disposeMerged, mergeAdapter, type LoraOptions } from '../policy/lora.js';
import type { ModelConfig } from '../policy/model-config.js';
import type { RotaryTable } from '../policy/transformer.js';
import type { Weights } from '../policy/weights.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { isDecomposed } from '../rewards/decomposition.js';
import { rewardInputFromTrajectory } from '../rewards/input.js';
import type { RewardOptions } from '../rewards/options.js';
import type { Reward } from '../rewards/reward.js';
import type { RewardComponents } from '../rewards/total.js';
import { rollOut, type RolloutOptions, type RolloutStats } from '../rollout/rollout.js';
import { lossMask, tokenIds, type Trajectory } from '../rollout/trajectory.js';
import { executedSearches } from '../text/turns.js';
import type { AdamW } from './adamw.js';
import { addGradients, clipByGlobalNorm, lossAndGradients } from './gradients.js';
import { groupAdvantages, grpoLoss, grpoStatistics } from './grpo-loss.js';
import { batchLogProbs, groupByLength, packSequences, scoreSequences, type Sequence } from './sequences.js';

export interface GrpoOptions {
  questionsPerStep: number;
  /** G: rollouts a question. */
  groupSize: number;
  /** Updates a step, each on its share of the rollouts. */
  miniBatches: number;
  learningRate: number;
  clip: number;
  beta: number;
  maxGradNorm: number;
  maxTokensPerPass: number;
}

/** All that stays the same over the steps of a run. */
export interface GrpoSetting {
  policy: LocalPolicy;
  base: Weights;
  config: ModelConfig;
  table: RotaryTable;
  lora: LoraOptions;
  retriever: Retriever;
  rollout: RolloutOptions;
  rewards: RewardOptions;
  reward: Reward;
  grpo: GrpoOptions;
}

/** A trajectory with what training made of it. */
export interface ScoredTrajectory extends Trajectory {
  shape: ReturnType<typeof questionShape>;
  /** Share of the independent sub-questions that were asked. */
  coverage: number;
  rewards: RewardComponents;
  advantage: number;
}

/** A training row: the tokens of a trajectory with everything the loss needs, a value a masked-in token. */
interface TrainingRow extends Sequence {
  advantage: number;
  oldLogProbs: number[];
  referenceLogProbs: number[];
}

export type GrpoMetrics = Record<string, number>;

const shapeOf = (question: Question) => questionShape(question.metadata.graph ?? []);
const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);

/** G rollouts of each question, rewarded, with their advantages. */
async function rollOutGroups(
  setting: GrpoSetting,
  questions: readonly Question[],
  random: Random,
): Promise<{ scored: ScoredTrajectory[]; stats: RolloutStats }> {
  const { groupSize } = setting.grpo;
  const repeated = questions.flatMap((question) => Array.from({ length: groupSize }, () => question));
  const randoms = repeated.map((_, i) => random.fork(`rollout ${i}`));
  const { trajectories, stats } = await rollOut(setting.policy, setting.retriever, repeated, {
    ...setting.rollout,
    randoms,
  });
  setting.policy.release();
  const rewards = trajectories.map((trajectory, i) =>
    setting.reward.score(
      rewardInputFromTrajectory(trajectory, {
        goldenAnswers: trajectory.goldenAnswers,
        shape: shapeOf(repeated[i]),
      }),
      setting.rewards,
    ),
  );
  const advantages = groupAdvantages(
    rewards.map((r) => r.total),
    groupSize,
  );
  const scored = trajectories.map((trajectory, i) => ({
    ...trajectory,
    shape: shapeOf(repeated[i]),
    coverage: coverage(repeated[i], executedSearches(trajectory.segments)),
    rewards: rewards[i],
    advantage: advantages[i],
  }));
  return { scored, stats };
}

/** Whether a group's rewards are all equal, so that it teaches nothing. */
const isZeroVariance = (scored: readonly ScoredTrajectory[], from: number, groupSize: number): boolean =>
  scored.slice(from, from + groupSize).every(({ advantage }) => advantage === 0);

/** Rows of the groups that have something to teach: those whose rewards differ. */
async function trainingRows(
  setting: GrpoSetting,
  scored: readonly ScoredTrajectory[],
): Promise<TrainingRow[]> {
  const { groupSize } = setting.grpo;
  const useful = scored.filter((_, i) => !isZeroVariance(scored, i - (i % groupSize), groupSize));
  const sequences = useful.map((trajectory) => ({
    tokenIds: tokenIds(trajectory),
    lossMask: lossMask(trajectory),
  }));
  const reference = await scoreSequences(setting.base, sequences, setting.config, {
    maxTokens: setting.grpo.maxTokensPerPass,
    table: setting.table,
    temperature: setting.rollout.temperature,
  });
  return sequences.map((sequence, i) => ({
    ...sequence,
    advantage: useful[i].advantage,
    oldLogProbs: useful[i].segments.flatMap((segment) => segment.logProbs ?? []),
    referenceLogProbs: reference[i].logProbs,
  }));
}

interface UpdateReport {
  loss: number;
  gradNorm: number;
  kl: number;
  clipFraction: number;
}

/** One optimizer step on some rows; consumes the adapter and returns the new one. */
function update(
  setting: GrpoSetting,
  adapter: Weights,
  rows: readonly TrainingRow[],
  optimizer: AdamW,
  learningRate: number,
): { adapter: Weights; report: UpdateReport } {
  const numTokens = rows.reduce((sum, row) => sum + row.oldLogProbs.length, 0);
  const report: UpdateReport = { loss: 0, gradNorm: 0, kl: 0, clipFraction: 0 };
  let gradients: Weights | null = null;
  for (const group of groupByLength(
    rows.map((row) => row.tokenIds.length),
    setting.grpo.maxTokensPerPass,
  )) {
    const part = groupGradients(
      setting,
      adapter,
      group.map((i) => rows[i]),
      numTokens,
    );
    gradients = addGradients(gradients, part.gradients);
    report.loss += part.loss;
    report.kl += part.kl * part.share;
    report.clipFraction += part.clipFraction * part.share;
  }
  const clipped = clipByGlobalNorm(gradients!, setting.grpo.maxGradNorm);
  report.gradNorm = clipped.norm;
  return { adapter: optimizer.apply(adapter, clipped.gradients, learningRate), report };
}

/** Gradients of a group of rows of similar length, and its share of the tokens. */
function groupGradients(
  setting: GrpoSetting,
  adapter: Weights,
  rows: readonly TrainingRow[],
  numTokens: number,
) {
  const batch = packSequences(rows);
  const old = rows.flatMap((row) => row.oldLogProbs);
  const reference = rows.flatMap((row) => row.referenceLogProbs);
  const advantages = batch.rows.map((row) => rows[row].advantage);
  let newest: Float32Array = new Float32Array();
  const { value, gradients } = lossAndGradients(adapter, (trainable) => {
    const weights = mergeAdapter(setting.base, trainable, setting.lora);
    const { logProbs } = batchLogProbs(
      weights,
      batch,
      setting.config,
      setting.table,
      setting.rollout.temperature,
    );
    newest = logProbs.dataSync<'float32'>();
    const tokens = {
      oldLogProbs: tf.tensor1d(old),
      referenceLogProbs: tf.tensor1d(reference),
      advantages: tf.tensor1d(advantages),
      weights: tf.fill<tf.Rank.R1>([old.length], 1 / numTokens),
    };
    return grpoLoss(logProbs, tokens, setting.grpo);
  });
  const statistics = grpoStatistics(newest, old, reference, advantages, setting.grpo.clip);
  return { loss: value, gradients, share: old.length / numTokens, ...statistics };
}

/** Rows dealt out to mini-batches so that each has its share of every group. */
function miniBatches(rows: readonly TrainingRow[], count: number, random: Random): TrainingRow[][] {
  const shuffled = random.shuffle(rows);
  const batches = Array.from({ length: count }, (_, b) => shuffled.filter((_, i) => i % count === b));
  return batches.filter((batch) => batch.length > 0);
}

/** What the rollouts of a step look like, under TRL-like names. */
function rolloutMetrics(
  scored: readonly ScoredTrajectory[],
  groupSize: number,
  stats: RolloutStats,
): GrpoMetrics {
  const of = (value: (t: ScoredTrajectory) => number): number => mean(scored.map(value));
  const totals = scored.map((t) => t.rewards.total);
  const zeroGroups = scored.filter((_, i) => i % groupSize === 0 && isZeroVariance(scored, i, groupSize));
  // What the policy wrote, as the rewards see it, also where the environment does not split.
  const queries = (t: ScoredTrajectory): string[][] => executedSearches(t.segments);
  const shaped = (shape: string): ScoredTrajectory[] => scored.filter((t) => t.shape === shape);
  const ratio = (some: readonly ScoredTrajectory[]): number =>
    mean(some.map((t) => Number(isDecomposed(queries(t)))));
  return {
    reward: mean(totals),
    reward_std: Math.sqrt(mean(totals.map((r) => (r - mean(totals)) ** 2))),
    frac_reward_zero_std: zeroGroups.length / (scored.length / groupSize),
    'rewards/outcome': of((t) => t.rewards.outcome),
    'rewards/decomposition': of((t) => t.rewards.decomposition),
    'rewards/search_count': of((t) => t.rewards.searchCount),
    'rewards/format': of((t) => t.rewards.format),
    ...(scored.some((t) => t.rewards.own !== undefined)
      ? { 'rewards/own': of((t) => t.rewards.own ?? 0) }
      : {}),
    turns: of((t) => t.searchTurns.length),
    model_calls: of((t) => t.modelCalls),
    'completions/mean_length': of((t) => lossMask(t).reduce((a, b) => a + b, 0)),
    'completions/clipped_ratio': of((t) => Number(t.finish !== 'answer')),
    decomposition_ratio: ratio(scored),
    'decomposition_ratio/parallelizable': ratio(shaped('parallelizable')),
    'decomposition_ratio/sequential': ratio(shaped('sequential')),
    // With the share of these questions among all, precision and recall of decomposing follow from the ratios.
    'share/parallelizable': shaped('parallelizable').length / scored.length,
    'share/sequential': shaped('sequential').length / scored.length,
    'coverage/parallelizable': mean(shaped('parallelizable').map((t) => t.coverage)),
    sub_queries: of((t) => queries(t).flat().length),
    retrievals: stats.retrievalsRequested,
    retrievals_failed: stats.retrievalsFailed,
  };
}

/** Entropy (nats a token) of the sampling policy, by the log-probabilities it gave to its own samples. */
const sampledEntropy = (scored: readonly ScoredTrajectory[]): number =>
  -mean(scored.flatMap((t) => t.segments.flatMap((segment) => segment.logProbs ?? [])));

/**
 * One step on the given questions. Consumes the adapter and returns the new one; the policy samples with the adapter given.
 * Groups of equal rewards are skipped and counted (`frac_reward_zero_std`).
 */
export async function grpoStep(
  setting: GrpoSetting,
  adapter: Weights,
  questions: readonly Question[],
  options: { optimizer: AdamW; learningRate: number; random: Random },
): Promise<{ adapter: Weights; metrics: GrpoMetrics; trajectories: ScoredTrajectory[] }> {
  const merged = tf.tidy(() => mergeAdapter(setting.base, adapter, setting.lora));
  setting.policy.setWeights(merged);
  const start = performance.now();
  const { scored, stats } = await rollOutGroups(setting, questions, options.random);
  const rolledOut = performance.now();
  const rows = await trainingRows(setting, scored);
  setting.policy.setWeights(setting.base);
  disposeMerged(merged, setting.base);
  let current = adapter;
  const reports: UpdateReport[] = [];
  for (const batch of miniBatches(rows, setting.grpo.miniBatches, options.random.fork('mini-batches'))) {
    const updated = update(setting, current, batch, options.optimizer, options.learningRate);
    current = updated.adapter;
    reports.push(updated.report);
  }
  const metrics = {
    ...rolloutMetrics(scored, setting.grpo.groupSize, stats),
    loss: mean(reports.map((r) => r.loss)),
    kl: mean(reports.map((r) => r.kl)),
    clip_ratio: mean(reports.map((r) => r.clipFraction)),
    grad_norm: mean(reports.map((r) => r.gradNorm)),
    entropy: sampledEntropy(scored),
    learning_rate: options.learningRate,
    rollout_seconds: (rolledOut - start) / 1000,
    update_seconds: (performance.now() - rolledOut) / 1000,
  };
  return { adapter: current, metrics, trajectories: scored };
}
