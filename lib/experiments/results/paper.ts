/** Reads the paper's figures from `data/paper/tables.json` as tidy rows. */
import { readFileSync } from 'node:fs';
import { mean } from 'd3-array';
import { z } from 'zod';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { matching, type PaperCell, type TidyContrast } from '../../evaluation/table.js';
import { packagePath } from '../../io/paths.js';
import type { Lambdas } from '../../training/presets.js';
import { METHODS } from '../../training/methods.js';
import { INITIAL_MODELS } from '../../training/models.js';

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

/** A figure of the paper. `method` is the paper's name, or the lambdas in Table 4. */
type PaperRow = PaperCell & { value: number };

/**
 * Our metric for each column, and a factor. The tables' "turns" are model calls: they
 * reach 5.07 with a budget of 4 search turns, so they include the last generation.
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

const benchmarkName = (dataSet: string): string => BENCHMARKS.get(dataSet) ?? dataSet;

/** Turns `Qwen2.5-7B-Base` into `base`. */
const modelName = (backbone: string): string => backbone.split('-').at(-1)!.toLowerCase();

/** Rows of a table about one question type, such as `2Wiki-par`. */
function subsetRows(
  [part, columns, values]: [string, readonly string[], readonly (number | null)[]],
  names: Pick<PaperRow, 'method' | 'model'>,
): PaperRow[] {
  const [dataSet, kind] = part.split('-');
  return columns.flatMap((column, i) => {
    const [metric, factor] = COLUMNS[column];
    const value = values[i];
    if (value === null) return [];
    const questions = { benchmark: benchmarkName(dataSet), subset: KINDS[kind as 'par' | 'seq'] };
    return [{ ...names, ...questions, metric, value: Number((value * factor).toFixed(6)) }];
  });
}

/** The method name of reward weights, such as `lambda_d=0.15,lambda_s=0.35`. */
export const lambdaName = ({ lambdaD, lambdaS }: Lambdas): string =>
  `lambda_d=${lambdaD},lambda_s=${lambdaS}`;

function readPaper() {
  const file = packagePath('data', 'paper', 'tables.json');
  const paper = paperSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const { benchmarks, rows: whole } = paper.table2_main_em;
  const table2 = whole.flatMap(({ backbone, method, em, avg }) =>
    [...em, avg].flatMap((value, i): PaperRow[] => {
      const benchmark = i < benchmarks.length ? benchmarkName(benchmarks[i]) : 'average';
      const cell = { method, model: modelName(backbone), benchmark, subset: 'all', metric: 'em' };
      return value === null ? [] : [{ ...cell, value }];
    }),
  );
  const tables3And6 = [paper.table3_parallel, paper.table6_sequential].flatMap(
    ({ columns, rows }) =>
      rows.flatMap(({ subset, backbone, method, values }) =>
        subsetRows([subset, columns, values], { method, model: modelName(backbone) }),
      ),
  );
  const { columns, rows } = paper.table4_lambda_ablation;
  const table4 = rows.flatMap(({ lambda_d, lambda_s, ...parts }) =>
    Object.entries(parts).flatMap(([part, values]) =>
      subsetRows([part, columns, values], {
        method: lambdaName({ lambdaD: lambda_d, lambdaS: lambda_s }),
        model: 'instruct',
      }),
    ),
  );
  const sizes = Object.entries(paper.table5_subset_sizes).flatMap(([dataSet, { par, seq }]) => [
    { benchmark: benchmarkName(dataSet), subset: KINDS.par, questions: par },
    { benchmark: benchmarkName(dataSet), subset: KINDS.seq, questions: seq },
  ]);
  const all = [...table2, ...tables3And6, ...table4];
  return { rows: all, sizes, byCell: new Map(all.map((row) => [cellKey(row), row.value])) };
}

let cached: ReturnType<typeof readPaper> | undefined;
/** The rows in the tables' order, and the questions per data set and type (Table 5). */
export const paperTables = (): ReturnType<typeof readPaper> => (cached ??= readPaper());

const cellKey = ({ method, model, benchmark, subset, metric }: PaperCell): string =>
  [method, model, benchmark, subset, metric].join('/');

/** A method's name in the tables; undefined if they lack it. */
const paperName = (name: string): string | undefined =>
  METHODS.has(name) ? METHODS.get(name).paperName : name;

/**
 * The paper's figure for a cell, or null if it has none: Table 2 (EM of whole benchmarks,
 * and their average), Table 3 (HotpotQA and 2Wiki comparisons), Table 4 (methods that are
 * lambdas), Table 6 (HotpotQA bridge; 2Wiki inference and compositional).
 */
export function paperFigure(cell: PaperCell): number | null {
  const method = paperName(cell.method);
  return method === undefined
    ? null
    : (paperTables().byCell.get(cellKey({ ...cell, method })) ?? null);
}

/** The paper's rows with the given fields; methods have our names. */
export const paperRows = ({ method, ...fields }: Partial<PaperCell>): PaperRow[] =>
  matching(
    paperTables().rows,
    method === undefined ? fields : { ...fields, method: paperName(method) },
  );

/** The mean of the paper's rows with the given fields; NaN without rows. */
export const paperMean = (fields: Partial<PaperCell>): number =>
  mean(paperRows(fields), ({ value }) => value) ?? NaN;

/** Joins a text for each backbone: `base 61.3 %, instruct 80.2 %`. */
export const byModel = (text: (model: string) => string): string =>
  INITIAL_MODELS.map((model) => `${model} ${text(model)}`).join(', ');

/** Counts the cells of Table 2 in which ParallelSearch is ahead: `13 of 14 cells`. */
export function countCellsAhead(
  cells: readonly { model: string; benchmark: string; against: string }[],
): string {
  const gaps = cells.flatMap(({ against, ...cell }) => {
    const [ours, theirs] = ['parallelsearch', against].map((method) =>
      paperFigure({ ...cell, subset: 'all', metric: 'em', method }),
    );
    return ours === null || theirs === null ? [] : [ours - theirs];
  });
  return `${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells`;
}

/** Adds the paper's difference or ratio (`paper`); null if it lacks a figure. */
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
