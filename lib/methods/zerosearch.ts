import type { Method } from './method.js';
import { searchR1 } from './search-r1.js';

/**
 * ZeroSearch: Search-R1 that learns while another policy plays the search engine.
 * Departures are in `lib/training/zerosearch/trainer.ts`.
 */
export const zeroSearch: Method = {
  name: 'zerosearch',
  title: 'ZeroSearch',
  source: 'ZeroSearch, arXiv 2505.04588',
  paperName: 'ZeroSearch',
  color: '#c2843a',
  // A hexagon.
  shape: 'M-.5,-.87L.5,-.87L1,0L.5,.87L-.5,.87L-1,0Z',
  rollout: searchR1.rollout,
  training: { trainer: 'zerosearch', rewards: 'f1' },
};

/** The policy that plays the search engine. */
export const zeroSearchSimulator: Method = {
  ...zeroSearch,
  name: 'zerosearch:simulator',
  title: 'ZeroSearch, its search engine',
  paperName: null,
  color: '#a98a5a',
  training: { trainer: 'zerosearch-simulator', rewards: 'search-r1' },
  isPreparation: true,
};
