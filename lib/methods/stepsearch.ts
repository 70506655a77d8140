import type { Method } from './method.js';
import { searchR1 } from './search-r1.js';

/**
 * StepSearch: Search-R1 with a reward for each search turn, by PPO. Formulas and
 * departures are in `lib/rewards/stepsearch.ts`.
 */
export const stepSearch: Method = {
  name: 'stepsearch',
  title: 'StepSearch',
  source: 'StepSearch, arXiv 2505.15107',
  paperName: 'StepSearch',
  color: '#2a8f5f',
  shape: 'triangle-right',
  rollout: searchR1.rollout,
  training: { trainer: 'ppo', rewards: 'stepsearch' },
};

/**
 * The same rewards with GRPO: those of search turns become advantages of their own
 * tokens.
 */
export const stepSearchGrpo: Method = {
  ...stepSearch,
  name: 'stepsearch:grpo',
  title: 'StepSearch, GRPO',
  source: 'StepSearch, arXiv 2505.15107; turn-level advantages of MT-GRPO, arXiv 2505.11821',
  paperName: null,
  color: '#5b9a3c',
  training: { trainer: 'grpo', rewards: 'stepsearch' },
};
