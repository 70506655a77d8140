import { sum } from 'd3-array';
import type { Random } from '../../lib/random.js';

/** Draws an item with a probability proportional to its weight. */
export function weightedChoice<T>(
  items: readonly T[],
  weightOf: (item: T) => number,
  random: Random,
): T {
  let left = random.uniform() * sum(items, weightOf);
  return items.find((item) => (left -= weightOf(item)) < 0) ?? items[0];
}
