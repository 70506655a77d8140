import { exactMatch } from '../text/normalize.js';
import type { Reward } from './reward.js';

/**
 * Outcome reward r_o (Eq. 3): 1 if the normalised answer equals a normalised gold
 * answer, else 0. No answer gives 0.
 */
export function outcomeReward(answer: string | null, goldenAnswers: readonly string[]): 0 | 1 {
  return exactMatch(answer, goldenAnswers);
}

/** Eq. 3 as a reward. */
export const outcome = (): Reward => ({
  name: 'outcome',
  score: ({ answer, goldenAnswers }) => outcomeReward(answer, goldenAnswers),
});
