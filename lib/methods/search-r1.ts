import type { Method } from './method.js';

/** Search-R1: its prompt, the outcome reward only, one query a search. */
export const searchR1: Method = {
  name: 'search-r1',
  title: 'Search-R1',
  source: 'Search-R1, arXiv 2503.09516',
  paperName: 'Search-R1',
  color: '#2b86c5',
  shape: 'circle',
  rollout: { prompt: 'search-r1', splitQueries: false, maxSearchTurns: 4 },
  training: { trainer: 'grpo', rewards: 'search-r1' },
};
