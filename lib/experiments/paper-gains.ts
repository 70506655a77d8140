/** What the paper's own tables give for its headline figures, recomputed. */
import { BACKBONES, paperMethod, type PaperTables } from './paper.js';

/** Whose rows of Tables 3 and 6 are averaged. */
export interface PaperMean {
  table: 'parallelizable' | 'sequential';
  /** Name of a column; `em` is a share in both tables. */
  column: 'em' | 'decomposition_ratio_percent' | 'inference_seconds' | 'turns';
  method: string;
  /** `base`, `instruct`, or `all`: both. */
  model: string;
  /** Whether every data set counts once (default), or every question as Table 5 counts them. */
  weighBy?: 'data sets' | 'questions';
}

const DATA_SETS: Readonly<Record<string, string>> = { '2Wiki': '2WikiMultiHopQA' };

/** A mean over the data sets (and backbones) of Table 3 or 6. */
export function paperMean(tables: PaperTables, mean: PaperMean): number {
  const { table, method, model, weighBy = 'data sets' } = mean;
  const { rows, columns } = table === 'parallelizable' ? tables.table3_parallel : tables.table6_sequential;
  const [column, factor] =
    mean.column === 'em' && table === 'sequential' ? ['em_percent', 0.01] : [mean.column, 1];
  const chosen = rows.filter(
    (row) => row.method === paperMethod(method) && (model === 'all' || row.backbone === BACKBONES[model]),
  );
  const weightOf = (subset: string): number => {
    const [dataSet] = subset.split('-');
    const sizes = tables.table5_subset_sizes[DATA_SETS[dataSet] ?? dataSet];
    return weighBy === 'data sets' ? 1 : sizes[table === 'parallelizable' ? 'par' : 'seq'];
  };
  const total = chosen.reduce((sum, { subset }) => sum + weightOf(subset), 0);
  const values = chosen.map(
    ({ subset, values }) => (values[columns.indexOf(column)] ?? NaN) * weightOf(subset),
  );
  return (factor * values.reduce((sum, value) => sum + value, 0)) / total;
}

/** A mean of ParallelSearch over that of Search-R1: 69.6 % of the model calls on parallelizable questions (the tables' "turns"). */
export function paperRatio(tables: PaperTables, mean: Omit<PaperMean, 'method'>): number {
  const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
    paperMean(tables, { ...mean, method }),
  );
  return ours / theirs;
}

/** How far ParallelSearch is ahead of Search-R1 in exact match, by one way of averaging. */
export interface PaperGain {
  model: string;
  weighBy: 'data sets' | 'questions';
  /** Difference of the means, as a share. */
  difference: number;
  /** The same over Search-R1's mean. */
  relative: number;
}

/** The gain by every simple mean: backbones apart and together, data sets or questions counting once. */
export function paperGains(tables: PaperTables, table: PaperMean['table']): PaperGain[] {
  return ['instruct', 'base', 'all'].flatMap((model) =>
    (['data sets', 'questions'] as const).map((weighBy) => {
      const em = (method: string): number =>
        paperMean(tables, { table, column: 'em', method, model, weighBy });
      const difference = em('parallelsearch') - em('search-r1');
      return { model, weighBy, difference, relative: difference / em('search-r1') };
    }),
  );
}

/** Table 2: ParallelSearch's printed average minus the best printed average of another method, on one backbone. */
export function paperAverageGain(tables: PaperTables, model: string): number {
  const rows = tables.table2_main_em.rows.filter(({ backbone }) => backbone === BACKBONES[model]);
  const averageOf = (isOurs: boolean): number =>
    Math.max(
      ...rows.flatMap(({ method, avg }) =>
        (method === paperMethod('parallelsearch')) === isOurs && avg !== null ? [avg] : [],
      ),
    );
  return averageOf(true) - averageOf(false);
}
