import type { Method } from './method.js';
import { parallelSearch } from './parallelsearch.js';

/**
 * No model: a table of the wordings of training questions and of the sentences of their
 * evidence (`lib/experiments/lookup.ts`).
 */
export const lookup: Method = {
  name: 'lookup',
  title: 'Lookup of wordings',
  source: 'this project',
  paperName: null,
  color: '#6c757d',
  shape: 'cross',
  rollout: parallelSearch.rollout,
  training: null,
};
