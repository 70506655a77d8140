/**
 * The paper's own figures as tidy rows, for the column beside ours and for its claims:
 * read from `data/paper/tables.json`, never typed in.
 */
import { readFileSync } from 'node:fs';
import { mean } from 'd3-array';
import { z } from 'zod';
import { BENCHMARK_TITLES } from '../evaluation/selections.js';
import { matching, type PaperCell, type TidyContrast } from '../evaluation/table.js';
import { packagePath } from '../io/paths.js';
import { METHODS } from '../training/methods.js';

const figures = z.array(z.number().nullable());
const named = z.object({ backbone: z.string(), method: z.string() });
const subsetTable = z.object({
  columns: z.array(z.string()),
  rows: z.array(named.extend({ subset: z.string(), values: figures })),
});
const paperSchema = z.object({
  table2_main_em: z.object({
    benchmarks: z.array(z.string()),
    rows: z.array(named.extend({ em: figures, avg: z.number().nullable() })),
  }),
  table3_parallel: subsetTable,
  table4_lambda_ablation: z.object({
    columns: z.array(z.string()),
    rows: z.array(
      z.object({
        lambda_d: z.number(),
        lambda_s: z.number(),
        'HotpotQA-par': figures,
        '2Wiki-par': figures,
      }),
    ),
  }),
  table5_subset_sizes: z.record(z.string(), z.object({ par: z.number(), seq: z.number() })),
  table6_sequential: subsetTable,
});

/**
 * A figure that the paper prints, named as ours are but for the method, which has the
 * paper's name, or that of its lambdas in Table 4.
 */
export type PaperRow = PaperCell & { value: number };

/**
 * What columns are called here, and what to multiply them by. The tables' "turns" are
 * model calls here: they reach 5.07 where the budget is 4 search turns, so the last
 * generation is counted.
 */
const COLUMNS: Readonly<Record<string, readonly [metric: string, factor: number]>> = {
  em: ['em', 1],
  em_percent: ['em', 0.01],
  decomposition_ratio_percent: ['decomposition_ratio', 0.01],
  turns: ['model_calls', 1],
  inference_seconds: ['seconds', 1],
};
const BENCHMARKS = new Map(Object.entries(BENCHMARK_TITLES).map(([name, title]) => [title, name]));
BENCHMARKS.set('2Wiki', '2wikimultihopqa');
const KINDS = { par: 'parallelizable', seq: 'sequential' } as const;

const benchmarkOf = (dataSet: string): string => BENCHMARKS.get(dataSet) ?? dataSet;

/** `Qwen2.5-7B-Base` is `base`. */
const modelOf = (backbone: string): string => backbone.split('-').at(-1)!.toLowerCase();

/** The rows of a table that is about a kind of question, such as `2Wiki-par`. */
function subsetRows(
  [part, columns, values]: [string, readonly string[], readonly (number | null)[]],
  who: Pick<PaperRow, 'method' | 'model'>,
): PaperRow[] {
  const [dataSet, kind] = part.split('-');
  return columns.flatMap((column, i) => {
    const [metric, factor] = COLUMNS[column];
    const value = values[i];
    if (value === null) return [];
    const cell = {
      ...who,
      benchmark: benchmarkOf(dataSet),
      subset: KINDS[kind as 'par' | 'seq'],
      metric,
    };
    return [{ ...cell, value: Number((value * factor).toFixed(6)) }];
  });
}

/**
 * The name of a setting of the rewards' weights in results, such as
 * `lambda_d=0.15,lambda_s=0.35`.
 */
export const lambdaName = (lambdaD: number, lambdaS: number): string =>
  `lambda_d=${lambdaD},lambda_s=${lambdaS}`;

function readPaper() {
  const file = packagePath('data', 'paper', 'tables.json');
  const paper = paperSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const { benchmarks, rows: whole } = paper.table2_main_em;
  const table2 = whole.flatMap(({ backbone, method, em, avg }) =>
    [...em, avg].flatMap((value, i): PaperRow[] => {
      const benchmark = i < benchmarks.length ? benchmarkOf(benchmarks[i]) : 'average';
      const cell = { method, model: modelOf(backbone), benchmark, subset: 'all', metric: 'em' };
      return value === null ? [] : [{ ...cell, value }];
    }),
  );
  const tables3And6 = [paper.table3_parallel, paper.table6_sequential].flatMap(
    ({ columns, rows }) =>
      rows.flatMap(({ subset, backbone, method, values }) =>
        subsetRows([subset, columns, values], { method, model: modelOf(backbone) }),
      ),
  );
  const { columns, rows } = paper.table4_lambda_ablation;
  const table4 = rows.flatMap(({ lambda_d, lambda_s, ...parts }) =>
    Object.entries(parts).flatMap(([part, values]) =>
      subsetRows([part, columns, values], {
        method: lambdaName(lambda_d, lambda_s),
        model: 'instruct',
      }),
    ),
  );
  const sizes = Object.entries(paper.table5_subset_sizes).flatMap(([dataSet, { par, seq }]) => [
    { benchmark: benchmarkOf(dataSet), subset: KINDS.par, questions: par },
    { benchmark: benchmarkOf(dataSet), subset: KINDS.seq, questions: seq },
  ]);
  const all = [...table2, ...tables3And6, ...table4];
  return { rows: all, sizes, byCell: new Map(all.map((row) => [keyOf(row), row.value])) };
}

let known: ReturnType<typeof readPaper> | undefined;
/**
 * Rows in the tables' order, and how many questions of each kind a data set has (Table
 * 5).
 */
export const paperTables = (): ReturnType<typeof readPaper> => (known ??= readPaper());

const keyOf = ({ method, model, benchmark, subset, metric }: PaperCell): string =>
  [method, model, benchmark, subset, metric].join('/');

/** What the tables call a method; null for one that they do not have. */
const paperName = (name: string): string | null =>
  METHODS.has(name) ? METHODS.get(name).paperName : name;

/**
 * The paper's figure for a cell, or null where it prints none: Table 2 (EM of whole
 * benchmarks, and their average), Table 3 (HotpotQA and 2Wiki comparisons), Table 4
 * (methods that are lambdas), Table 6 (HotpotQA bridge; 2Wiki inference and
 * compositional).
 */
export function paperFigure(cell: PaperCell): number | null {
  const method = paperName(cell.method);
  return method === null ? null : (paperTables().byCell.get(keyOf({ ...cell, method })) ?? null);
}

/** The paper's rows with the given fields; a method is called as it is here. */
export const paperRows = ({ method, ...fields }: Partial<PaperCell>): PaperRow[] =>
  matching(
    paperTables().rows,
    method === undefined ? fields : { ...fields, method: paperName(method) },
  );

/** The plain mean of the paper's rows with the given fields; NaN where there are none. */
export const paperMean = (fields: Partial<PaperCell>): number =>
  mean(paperRows(fields), ({ value }) => value) ?? NaN;

/**
 * Contrasts with the paper's own beside them (`paper`): the difference, or the ratio,
 * of the figures that it prints for the two sides; null where it lacks one.
 */
export const withPaper = (
  contrasts: readonly TidyContrast[],
): (TidyContrast & { paper: number | null })[] =>
  contrasts.map((contrast) => {
    const { method, against, model, against_model = model, kind } = contrast;
    const ours = paperFigure({ ...contrast, method, model });
    const theirs = paperFigure({ ...contrast, method: against, model: against_model });
    if (ours === null || theirs === null) return { ...contrast, paper: null };
    return { ...contrast, paper: kind === 'ratio' ? ours / theirs : ours - theirs };
  });
