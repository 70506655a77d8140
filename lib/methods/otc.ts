import type { Method } from './method.js';
import { searchR1 } from './search-r1.js';

/**
 * OTC: Search-R1, but a right answer is worth more the fewer searches it took. Formulas
 * and departures are in `lib/rewards/otc.ts`.
 */
export const otc: Method = {
  name: 'otc',
  title: 'OTC',
  source: 'OTC, arXiv 2504.14870, GRPO form',
  paperName: 'OTC',
  color: '#8e5bb5',
  shape: 'triangle-left',
  rollout: searchR1.rollout,
  training: { trainer: 'grpo', rewards: 'otc-grpo' },
};

export const otcPpo: Method = {
  ...otc,
  name: 'otc:ppo',
  title: 'OTC, PPO',
  source: 'OTC, arXiv 2504.14870, PPO form',
  paperName: null,
  color: '#a679c9',
  training: { trainer: 'ppo', rewards: 'otc-ppo' },
};
