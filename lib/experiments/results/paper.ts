/** Reads the paper's figures from `data/paper/tables.json` as tidy rows. */
import { readFileSync } from 'node:fs';
import { mean } from 'd3-array';
import { matching } from '../../evaluation/figures.js';
import type { PaperCell, TidyContrast } from '../../evaluation/table.js';
import { packagePath } from '../../io/paths.js';
import type { Lambdas } from '../../training/presets.js';
import { METHODS } from '../../training/methods.js';
import { INITIAL_MODELS } from '../../training/models.js';

/** A figure of the paper. `method` is the paper's name, or the lambdas in Table 4. */
type PaperRow = PaperCell & { value: number };

/** The method name of reward weights, such as `lambda_d=0.15,lambda_s=0.35`. */
export const lambdaName = ({ lambdaD, lambdaS }: Lambdas): string =>
  `lambda_d=${lambdaD},lambda_s=${lambdaS}`;

/** A printed row of a table about one question type. */
type SubsetRow = Pick<PaperRow, 'method' | 'model' | 'benchmark' | 'subset'>;

function readPaper() {
  const file = packagePath('data', 'paper', 'tables.json');
  const { table2, table3, table4, table5, table6 } = JSON.parse(readFileSync(file, 'utf8')) as {
    table2: { method: string; model: string; em: Record<string, number> }[];
    table5: { benchmark: string; subset: string; questions: number }[];
  } & Record<'table3' | 'table4' | 'table6', SubsetRow[]>;
  const rows: PaperRow[] = [
    ...table2.flatMap(({ em, ...names }) =>
      Object.entries(em).map(([benchmark, value]) => {
        return { ...names, benchmark, subset: 'all', metric: 'em', value };
      }),
    ),
    ...[...table3, ...table6, ...table4].flatMap(
      ({ method, model, benchmark, subset, ...figures }) =>
        Object.entries(figures as Record<string, number>).map(([metric, value]) => {
          return { method, model, benchmark, subset, metric, value };
        }),
    ),
  ];
  return { rows, sizes: table5, byCell: new Map(rows.map((row) => [cellKey(row), row.value])) };
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
