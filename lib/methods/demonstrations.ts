import type { Method } from './method.js';
import { parallelSearch } from './parallelsearch.js';

/**
 * The supervised warm-up of a language model on an expert's searches. How:
 * `lib/training/demonstrations/trainer.ts`.
 */
export const demonstrations: Method = {
  name: 'demonstrations',
  title: 'Demonstrations (before reinforcement)',
  source: 'this project',
  paperName: null,
  color: '#7a7a7a',
  shape: 'stroke',
  rollout: parallelSearch.rollout,
  training: { trainer: 'demonstrations', rewards: 'search-r1' },
  isPreparation: true,
};
