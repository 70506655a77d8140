import type { QuestionShape } from '../data/question.js';
import { isParallelizable, type RewardOptions } from './options.js';
import type { Reward } from './reward.js';

/** What Eq. 5 looks at. */
export interface SearchCountInput {
  /** n, the number of search turns. */
  numTurns: number;
  shape: QuestionShape | undefined;
}

/**
 * Search-count reward r_s (Eq. 5), with P the parallelizable and S the single-hop questions:
 *
 *     -lambda_s * |n - 1|            q in P or q in S      (one search is enough)
 *     -lambda_s * |min(n, 2) - 2|    otherwise             (two or more are needed)
 *
 * Sequential and hybrid questions and questions of unknown shape are in neither set. With
 * `searchCountShifted` lambda_s is added, as the authors' code does: the same slope, so the same advantages
 * within a group, but no longer 0 at best.
 */
export function searchCountReward(
  { numTurns, shape }: SearchCountInput,
  options: Pick<RewardOptions, 'lambdaS' | 'searchCountShifted' | 'parallelizableShapes'>,
): number {
  const wantsOne = shape === 'single_hop' || isParallelizable(shape, options);
  const distance = wantsOne ? Math.abs(numTurns - 1) : Math.abs(Math.min(numTurns, 2) - 2);
  return (options.searchCountShifted ? options.lambdaS : 0) - options.lambdaS * distance;
}

/** Eq. 5 as a reward. */
export const searchCount = (options: RewardOptions): Reward => ({
  name: 'search_count',
  score: ({ searchTurns, shape }) => searchCountReward({ numTurns: searchTurns.length, shape }, options),
});
