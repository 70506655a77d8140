/** What claims of the paper are made of: figures out of a report's rows and contrasts, and where their intervals must lie. */
import { matching } from '../evaluation/table.js';
import { INITIAL_MODELS } from './runs.js';
import type { Numbers, Part } from './verdicts.js';

type Fields = Readonly<Record<string, unknown>>;

/** The figures among `items` with the given fields, as parts of a claim. */
export const partsWhere = (items: Numbers['rows'], fields: Fields, part: Omit<Part, 'found'>): Part[] =>
  matching(items, fields).map(({ value, low, high }) => ({ ...part, found: { value, low, high } }));

export const OURS = { method: 'parallelsearch', benchmark: 'all' };
export const AHEAD = { unit: 'points', side: 'above', threshold: 0 } as const;
export const EM_DIFFERENCE = { metric: 'em', kind: 'difference' };

/** ParallelSearch minus another method from each initial model, above 0; none unless every model is there. */
export function aheadFromEachModel({ contrasts }: Numbers, fields: Fields): Part[] {
  const parts = INITIAL_MODELS.map((model) =>
    partsWhere(contrasts, { ...OURS, ...EM_DIFFERENCE, model, ...fields }, { of: model, ...AHEAD }),
  );
  return parts.every((part) => part.length === 1) ? parts.flat() : [];
}
