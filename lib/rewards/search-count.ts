import type { RewardOptions } from './options.js';
import type { Reward } from './reward.js';

/**
 * Search-count reward r_s (Eq. 5), with n the number of search turns, P the
 * parallelizable and S the single-hop questions:
 *
 *     -lambda_s * |n - 1|            q in P or q in S      (one search is enough)
 *     -lambda_s * |min(n, 2) - 2|    otherwise             (two or more are needed)
 *
 * Sequential and hybrid questions and questions of unknown shape are in neither set. With
 * `searchCountShifted` lambda_s is added, as the authors' code does: the same slope, so
 * the same advantages within a group, but no longer 0 at best.
 */
export const searchCount = (options: RewardOptions): Reward => ({
  name: 'search_count',
  score: ({ searchTurns: { length: n }, shape }) => {
    const wantsOne = shape === 'single_hop' || options.parallelizableShapes.includes(shape);
    const distance = wantsOne ? Math.abs(n - 1) : Math.abs(Math.min(n, 2) - 2);
    return (options.searchCountShifted ? options.lambdaS : 0) - options.lambdaS * distance;
  },
});
