/** Metrics of a step's rollouts, with TRL's names where it has them. */
import { max, quantile } from 'd3-array';
import type { Question } from '../data/question.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { criticalSteps, evidenceRecall, gaveUp, hasEvidence } from '../rewards/sub-questions.js';
import type { RolloutStats } from '../rollout/rollout.js';
import type { Trajectory, With } from '../rollout/trajectory.js';
import { executedSearches, formatFault } from '../text/response.js';
import { nextAction } from '../text/tags.js';
import { isZeroVariance } from './advantages.js';
import { isCorrect, isTimedOut, splitIntoGroups } from './rollout-groups.js';

type Scored = With<'rewards' | 'advantage'>;

export type Metrics = Record<string, number>;

/** The mean; 0 for an empty list. Unlike d3's, propagates NaN, so that guards see it. */
export const strictMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const numPolicyTokens = ({ segments }: Scored): number =>
  segments.reduce((sum, { kind, tokenIds }) => sum + (kind === 'policy' ? tokenIds.length : 0), 0);

/** Whether a turn was truncated or the context was full. */
export const isTruncated = ({ finish, segments }: Trajectory, maxNewTokens: number): boolean =>
  finish === 'length' ||
  segments.some(
    ({ kind, tokenIds, text }) =>
      kind === 'policy' && tokenIds.length >= maxNewTokens && nextAction(text).kind === 'invalid',
  );

/** The mean of the values as a metric; no metric if there are none. */
const meanMetric = (name: string, values: readonly number[]): Metrics =>
  values.length > 0 ? { [name]: strictMean(values) } : {};

/** Times of the rollouts: the whole step waits for the slowest. */
const rolloutTimes = ({ rolloutSeconds }: RolloutStats): Metrics =>
  rolloutSeconds.length === 0
    ? {}
    : {
        p95_rollout_seconds: quantile(rolloutSeconds, 0.95)!,
        p99_rollout_seconds: quantile(rolloutSeconds, 0.99)!,
      };

interface EvidenceOptions {
  /** One per rollout. Default: unknown, as when a simulator writes the passages. */
  questions?: readonly Question[];
  /** B of Algorithm 1. */
  maxSearchTurns?: number;
}

/** For each rollout whose graph names the evidence, 1 if the policy gave up, else 0. */
const givenUp = (
  rollouts: readonly Scored[],
  { questions = [], maxSearchTurns = 0 }: EvidenceOptions,
): number[] =>
  questions.flatMap((question, i) => {
    if (!hasEvidence(question) || isTimedOut(rollouts[i])) return [];
    const evidenceSeen = evidenceRecall(question.metadata.graph!, rollouts[i]);
    return Number(gaveUp({ ...rollouts[i], maxSearchTurns, evidenceSeen }));
  });

/**
 * Metrics of a step's rollouts, ordered by group; includes `rewards/NAME` for each
 * reward. Rollouts whose search timed out are only counted; if all did, nothing else is
 * measured. Without `stats`, has no metrics of the searches.
 */
export function rolloutMetrics(
  rollouts: readonly Scored[],
  {
    groupSize,
    stats,
    maxNewTokens,
    ...options
  }: { groupSize: number; stats?: RolloutStats; maxNewTokens: number } & EvidenceOptions,
): Metrics {
  const scored = rollouts.filter((rollout) => !isTimedOut(rollout));
  const searches = stats && {
    retrievals: stats.retrievalsRequested,
    retrievals_failed: stats.retrievalsFailed,
    frac_retrievals_failed: stats.retrievalsFailed / Math.max(1, stats.retrievalsRequested),
    retrieval_timeouts: stats.retrievalsTimedOut,
    frac_rollouts_timed_out: 1 - scored.length / rollouts.length,
    ...rolloutTimes(stats),
  };
  if (scored.length === 0) return searches ?? {};
  const average = (value: (t: Scored) => number): number => strictMean(scored.map(value));
  const reward = average((t) => t.rewards.total);
  const names = Object.keys(scored[0].rewards).filter((name) => name !== 'total');
  // Queries as the rewards see them, even if the environment does not split them.
  const queries = (t: Scored): string[][] => executedSearches(t.segments, t.querySeparator);
  const ofType = (type: string): Scored[] => scored.filter((t) => t.questionType === type);
  const decomposed = (trajectories: readonly Scored[]): number =>
    strictMean(trajectories.map((t) => Number(isDecomposed(queries(t)))));
  return {
    reward,
    reward_std: Math.sqrt(average((t) => (t.rewards.total - reward) ** 2)),
    frac_reward_zero_std: strictMean(
      splitIntoGroups(rollouts, groupSize)
        .filter((group) => !group.every(isTimedOut))
        .map((group) => Number(isZeroVariance(group))),
    ),
    ...Object.fromEntries(
      names.map((name) => [`rewards/${name}`, average((t) => t.rewards[name])]),
    ),
    turns: average((t) => t.searchTurns.length),
    model_calls: average((t) => t.modelCalls),
    critical_steps: average((t) =>
      criticalSteps({ ...t, searches: t.searchTurns.map(({ queries }) => queries) }),
    ),
    ...meanMetric(
      'turns/sequential',
      ofType('sequential').map((t) => t.searchTurns.length),
    ),
    ...meanMetric('gave_up', givenUp(rollouts, options)),
    out_of_turns: average((t) => Number(t.finish === 'budget')),
    'completions/mean_length': average(numPolicyTokens),
    'completions/clipped_ratio': average((t) => Number(t.finish !== 'answer')),
    'completions/truncated_ratio': average((t) => Number(isTruncated(t, maxNewTokens))),
    well_formed_ratio: average((t) => Number(formatFault(t.segments, t.querySeparator) === null)),
    decomposition_ratio: decomposed(scored),
    'decomposition_ratio/parallelizable': decomposed(ofType('parallelizable')),
    'decomposition_ratio/sequential': decomposed(ofType('sequential')),
    // These ratios and shares give the precision and recall of decomposition.
    'share/parallelizable': ofType('parallelizable').length / scored.length,
    'share/sequential': ofType('sequential').length / scored.length,
    ...meanMetric(
      'coverage/parallelizable',
      ofType('parallelizable').flatMap((t) => t.subQuestionRecall ?? []),
    ),
    sub_queries: average((t) => queries(t).flat().length),
    ...searches,
  };
}

/**
 * Mean log-prob (nats per token) of correct rollouts and of the others, if there are any
 * and there is an outcome reward.
 */
export function sampledLogProbs(scored: readonly Scored[]): Metrics {
  const logProbs = (isWanted: boolean): number[] =>
    scored
      .filter((t) => 'outcome' in t.rewards && !isTimedOut(t) && isCorrect(t) === isWanted)
      .flatMap((t) => t.segments.flatMap((segment) => segment.logProbs ?? []));
  return {
    ...meanMetric('logps/correct', logProbs(true)),
    ...meanMetric('logps/incorrect', logProbs(false)),
  };
}

/** Number of steps averaged for a trend. */
const TREND_STEPS = 10;

/** The best and the latest moving average of a metric; null if it has too few steps. */
function trend(name: string, steps: readonly Metrics[]): { best: number; last: number } | null {
  const values = steps.flatMap((metrics) => metrics[name] ?? []);
  if (values.length < TREND_STEPS) return null;
  const means = values
    .slice(TREND_STEPS - 1)
    .map((_, i) => strictMean(values.slice(i, i + TREND_STEPS)));
  return { best: max(means)!, last: means[means.length - 1] };
}

/**
 * How far the moving averages have fallen below their best in a run: the log-prob of
 * correct rollouts (nats per token), and the searches per question (as a share).
 * @param steps the metrics of all steps of the run, newest last
 */
export function trendMetrics(steps: readonly Metrics[]): Metrics {
  const likelihood = trend('logps/correct', steps);
  const searches = trend('sub_queries', steps);
  return {
    ...(likelihood && { 'logps/correct_drop': likelihood.best - likelihood.last }),
    ...(searches && searches.best > 0 && { sub_queries_drop: 1 - searches.last / searches.best }),
  };
}

/** Entropy (nats per token) of the sampling policy, from its samples' log-probs. */
export const sampledEntropy = (scored: readonly Scored[]): number =>
  -strictMean(scored.flatMap((t) => t.segments.flatMap((segment) => segment.logProbs ?? [])));
