import { tokenF1 } from '../text/normalize.js';
import { outcome } from './outcome.js';
import type { Reward } from './reward.js';

/**
 * ZeroSearch (Sun et al. 2025, arXiv 2505.04588): F1 of the answer alone, since exact
 * match rewards answers that say ever more.
 */
export const f1 = (): Reward[] => [
  { ...outcome(), weight: 0 },
  { name: 'answer_f1', score: ({ answer, goldenAnswers }) => tokenF1(answer, goldenAnswers) },
];
