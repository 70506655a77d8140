/** The paper's claims, and the figures of a result that decide them. */
import type { Interval } from '../../evaluation/estimate.js';
import { findFigures, type Fields } from '../../evaluation/figures.js';
import type { ResultParts } from '../../report/result.js';
import { valueTitle } from '../../report/titles.js';
import { INITIAL_MODELS } from '../../training/models.js';

/** A figure on which a claim rests, and the threshold for its interval. */
export interface ClaimPart {
  /** Names the model or benchmark, if the claim has several figures. */
  label: string;
  estimate: Interval;
  /** How to print it: a difference in points, or a plain number. */
  unit: 'points' | 'number';
  side: 'above' | 'below';
  threshold: number;
}

/** Finds the figures that decide a claim; empty if the result lacks them. */
type FindParts = (result: ResultParts) => ClaimPart[];

export interface Evidence {
  /** Id of the notebook cell that shows it. */
  cell: string;
  rule: string;
  parts: FindParts;
  /** Why the figures decide nothing, given the result; null if they do. */
  findReason?: (result: ResultParts) => string | null;
}

/** A claim of the paper about its method: decided here, or why it cannot be. */
export type PaperClaim = {
  id: string;
  claim: string;
  /** The figure in the paper's text. */
  paper: string;
  /** The same figure, recomputed from the paper's tables. */
  tables: () => string;
} & (Evidence | { untestable: string });

/** The figures with these fields: rows, or contrasts if the fields include `kind`. */
export const findParts = (
  result: ResultParts,
  figure: Fields,
  part: Omit<ClaimPart, 'estimate'>,
): ClaimPart[] =>
  findFigures(result, figure).map(({ value, low, high }) => {
    return { ...part, estimate: { value, low, high } };
  });

export const PARALLELSEARCH_FIELDS = { method: 'parallelsearch', benchmark: 'all' };

/**
 * Differences of ParallelSearch that must be above 0, by label: in exact match over all
 * questions, unless the fields say otherwise.
 */
export const partsAhead =
  (gaps: readonly (readonly [label: string, fields: Fields])[]): FindParts =>
  (result) =>
    gaps.flatMap(([label, fields]) => {
      const gap = { ...PARALLELSEARCH_FIELDS, metric: 'em', kind: 'difference', ...fields };
      return findParts(result, gap, { label, unit: 'points', side: 'above', threshold: 0 });
    });

/** A figure per initial model, then the pooled one; empty unless every model has it. */
export function fromEachModel(find: (model: string, label: string) => ClaimPart[]): ClaimPart[] {
  const parts = INITIAL_MODELS.map((model) => find(model, model));
  return parts.every((part) => part.length === 1)
    ? [...parts.flat(), ...find('all', valueTitle('model', 'all'))]
    : [];
}

/** {@link partsAhead} for each initial model, then pooled. */
export const aheadFromEachModel =
  (fields: Fields): FindParts =>
  (result) =>
    fromEachModel((model, label) => partsAhead([[label, { ...fields, model }]])(result));
