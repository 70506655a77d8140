/** ParallelSearch's rewards: Eq. 3 to 6. Their sum is Eq. 7. */
import type { QuestionType } from '../data/question.js';
import { exactMatch } from '../text/answer-match.js';
import type { Reward, ScoringInput } from './reward.js';

/** The constants of Eq. 4 to 6, and switches for the behaviour of the authors' code. */
export interface RewardConstants {
  /** lambda_d of Eq. 4. */
  lambdaD: number;
  /** lambda_s of Eq. 5. */
  lambdaS: number;
  /** lambda_f of Eq. 6. */
  lambdaF: number;
  /** Reward for a wrong answer in a wrong format, as in Search-R1's code. Default: 0. */
  finalFormatScore?: number;
  /** alpha of Eq. 4 (> 1), the bonus for decomposing a parallelizable question. */
  alpha: number;
  /** Adds lambda_s to r_s, as the authors' code does. */
  searchCountShifted: boolean;
  /** Whether a decomposition counts in any turn (Eq. 4) or the first (authors' code). */
  decomposedBy: 'any' | 'first-turn';
  /** The question types in P. Questions of unknown type are outside P. */
  parallelizableTypes: readonly (QuestionType | undefined)[];
}

/** Outcome reward r_o (Eq. 3): 1 if the normalised answer equals a gold answer, or 0. */
export const outcomeReward = exactMatch;

export const outcome = (): Reward => ({
  name: 'outcome',
  score: ({ answer, goldenAnswers }) => outcomeReward(answer, goldenAnswers),
});

export const hasCorrectAnswer = ({ answer, goldenAnswers }: ScoringInput): boolean =>
  outcomeReward(answer, goldenAnswers) === 1;

/** Whether a search turn asked two or more sub-queries at once. */
export function isDecomposed(
  searchTurns: readonly (readonly string[])[],
  decomposedBy: RewardConstants['decomposedBy'] = 'any',
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
 * A response without any search is not decomposed, so outside P it gets lambda_d. As in
 * the authors' code, a question of unknown type is outside P.
 */
export const decomposition = (options: RewardConstants): Reward => ({
  name: 'decomposition',
  score: ({ searchTurns, questionType }) => {
    const inP = options.parallelizableTypes.includes(questionType);
    if (isDecomposed(searchTurns, options.decomposedBy) !== inP) return 0;
    return inP ? options.alpha * options.lambdaD : options.lambdaD;
  },
});

/**
 * Search-count reward r_s (Eq. 5), with n the number of search turns, P the
 * parallelizable and S the single-hop questions:
 *
 *     -lambda_s * |n - 1|            q in P or q in S      (one search is enough)
 *     -lambda_s * |min(n, 2) - 2|    otherwise             (two or more are needed)
 *
 * With `searchCountShifted` lambda_s is added, as in the authors' code: the advantages
 * within a group stay the same, but the best value is no longer 0.
 */
export const searchCount = (options: RewardConstants): Reward => ({
  name: 'search_count',
  score: ({ searchTurns: { length: n }, questionType }) => {
    const needsOne =
      questionType === 'single_hop' || options.parallelizableTypes.includes(questionType);
    const distance = needsOne ? Math.abs(n - 1) : Math.abs(Math.min(n, 2) - 2);
    return (options.searchCountShifted ? options.lambdaS : 0) - options.lambdaS * distance;
  },
});

/**
 * Format reward r_f (Eq. 6): -lambda_f for a correct answer in a wrong format, +lambda_f
 * for a wrong answer in the right format, else 0. `formatFault` judges the format.
 */
export const format = ({ lambdaF, finalFormatScore = 0 }: RewardConstants): Reward => ({
  name: 'format',
  score: (input) => {
    if (hasCorrectAnswer(input)) return input.formatOk ? 0 : 0 - lambdaF;
    if (input.formatOk) return lambdaF;
    return input.answer === null ? 0 : finalFormatScore;
  },
});
