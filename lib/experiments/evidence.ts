/** What claims of the paper are made of: figures out of a report's rows and contrasts, and where their intervals must lie. */
import { INITIAL_MODELS } from './runs.js';
import { BACKBONES, paperMethod, type PaperTables } from './paper.js';
import { paperMean, type PaperMean } from './paper-gains.js';
import type { Numbers, Part } from './verdicts.js';

type Fields = Readonly<Record<string, unknown>>;

/** The figures among `items` with the given fields, as parts of a claim. */
export function partsWhere(items: Numbers['rows'], fields: Fields, part: Omit<Part, 'found'>): Part[] {
  const matching = items.filter((item) =>
    Object.entries(fields).every(([key, value]) => item[key] === value),
  );
  return matching.map(({ value, low, high }) => ({ ...part, found: { value, low, high } }));
}

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

/** A mean of ParallelSearch and one of another method in Table 3 or 6, from each backbone. */
export const paperPairs = (
  paper: PaperTables,
  mean: Omit<PaperMean, 'method' | 'model'>,
  against: string,
): { model: string; ours: number; theirs: number }[] =>
  INITIAL_MODELS.map((model) => {
    const [ours, theirs] = ['parallelsearch', against].map((method) =>
      paperMean(paper, { ...mean, method, model }),
    );
    return { model, ours, theirs };
  });

/** A row of Table 2. */
export const table2Row = (
  { table2_main_em: { rows } }: PaperTables,
  method: string,
  model: string,
): PaperTables['table2_main_em']['rows'][number] | undefined =>
  rows.find((row) => row.backbone === BACKBONES[model] && row.method === paperMethod(method));
