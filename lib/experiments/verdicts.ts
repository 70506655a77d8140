/** Figures that decide about the paper's claims, and how certain they are. */
import { sort } from 'd3-array';
import { cumulativeNormal, quantileNormal } from 'vega-statistics';
import { matching, type Fields } from '../evaluation/table.js';
import { valueTitle } from '../report/titles.js';
import { INITIAL_MODELS } from '../training/stored-policies.js';
import type { Evidence, Part } from './experiment.js';

type FindParts = Evidence['parts'];

/** Finds figures by their fields: rows, or contrasts if the fields include `kind`. */
export const findParts =
  (figure: Fields, part: Omit<Part, 'found'>): FindParts =>
  ({ rows, contrasts }) =>
    matching('kind' in figure ? contrasts : rows, figure).map(({ value, low, high }) => {
      return { ...part, found: { value, low, high } };
    });

export const OURS = { method: 'parallelsearch', benchmark: 'all' };

/**
 * Differences of ParallelSearch that must be above 0, by their names: exact match over
 * all questions unless the fields say otherwise.
 */
export const partsAhead =
  (...gaps: readonly (readonly [of: string, fields: Fields])[]): FindParts =>
  (numbers) =>
    gaps.flatMap(([of, fields]) => {
      const gap = { ...OURS, metric: 'em', kind: 'difference', ...fields };
      return findParts(gap, { of, unit: 'points', side: 'above', threshold: 0 })(numbers);
    });

/** A figure per initial model, then the pooled one; empty unless every model has it. */
export const fromEachModel =
  (find: (model: string, of: string) => FindParts): FindParts =>
  (numbers) => {
    const parts = INITIAL_MODELS.map((model) => find(model, model)(numbers));
    return parts.every((part) => part.length === 1)
      ? [...parts.flat(), ...find('all', valueTitle('model', 'all'))(numbers)]
      : [];
  };

/** {@link partsAhead} for each initial model, then pooled. */
export const aheadFromEachModel = (fields: Fields): FindParts =>
  fromEachModel((model, of) => partsAhead([of, { ...fields, model }]));

export const LEVEL = 0.05;
/** Width of a 95 % interval in standard errors. */
const INTERVAL_WIDTH = 2 * quantileNormal(1 - LEVEL / 2);

/** Two-sided p of a figure against its threshold, by the width of its interval. */
export function pValue({ found, threshold }: Pick<Part, 'found' | 'threshold'>): number {
  const error = (found.high - found.low) / INTERVAL_WIDTH;
  if (error === 0) return found.value === threshold ? 1 : 0;
  return 2 * cumulativeNormal(-Math.abs(found.value - threshold) / error);
}

/** Holm's step-down correction (Holm 1979), in the order given. */
export function holm(ps: readonly number[]): number[] {
  const adjusted = [...ps];
  let most = 0;
  sort(ps.keys(), (i) => ps[i]).forEach((i, rank) => {
    most = Math.max(most, Math.min(1, (ps.length - rank) * ps[i]));
    adjusted[i] = most;
  });
  return adjusted;
}
