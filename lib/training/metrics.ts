/** Metrics of a step's rollouts, with TRL's names where it has them. */
import type { RolloutStats } from '../rollout/rollout.js';
import type { Trajectory, With } from '../rollout/trajectory.js';
import { executedSearches, formatFault } from '../text/response.js';
import { nextAction } from '../text/tags.js';
import { isZeroVariance } from './advantages.js';
import { isTimedOut, splitIntoGroups } from './rollout-groups.js';
import { isDecomposed } from '../rewards/parallelsearch.js';

type Scored = With<'rewards' | 'advantage'>;

export type Metrics = Record<string, number>;

/** 0 for an empty list. Unlike d3's, NaN propagates, so that guards see it. */
export const strictMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const numPolicyTokens = ({ segments }: Scored): number =>
  segments.reduce((sum, { kind, tokenIds }) => sum + (kind === 'policy' ? tokenIds.length : 0), 0);

/** Whether a turn was truncated, or the context was full. */
export const isTruncated = ({ finish, segments }: Trajectory, maxNewTokens: number): boolean =>
  finish === 'length' ||
  segments.some(
    ({ kind, tokenIds, text }) =>
      kind === 'policy' && tokenIds.length >= maxNewTokens && nextAction(text).kind === 'invalid',
  );

/**
 * Metrics of a step's rollouts, ordered by group; `rewards/NAME` for each reward.
 * Rollouts with a search that timed out only count as such; without any other, there is
 * no more to measure.
 */
export function rolloutMetrics(
  rollouts: readonly Scored[],
  {
    groupSize,
    stats,
    maxNewTokens,
  }: { groupSize: number; stats: RolloutStats; maxNewTokens: number },
): Metrics {
  const scored = rollouts.filter((rollout) => !isTimedOut(rollout));
  const searches = {
    retrievals: stats.retrievalsRequested,
    retrievals_failed: stats.retrievalsFailed,
    frac_retrievals_failed: stats.retrievalsFailed / Math.max(1, stats.retrievalsRequested),
    retrieval_timeouts: stats.retrievalsTimedOut,
    frac_rollouts_timed_out: 1 - scored.length / rollouts.length,
  };
  if (scored.length === 0) return searches;
  const average = (value: (t: Scored) => number): number => strictMean(scored.map(value));
  const reward = average((t) => t.rewards.total);
  const names = Object.keys(scored[0].rewards).filter((name) => name !== 'total');
  // Queries as the rewards see them, even if the environment does not split.
  const queries = (t: Scored): string[][] => executedSearches(t.segments);
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
    'completions/mean_length': average(numPolicyTokens),
    'completions/clipped_ratio': average((t) => Number(t.finish !== 'answer')),
    'completions/truncated_ratio': average((t) => Number(isTruncated(t, maxNewTokens))),
    well_formed_ratio: average((t) => Number(formatFault(t.segments) === null)),
    decomposition_ratio: decomposed(scored),
    'decomposition_ratio/parallelizable': decomposed(ofType('parallelizable')),
    'decomposition_ratio/sequential': decomposed(ofType('sequential')),
    // Precision and recall of decomposition follow from these ratios and the share of
    // such questions.
    'share/parallelizable': ofType('parallelizable').length / scored.length,
    'share/sequential': ofType('sequential').length / scored.length,
    'coverage/parallelizable': strictMean(
      ofType('parallelizable').flatMap((t) => t.subQuestionRecall ?? []),
    ),
    sub_queries: average((t) => queries(t).flat().length),
    ...searches,
  };
}

/**
 * Entropy (nats per token) of the sampling policy, estimated from its samples' log-probs.
 */
export const sampledEntropy = (scored: readonly Scored[]): number =>
  -strictMean(scored.flatMap((t) => t.segments.flatMap((segment) => segment.logProbs ?? [])));
