import type { Method } from './method.js';

/** "Direct inference without retrieval": the initial model itself, asked to answer at once. */
export const r1: Method = {
  name: 'r1',
  title: 'R1 (no search)',
  source: 'DeepSeek-R1, arXiv 2501.12948',
  paperName: 'R1',
  color: '#8a8a8a',
  shape: 'square',
  rollout: { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 },
  training: null,
};
