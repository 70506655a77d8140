import type { QuestionShape } from '../data/question.js';
import type { Reward } from './reward.js';

/**
 * The constants of Eq. 4 to 6, and the switches for what the authors' code does
 * differently.
 */
export interface RewardOptions {
  /** lambda_d of Eq. 4. */
  lambdaD: number;
  /** lambda_s of Eq. 5. */
  lambdaS: number;
  /** lambda_f of Eq. 6. */
  lambdaF: number;
  /**
   * alpha of Eq. 4, the bonus for decomposing a parallelizable question; greater than 1
   * in the paper.
   */
  alpha: number;
  /** Adds lambda_s to r_s, as the authors' code does. */
  searchCountShifted: boolean;
  /**
   * Where a decomposition counts: in any search turn (Eq. 4), or only in the first
   * (authors' code).
   */
  decomposedBy: 'any' | 'first-turn';
  /** The shapes that form P; a question of unknown shape is outside of it. */
  parallelizableShapes: readonly (QuestionShape | undefined)[];
  /** Rewards of another paper, in place of Eq. 3 to 6. */
  rewards?: () => Reward[];
}
