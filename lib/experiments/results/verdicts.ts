/** Figures that decide the paper's claims, and how certain they are. */
import { sort } from 'd3-array';
import { cumulativeNormal, quantileNormal } from 'vega-statistics';
import { matching, type Fields } from '../../evaluation/table.js';
import { valueTitle } from '../../report/titles.js';
import { INITIAL_MODELS } from '../../training/models.js';
import type { ClaimPart, ResultTables } from '../experiment.js';

/** The figures with these fields: rows, or contrasts if the fields include `kind`. */
export const findParts = (
  { rows, contrasts }: ResultTables,
  figure: Fields,
  part: Omit<ClaimPart, 'estimate'>,
): ClaimPart[] =>
  matching('kind' in figure ? contrasts : rows, figure).map(({ value, low, high }) => {
    return { ...part, estimate: { value, low, high } };
  });

export const PARALLELSEARCH_FIELDS = { method: 'parallelsearch', benchmark: 'all' };

/**
 * Differences of ParallelSearch that must be above 0, by label: in exact match over all
 * questions, unless the fields say otherwise.
 */
export const partsAhead = (
  tables: ResultTables,
  gaps: readonly (readonly [label: string, fields: Fields])[],
): ClaimPart[] =>
  gaps.flatMap(([label, fields]) => {
    const gap = { ...PARALLELSEARCH_FIELDS, metric: 'em', kind: 'difference', ...fields };
    return findParts(tables, gap, { label, unit: 'points', side: 'above', threshold: 0 });
  });

/** A figure per initial model, then the pooled one; empty unless every model has it. */
export function fromEachModel(find: (model: string, label: string) => ClaimPart[]): ClaimPart[] {
  const parts = INITIAL_MODELS.map((model) => find(model, model));
  return parts.every((part) => part.length === 1)
    ? [...parts.flat(), ...find('all', valueTitle('model', 'all'))]
    : [];
}

/** {@link partsAhead} for each initial model, then pooled. */
export const aheadFromEachModel = (tables: ResultTables, fields: Fields): ClaimPart[] =>
  fromEachModel((model, label) => partsAhead(tables, [[label, { ...fields, model }]]));

export const LEVEL = 0.05;
/** Width of a 95 % interval in standard errors. */
const INTERVAL_WIDTH = 2 * quantileNormal(1 - LEVEL / 2);

/** Two-sided p of a figure against its threshold, from the width of its interval. */
export function pValue({ estimate, threshold }: Pick<ClaimPart, 'estimate' | 'threshold'>): number {
  const error = (estimate.high - estimate.low) / INTERVAL_WIDTH;
  if (error === 0) return estimate.value === threshold ? 1 : 0;
  return 2 * cumulativeNormal(-Math.abs(estimate.value - threshold) / error);
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
