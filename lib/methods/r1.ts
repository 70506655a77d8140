import type { Method } from './method.js';

/**
 * "Direct inference without retrieval": the initial model itself, asked to answer at
 * once.
 */
export const r1: Method = {
  name: 'r1',
  title: 'R1 (no search)',
  source: 'DeepSeek-R1, arXiv 2501.12948',
  paperName: null,
  color: '#8a8a8a',
  shape: 'square',
  rollout: { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 },
  training: null,
};

/** R1 as the paper's tables have it: the same with reinforcement by right answers. */
export const r1Trained: Method = {
  ...r1,
  name: 'r1:trained',
  title: 'R1 (no search), trained',
  source: 'Search-R1, arXiv 2503.09516, Table 2; DeepSeek-R1, arXiv 2501.12948',
  paperName: 'R1',
  color: '#6f6f7f',
  training: { trainer: 'grpo', rewards: 'search-r1' },
};
