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
