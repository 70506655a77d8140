import type { RewardOptions } from './options.js';
import { totalReward, type RewardComponents, type RewardInput } from './total.js';

/** What training rewards: Eq. 7, or something of one's own. */
export interface Reward {
  /** Part of a run's hash, since a function has none: a checkpoint goes on only under this name. Change it with `score`. */
  name: string;
  /** `total` decides the advantage; the other components are recorded. */
  score(input: RewardInput, options: RewardOptions): RewardComponents;
}

/** Eq. 7. */
export const PAPER_REWARD: Reward = { name: 'paper', score: totalReward };

/**
 * Eq. 7 plus a part of one's own, in reward units.
 * @param own sees what the paper's rewards see
 * @throws RangeError while scoring, where `own` gives no finite number
 */
export function addReward(name: string, own: (input: RewardInput) => number): Reward {
  return {
    name,
    score: (input, options) => {
      const paper = totalReward(input, options);
      const value = own(input);
      if (!Number.isFinite(value))
        throw new RangeError(`Expected the reward "${name}" to be a finite number, but got ${value}.`);
      return { ...paper, own: value, total: paper.total + value };
    },
  };
}
