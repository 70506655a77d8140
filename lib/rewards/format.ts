import type { RewardOptions } from './options.js';
import { outcomeReward } from './outcome.js';
import type { Reward } from './reward.js';

/** What Eq. 6 looks at. */
export interface FormatInput {
  /** The outcome reward is 1. */
  correct: boolean;
  formatOk: boolean;
}

/**
 * Format reward r_f (Eq. 6): -lambda_f if the answer is right but the format is not, +lambda_f if the answer
 * is wrong but the format is right, else 0. The format itself is judged by `formatFault`.
 */
export function formatReward(
  { correct, formatOk }: FormatInput,
  options: Pick<RewardOptions, 'lambdaF'>,
): number {
  if (correct === formatOk) return 0;
  return correct ? 0 - options.lambdaF : options.lambdaF;
}

/** Eq. 6 as a reward. */
export const format = (options: RewardOptions): Reward => ({
  name: 'format',
  score: ({ answer, goldenAnswers, formatOk }) =>
    formatReward({ correct: outcomeReward(answer, goldenAnswers) === 1, formatOk }, options),
});
