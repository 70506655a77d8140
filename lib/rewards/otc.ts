/**
 * OTC (Wang et al. 2025, arXiv 2504.14870): a correct answer is worth more the fewer tool
 * calls it took. The reward is alpha * r_tool * r_phi with alpha = 1 and r_phi = 1 for a
 * correct answer, else 0; m is the number of search turns. Written from the paper alone.
 *
 * Departures:
 * 1. n, the fewest calls of a correct answer, is the minimum over the question's rollouts
 *    in this step; the paper keeps the minimum over all steps. A run draws 1,600 times
 *    from 3,700 questions, so few questions repeat.
 * 2. The paper gives no value for the smoothing constant c; here it is the search budget.
 */
import { hasCorrectAnswer, outcome } from './parallelsearch.js';
import type { Reward, ScoringInput } from './reward.js';

const SMOOTHING = 6;

const numCalls = ({ searchTurns }: ScoringInput): number => searchTurns.length;

/** OTC-PPO's r_tool, cos(m pi / (2m + c)): 1 without calls, less with each call. */
export const absoluteToolReward = (calls: number): number =>
  Math.cos((calls * Math.PI) / (2 * calls + SMOOTHING));

/** OTC-GRPO's r_tool, sin(f pi / (2n)), f = 2mn / (m + n): 1 for n calls, else less. */
export function relativeToolReward(calls: number, fewest: number): number {
  if (fewest === 0) return absoluteToolReward(calls);
  const mapped = (2 * calls * fewest) / (calls + fewest);
  return Math.sin((mapped * Math.PI) / (2 * fewest));
}

/** The product of tool reward and correctness, in the form of OTC-GRPO or OTC-PPO. */
export const otc = (form: 'grpo' | 'ppo'): Reward[] => [
  { ...outcome(), weight: 0 },
  {
    name: 'tool_calls',
    score: (rollout, group) => {
      if (!hasCorrectAnswer(rollout)) return 0;
      if (form === 'ppo') return absoluteToolReward(numCalls(rollout));
      return relativeToolReward(
        numCalls(rollout),
        Math.min(...group.filter(hasCorrectAnswer).map(numCalls)),
      );
    },
  },
];
