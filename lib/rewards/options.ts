import type { QuestionShape } from '../data/question.js';

/** The constants of Eq. 4 to 6, and the switches for what the authors' code does differently. */
export interface RewardOptions {
  /** lambda_d of Eq. 4. */
  lambdaD: number;
  /** lambda_s of Eq. 5. */
  lambdaS: number;
  /** lambda_f of Eq. 6. */
  lambdaF: number;
  /** alpha of Eq. 4, the bonus for decomposing a parallelizable question; greater than 1 in the paper. */
  alpha: number;
  /** Adds lambda_s to r_s, as the authors' code does. */
  searchCountShifted: boolean;
  /** Where a decomposition counts: in any search turn (Eq. 4), or only in the first (authors' code). */
  decomposedBy: 'any' | 'first-turn';
  /** The shapes that form P. */
  parallelizableShapes: readonly QuestionShape[];
}

/** Whether a question is in P; a question of unknown shape is not. */
export function isParallelizable(
  shape: QuestionShape | undefined,
  options: Pick<RewardOptions, 'parallelizableShapes'>,
): boolean {
  return shape !== undefined && options.parallelizableShapes.includes(shape);
}

const WEIGHTS = ['lambdaD', 'lambdaS', 'lambdaF', 'alpha'] as const;

/** Throws where a weight is negative or no number. */
export function checkRewardOptions(options: RewardOptions): void {
  for (const name of WEIGHTS) {
    if (!Number.isFinite(options[name]) || options[name] < 0) {
      throw new RangeError(`Expected ${name} to be a number >= 0, but got ${String(options[name])}.`);
    }
  }
}
