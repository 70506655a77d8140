import type { RewardOptions } from './options.js';
import type { Reward } from './reward.js';

/**
 * Whether a search asked two or more sub-queries at once: in any turn (the equation:
 * the query is decomposed), or only in the first (`first-turn`, as the authors' code
 * looks).
 * @param searchTurns the sub-queries of each search turn
 */
export function isDecomposed(
  searchTurns: readonly (readonly string[])[],
  decomposedBy: RewardOptions['decomposedBy'] = 'any',
): boolean {
  const turns = decomposedBy === 'first-turn' ? searchTurns.slice(0, 1) : searchTurns;
  return turns.some((queries) => queries.length > 1);
}

/**
 * Decomposition reward r_d (Eq. 4), with P the parallelizable questions:
 *
 *     lambda_d          q not in P and not decomposed
 *     alpha * lambda_d  q in P and decomposed
 *     0                 otherwise
 *
 * A response that never searches is not decomposed, so outside of P it gets lambda_d, as
 * the equation says. Single-hop, sequential and hybrid questions are outside of P, and so
 * is a question of unknown shape (as in the authors' code, where a missing type counts as
 * not parallelizable).
 */
export const decomposition = (options: RewardOptions): Reward => ({
  name: 'decomposition',
  score: ({ searchTurns, shape }) => {
    const inP = options.parallelizableShapes.includes(shape);
    if (isDecomposed(searchTurns, options.decomposedBy) !== inP) return 0;
    return inP ? options.alpha * options.lambdaD : options.lambdaD;
  },
});
