import type { Method } from './method.js';

/** ParallelSearch: the parallel prompt and the rewards of Eq. 3 to 7. */
export const parallelSearch: Method = {
  name: 'parallelsearch',
  title: 'ParallelSearch',
  source: 'ParallelSearch, arXiv 2508.09303',
  paperName: 'ParallelSearch',
  color: '#d95f02',
  shape: 'diamond',
  rollout: { prompt: 'parallel', splitQueries: true },
  training: { trainer: 'grpo', rewards: 'paper' },
};

/** ParallelSearch with PPO, the paper's other half: `lib/training/ppo/trainer.ts`. */
export const parallelSearchPpo: Method = {
  ...parallelSearch,
  name: 'parallelsearch:ppo',
  title: 'ParallelSearch, PPO',
  paperName: null,
  color: '#c77f2a',
  training: { trainer: 'ppo', rewards: 'paper' },
};

/**
 * ParallelSearch with the rewards of the authors' released code, which depart from the
 * equations.
 */
export const parallelSearchReleasedCode: Method = {
  ...parallelSearch,
  name: 'parallelsearch:released-code',
  title: 'ParallelSearch, released code',
  paperName: null,
  color: '#b8452a',
  training: { trainer: 'grpo', rewards: 'authors-code' },
};
