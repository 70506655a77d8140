import type { Method } from './method.js';
import { r1 } from './r1.js';
import { searchR1 } from './search-r1.js';

/**
 * Gold answers learned by supervision, without search. How, and departures:
 * `lib/training/imitation.ts`.
 */
export const supervisedFineTuning: Method = {
  name: 'sft',
  title: 'SFT (no search)',
  source: 'Search-R1, arXiv 2503.09516, Table 2',
  paperName: null,
  color: '#c94a87',
  shape: 'wedge',
  rollout: r1.rollout,
  training: { trainer: 'sft', rewards: 'search-r1' },
};

/**
 * The initial model's own right rollouts learned by supervision. How, and departures:
 * `lib/training/imitation.ts`.
 */
export const rejectionSampling: Method = {
  name: 'rejection-sampling',
  title: 'Rejection sampling',
  source: 'Search-R1, arXiv 2503.09516, Table 2',
  paperName: null,
  color: '#a0623d',
  shape: 'arrow',
  rollout: searchR1.rollout,
  training: { trainer: 'rejection-sampling', rewards: 'search-r1' },
};
