import type { RolloutInput } from '../rollout/options.js';
import type { Method } from './method.js';
import { parallelSearch } from './parallelsearch.js';
import { searchR1 } from './search-r1.js';

const untrained = (
  prompt: string,
  { title, ...look }: Pick<Method, 'title' | 'color' | 'shape'>,
  rollout: RolloutInput,
): Method => ({
  name: `untrained:${prompt}`,
  title: `Untrained, ${title}`,
  source: 'the initial model, before reinforcement',
  paperName: null,
  ...look,
  rollout: { ...rollout, prompt },
  training: null,
});

/**
 * The initial model under every prompt that it has seen: what reinforcement adds shows
 * beside the best of them.
 */
export const UNTRAINED: readonly Method[] = [
  untrained(
    'search-r1',
    { title: 'Search-R1’s prompt', color: '#7d90a5', shape: 'circle' },
    searchR1.rollout,
  ),
  untrained(
    'parallel',
    { title: 'parallel prompt', color: '#b08468', shape: 'diamond' },
    parallelSearch.rollout,
  ),
  // The prompt of the warm-up's practice, which reinforcement never uses.
  untrained(
    'drill',
    { title: 'practice prompt', color: '#8c8c5a', shape: 'triangle-up' },
    parallelSearch.rollout,
  ),
];
