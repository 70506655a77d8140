/** Two-sided p values of intervals, corrected for multiple comparisons. */
import { sort } from 'd3-array';
import { cumulativeNormal, quantileNormal } from 'vega-statistics';
import type { Interval } from './estimate.js';

export const LEVEL = 0.05;
/** Width of a 95 % interval in standard errors. */
const INTERVAL_WIDTH = 2 * quantileNormal(1 - LEVEL / 2);

/** The two-sided p value of a figure against its threshold, from its interval's width. */
export function pValue({
  estimate: { value, low, high },
  threshold = 0,
}: {
  estimate: Interval;
  threshold?: number;
}): number {
  const error = (high - low) / INTERVAL_WIDTH;
  if (error === 0) return value === threshold ? 1 : 0;
  return 2 * cumulativeNormal(-Math.abs(value - threshold) / error);
}

/** Holm's step-down correction (Holm 1979), in the order given. */
export function holm(ps: readonly number[]): number[] {
  const adjusted = [...ps];
  let highest = 0;
  sort(ps.keys(), (i) => ps[i]).forEach((i, rank) => {
    highest = Math.max(highest, Math.min(1, (ps.length - rank) * ps[i]));
    adjusted[i] = highest;
  });
  return adjusted;
}
