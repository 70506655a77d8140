/**
 * OTC (Wang et al. 2025, arXiv 2504.14870): a right answer is worth more the fewer tool
 * calls it took. The reward is alpha * r_tool * r_phi with alpha = 1 and r_phi = 1 for a
 * right answer, else 0; m is the number of search turns. Written from the paper alone.
 *
 * Departures: the fewest calls of a right answer, n, are those of the question's rollouts
 * in this step, where the paper keeps the fewest over all steps: a run draws 1,600 times
 * from 3,700 questions, so few come again. The smoothing constant c, for which the
 * equation gives no value, is the number of search turns that there are here.
 */
import { outcome, outcomeReward } from './outcome.js';
import type { Reward } from './reward.js';
import type { Rollout } from './rollout.js';

const SMOOTHING = 6;

const isRight = ({ answer, goldenAnswers }: Rollout): boolean =>
  outcomeReward(answer, goldenAnswers) === 1;
const numCalls = ({ searchTurns }: Rollout): number => searchTurns.length;

/** OTC-PPO, cos(m pi / (2m + c)): 1 without any call, and less with every call. */
export const absoluteToolReward = (calls: number, smoothing = SMOOTHING): number =>
  Math.cos((calls * Math.PI) / (2 * calls + smoothing));

/**
 * OTC-GRPO, sin(f pi / (2n)) with f = 2mn / (m + n): 1 with as few calls as any right
 * answer needed, less with more or fewer.
 */
export function relativeToolReward(calls: number, fewest: number, smoothing = SMOOTHING): number {
  if (fewest === 0) return absoluteToolReward(calls, smoothing);
  const mapped = (2 * calls * fewest) / (calls + fewest);
  return Math.sin((mapped * Math.PI) / (2 * fewest));
}

/**
 * The product of tool reward and correctness, in the form for groups (`grpo`) or for
 * single rollouts (`ppo`).
 */
export const otc = (form: 'grpo' | 'ppo'): Reward[] => [
  { ...outcome(), weight: 0 },
  {
    name: 'tool_calls',
    score: (rollout, group) => {
      if (!isRight(rollout)) return 0;
      if (form === 'ppo') return absoluteToolReward(numCalls(rollout));
      return relativeToolReward(
        numCalls(rollout),
        Math.min(...group.filter(isRight).map(numCalls)),
      );
    },
  },
];
