import type { RewardOptions } from './options.js';
import { outcomeReward } from './outcome.js';
import type { Reward } from './reward.js';

/**
 * Format reward r_f (Eq. 6): -lambda_f if the answer is right but the format is not,
 * +lambda_f if the answer is wrong but the format is right, else 0. The format itself is
 * judged by `formatFault`.
 */
export const format = ({ lambdaF }: RewardOptions): Reward => ({
  name: 'format',
  score: ({ answer, goldenAnswers, formatOk }) => {
    const correct = outcomeReward(answer, goldenAnswers) === 1;
    if (correct === formatOk) return 0;
    return correct ? 0 - lambdaF : lambdaF;
  },
});
