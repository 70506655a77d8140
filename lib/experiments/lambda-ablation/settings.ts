/** The settings of Table 4, and their names in results. */
import type { Lambdas } from '../../methods/config.js';
import { rewardOptions } from '../../rewards/presets.js';
import { loadPaperTables, type PaperTables } from '../paper.js';

/** Columns of Table 4 for a metric of ours, and what to multiply them by; its "turns" are model calls. */
const COLUMNS: Readonly<Record<string, readonly [column: string, factor: number]>> = {
  em: ['em', 1],
  decomposition_ratio: ['decomposition_ratio_percent', 0.01],
  model_calls: ['turns', 1],
};
const DATA_SETS: Readonly<Record<string, string>> = {
  hotpotqa: 'HotpotQA-par',
  '2wikimultihopqa': '2Wiki-par',
};

/** Whether two settings are the same. */
export const isSameSetting = (a: Lambdas, b: Lambdas): boolean =>
  a.lambdaD === b.lambdaD && a.lambdaS === b.lambdaS;

/** Every setting of Table 4 once, in its order. */
export function lambdaGrid(paper: PaperTables = loadPaperTables()): Lambdas[] {
  const rows = paper.table4_lambda_ablation.rows.map(({ lambda_d, lambda_s }) => ({
    lambdaD: lambda_d,
    lambdaS: lambda_s,
  }));
  return rows.filter((row, i) => rows.findIndex((other) => isSameSetting(other, row)) === i);
}

/** Neither reward: right answers and the format alone, under ParallelSearch's prompt. What the two do shows beside it. */
export const CONTROL: Lambdas = { lambdaD: 0, lambdaS: 0 };

/** One reward alone, at a hundredth of a right answer: they show whether the size of a weight matters. */
export const FAINT: readonly Lambdas[] = [
  { lambdaD: 0, lambdaS: 0.01 },
  { lambdaD: 0.01, lambdaS: 0 },
];

/** Every setting that is trained here: those of Table 4, and three that the paper does not have. */
export const lambdaSettings = (): Lambdas[] => [...lambdaGrid(), CONTROL, ...FAINT];

/** Name of a setting in results, such as `lambda_d=0.15,lambda_s=0.35`. */
export const lambdaMethod = ({ lambdaD, lambdaS }: Lambdas): string =>
  `lambda_d=${lambdaD},lambda_s=${lambdaS}`;

/** The setting that the paper recommends, as results name it. */
export const RECOMMENDED = lambdaMethod(rewardOptions('paper'));

/** `(0.15, 0.35)`, as the paper writes a setting. */
export const lambdaTitle = ({ lambdaD, lambdaS }: Lambdas): string => `(${lambdaD}, ${lambdaS})`;

/** Different settings whose rows of Table 4 are the same to the last digit. */
export function identicalSettings(paper: PaperTables = loadPaperTables()): Lambdas[] {
  const figuresOf = (setting: Lambdas): string => {
    const row = rowOf(paper, setting);
    return JSON.stringify(Object.values(DATA_SETS).map((name) => row?.[name]));
  };
  const grid = lambdaGrid(paper);
  return grid.filter((setting) =>
    grid.some((other) => !isSameSetting(other, setting) && figuresOf(other) === figuresOf(setting)),
  );
}

const rowOf = (
  { table4_lambda_ablation: { rows } }: PaperTables,
  setting: Lambdas,
): Record<string, unknown> | undefined =>
  rows.find(({ lambda_d, lambda_s }) => isSameSetting(setting, { lambdaD: lambda_d, lambdaS: lambda_s }));

/**
 * The setting of a name.
 * @throws Error when it is none
 */
export function lambdasOfMethod(method: string): Lambdas {
  const found = /^lambda_d=([\d.]+),lambda_s=([\d.]+)$/.exec(method);
  if (!found)
    throw new Error(
      `Expected a setting such as lambda_d=0.15,lambda_s=0.35, but got ${JSON.stringify(method)}.`,
    );
  return { lambdaD: Number(found[1]), lambdaS: Number(found[2]) };
}

/** The figure of Table 4 (parallelizable questions of two data sets, instruct backbone), or null where it prints none. */
export function paperLambdaFigure(
  paper: PaperTables,
  cell: Lambdas & { benchmark: string; subset: string; metric: string },
): number | null {
  const values = rowOf(paper, cell)?.[DATA_SETS[cell.benchmark]] as readonly number[] | undefined;
  const column = COLUMNS[cell.metric];
  if (!values || !column || cell.subset !== 'parallelizable') return null;
  const { columns } = paper.table4_lambda_ablation;
  return Number((values[columns.indexOf(column[0])] * column[1]).toFixed(6));
}
