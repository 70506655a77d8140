import type { Method } from './method.js';

/** Search-R1's weights under the parallel prompt: what the prompt alone brings. */
export const searchR1ParallelPrompt: Method = {
  name: 'search-r1-parallel-prompt',
  title: 'Search-R1 + parallel prompt',
  source: 'ParallelSearch, arXiv 2508.09303, Table 3',
  paperName: 'Search-R1+Parallel Prompt',
  color: '#b98a00',
  shape: 'triangle-up',
  rollout: { prompt: 'parallel', splitQueries: true },
  training: { weightsOf: 'search-r1' },
};
