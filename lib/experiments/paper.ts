/** The paper's own figures, for the column beside ours. They are read from `data/paper/tables.json`, never typed in. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BENCHMARK_TITLES } from '../evaluation/metrics.js';
import type { PaperCell, TidyContrast } from '../evaluation/table.js';
import { METHODS } from '../methods/index.js';

const subsetRow = z.object({
  subset: z.string(),
  backbone: z.string(),
  method: z.string(),
  values: z.array(z.number().nullable()),
});
const subsetTable = z.object({ columns: z.array(z.string()), rows: z.array(subsetRow) });
const paperSchema = z.looseObject({
  source: z.string(),
  table2_main_em: z.looseObject({
    benchmarks: z.array(z.string()),
    rows: z.array(
      z.looseObject({
        backbone: z.string(),
        method: z.string(),
        em: z.array(z.number().nullable()),
        avg: z.number().nullable(),
      }),
    ),
  }),
  table3_parallel: subsetTable,
  table4_lambda_ablation: z.looseObject({
    columns: z.array(z.string()),
    rows: z.array(z.looseObject({ lambda_d: z.number(), lambda_s: z.number() })),
  }),
  /** Questions of each data set. */
  table5_subset_sizes: z.record(z.string(), z.object({ par: z.number(), seq: z.number() })),
  table6_sequential: subsetTable,
});
export type PaperTables = z.infer<typeof paperSchema>;

/** What the tables call a method; null for one that they do not have. */
export const paperMethod = (name: string): string | null =>
  METHODS.has(name) ? METHODS.get(name).paperName : null;

/** Names in the tables. */
export const BACKBONES: Readonly<Record<string, string>> = {
  base: 'Qwen2.5-7B-Base',
  instruct: 'Qwen2.5-7B-Instruct',
};
const SUBSET_NAMES: Record<string, string> = { hotpotqa: 'HotpotQA', '2wikimultihopqa': '2Wiki' };

/**
 * The column of Tables 3 and 6 for a metric of ours, and what to multiply it by. The tables' "turns" are model calls
 * here: they reach 5.07 where the budget is 4 search turns, so the last generation is counted.
 */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  em: { em: 1, em_percent: 0.01 },
  decomposition_ratio: { decomposition_ratio_percent: 0.01 },
  model_calls: { turns: 1 },
  seconds: { inference_seconds: 1 },
};

/** Reads and checks the paper's tables. */
export function loadPaperTables(
  file: URL | string = new URL('../../data/paper/tables.json', import.meta.url),
): PaperTables {
  return paperSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

let known: PaperTables | undefined;
const paperTables = (): PaperTables => (known ??= loadPaperTables());

/**
 * The paper's figure for a cell, or null where it prints none: Table 2 (EM of whole benchmarks, and their average),
 * Table 3 (HotpotQA and 2Wiki comparisons), Table 6 (HotpotQA bridge; 2Wiki inference and compositional).
 */
export function paperFigure(cell: PaperCell, tables: PaperTables = paperTables()): number | null {
  if (cell.subset === 'all') return cell.metric === 'em' ? wholeBenchmark(tables.table2_main_em, cell) : null;
  const suffix = { parallelizable: 'par', sequential: 'seq' }[cell.subset];
  const table = cell.subset === 'parallelizable' ? tables.table3_parallel : tables.table6_sequential;
  const row = table.rows.find(
    ({ subset, backbone, method }) =>
      suffix !== undefined &&
      subset === `${SUBSET_NAMES[cell.benchmark]}-${suffix}` &&
      backbone === BACKBONES[cell.model] &&
      method === paperMethod(cell.method),
  );
  for (const [column, factor] of Object.entries(COLUMNS[cell.metric] ?? {})) {
    const value = row?.values[table.columns.indexOf(column)];
    if (value !== undefined && value !== null) return Number((value * factor).toFixed(6));
  }
  return null;
}

function wholeBenchmark(table: PaperTables['table2_main_em'], cell: PaperCell): number | null {
  const row = table.rows.find(
    ({ backbone, method }) => backbone === BACKBONES[cell.model] && method === paperMethod(cell.method),
  );
  if (cell.benchmark === 'average') return row?.avg ?? null;
  return row?.em[table.benchmarks.indexOf(BENCHMARK_TITLES[cell.benchmark])] ?? null;
}

/**
 * Contrasts with the paper's own beside them (`paper`): the difference, or the ratio, of the figures that it prints for the two
 * sides; null where it lacks one.
 */
export function withPaper<T extends PaperContrast>(
  contrasts: readonly T[],
): (T & { paper: number | null })[] {
  return contrasts.map((contrast) => {
    const { method, against, model, against_model = model, kind } = contrast;
    const [ours, theirs] = [
      { ...contrast, method, model },
      { ...contrast, method: against, model: against_model },
    ].map((cell) => paperFigure(cell));
    if (ours === null || theirs === null) return { ...contrast, paper: null };
    return { ...contrast, paper: kind === 'ratio' ? ours / theirs : ours - theirs };
  });
}

type PaperContrast = PaperCell & Pick<TidyContrast, 'against' | 'against_model' | 'kind'>;
