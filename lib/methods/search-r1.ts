import type { Method } from './method.js';

/** Search-R1: its prompt, the outcome reward only, one query a search. */
export const searchR1: Method = {
  name: 'search-r1',
  title: 'Search-R1',
  source: 'Search-R1, arXiv 2503.09516',
  paperName: 'Search-R1',
  color: '#2b86c5',
  shape: 'circle',
  rollout: { prompt: 'search-r1', splitQueries: false },
  training: { trainer: 'grpo', rewards: 'search-r1' },
};

/**
 * Search-R1 with the four search turns of the authors' code: it cannot ask for each of
 * five entities one by one.
 */
export const searchR1InFour: Method = {
  ...searchR1,
  name: 'search-r1:b4',
  title: 'Search-R1, four search turns',
  paperName: null,
  color: '#4f9bb8',
  shape: 'triangle-down',
  rollout: { ...searchR1.rollout, maxSearchTurns: 4 },
};

/** Search-R1 with PPO, its paper's other half: `lib/training/ppo/trainer.ts`. */
export const searchR1Ppo: Method = {
  ...searchR1,
  name: 'search-r1:ppo',
  title: 'Search-R1, PPO',
  paperName: null,
  color: '#4a78d0',
  training: { trainer: 'ppo', rewards: 'search-r1' },
};
