/** What the rollouts of a step look like, under TRL's names where it has one. */
import type { RolloutStats } from '../rollout/rollout.js';
import type { With } from '../rollout/trajectory.js';
import { executedSearches, formatFault } from '../text/response.js';
import { nextAction } from '../text/tags.js';
import { isZeroVariance } from './advantages.js';
import { splitIntoGroups } from './rollouts.js';
import { isDecomposed } from '../rewards/parallelsearch.js';

type Scored = With<'rewards' | 'advantage'>;

export type Metrics = Record<string, number>;

/** 0 for no values. Not d3's, which leaves out NaN: here it has to show. */
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const numPolicyTokens = ({ segments }: Scored): number =>
  segments.reduce((sum, { kind, tokenIds }) => sum + (kind === 'policy' ? tokenIds.length : 0), 0);

/** Whether a turn was cut at its limit, or there was no room for another. */
const isTruncated = ({ finish, segments }: Scored, maxNewTokens: number): boolean =>
  finish === 'length' ||
  segments.some(
    ({ kind, tokenIds, text }) =>
      kind === 'policy' && tokenIds.length >= maxNewTokens && nextAction(text).kind === 'invalid',
  );

/**
 * Metrics of the rollouts of a step, group after group; one `rewards/NAME` for each
 * reward.
 */
export function rolloutMetrics(
  scored: readonly Scored[],
  {
    groupSize,
    stats,
    maxNewTokens,
  }: { groupSize: number; stats: RolloutStats; maxNewTokens: number },
): Metrics {
  const of = (value: (t: Scored) => number): number => mean(scored.map(value));
  const reward = of((t) => t.rewards.total);
  const names = Object.keys(scored[0].rewards).filter((name) => name !== 'total');
  // What the policy wrote, as the rewards see it, also where the environment does not
  // split.
  const queries = (t: Scored): string[][] => executedSearches(t.segments);
  const shaped = (shape: string): Scored[] => scored.filter((t) => t.questionType === shape);
  const decomposed = (some: readonly Scored[]): number =>
    mean(some.map((t) => Number(isDecomposed(queries(t)))));
  return {
    reward,
    reward_std: Math.sqrt(of((t) => (t.rewards.total - reward) ** 2)),
    frac_reward_zero_std: mean(
      splitIntoGroups(scored, groupSize).map((group) => Number(isZeroVariance(group))),
    ),
    ...Object.fromEntries(names.map((name) => [`rewards/${name}`, of((t) => t.rewards[name])])),
    turns: of((t) => t.searchTurns.length),
    model_calls: of((t) => t.modelCalls),
    'completions/mean_length': of(numPolicyTokens),
    'completions/clipped_ratio': of((t) => Number(t.finish !== 'answer')),
    'completions/truncated_ratio': of((t) => Number(isTruncated(t, maxNewTokens))),
    well_formed_ratio: of((t) => Number(formatFault(t.segments) === null)),
    decomposition_ratio: decomposed(scored),
    'decomposition_ratio/parallelizable': decomposed(shaped('parallelizable')),
    'decomposition_ratio/sequential': decomposed(shaped('sequential')),
    // With the share of these questions among all, precision and recall of decomposing
    // follow from the ratios.
    'share/parallelizable': shaped('parallelizable').length / scored.length,
    'share/sequential': shaped('sequential').length / scored.length,
    'coverage/parallelizable': mean(
      shaped('parallelizable').flatMap((t) => t.subQuestionRecall ?? []),
    ),
    sub_queries: of((t) => queries(t).flat().length),
    retrievals: stats.retrievalsRequested,
    retrievals_failed: stats.retrievalsFailed,
    frac_retrievals_failed: stats.retrievalsFailed / Math.max(1, stats.retrievalsRequested),
  };
}

/**
 * Entropy (nats a token) of the sampling policy, by the log-probabilities it gave to its
 * own samples.
 */
export const sampledEntropy = (scored: readonly Scored[]): number =>
  -mean(scored.flatMap((t) => t.segments.flatMap((segment) => segment.logProbs ?? [])));
