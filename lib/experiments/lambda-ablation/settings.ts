/**
 * Table 4: what the weights of the decomposition reward (lambda_d) and of the
 * search-count reward (lambda_s) do. The grid is the paper's, with a control that has
 * neither; the paper's own setting is that of the main comparison, whose runs are shared.
 */
import { rollup } from 'd3-array';
import type { Lambdas } from '../../methods/config.js';
import { rewardOptions } from '../../rewards/presets.js';
import { lambdaName, paperTables } from '../paper.js';
import { SEEDS, WARM_UPS, type PolicyRun } from '../runs.js';

const isSameSetting = (a: Lambdas, b: Lambdas): boolean =>
  a.lambdaD === b.lambdaD && a.lambdaS === b.lambdaS;

/** The setting that the paper recommends. */
const { lambdaD, lambdaS } = rewardOptions('paper');
export const PAPER: Lambdas = { lambdaD, lambdaS };

/**
 * Neither reward: right answers and the format alone, under ParallelSearch's prompt. What
 * the two do shows beside it.
 */
export const CONTROL: Lambdas = { lambdaD: 0, lambdaS: 0 };

/** One of the two rewards, as strong as in the paper, without the other. */
export const ALONE: readonly Lambdas[] = [
  { lambdaD: 0, lambdaS },
  { lambdaD, lambdaS: 0 },
];

/** Every setting of Table 4 once, in its order. */
export const lambdaGrid = (): Lambdas[] =>
  [...new Set(paperTables().rows.map(({ method }) => method))]
    .filter(isLambdaName)
    .map(lambdasOfMethod);

/**
 * Every setting that is trained here: those of Table 4, and one that the paper does not
 * have.
 */
export const lambdaSettings = (): Lambdas[] => [...lambdaGrid(), CONTROL];

/** The lambdas of a run: its own, or the paper's. */
export const lambdasOf = ({ lambdas }: PolicyRun): Lambdas => lambdas ?? PAPER;

/**
 * ParallelSearch from the instruct models with every setting and one seed; the paper's
 * own setting is the main comparison's.
 */
export const lambdaRuns = (): PolicyRun[] =>
  WARM_UPS.flatMap((warmUp) =>
    lambdaSettings().map((lambdas): PolicyRun => {
      const run = { method: 'parallelsearch', model: 'instruct', warmUp, seed: SEEDS[0] } as const;
      return isSameSetting(lambdas, PAPER) ? run : { ...run, lambdas };
    }),
  );

/** Name of a setting in results, such as `lambda_d=0.15,lambda_s=0.35`. */
export const lambdaMethod = (setting: Lambdas): string =>
  lambdaName(setting.lambdaD, setting.lambdaS);

/** `(0.15, 0.35)`, as the paper writes a setting. */
export const lambdaTitle = (setting: Lambdas): string => `(${setting.lambdaD}, ${setting.lambdaS})`;

const LAMBDA_NAME = /^lambda_d=([\d.]+),lambda_s=([\d.]+)$/;
const isLambdaName = (method: string): boolean => LAMBDA_NAME.test(method);

/**
 * The setting of a name.
 * @throws Error when it is none
 */
export function lambdasOfMethod(method: string): Lambdas {
  const found = LAMBDA_NAME.exec(method);
  if (found) return { lambdaD: Number(found[1]), lambdaS: Number(found[2]) };
  throw new Error(
    `Expected a setting such as lambda_d=0.15,lambda_s=0.35, but got ${JSON.stringify(method)}.`,
  );
}

/**
 * Which of the two rewards a setting has: `neither`, `one`, `both`, or both as in the
 * `paper`.
 */
export function rewardsOf(setting: Lambdas): string {
  if (isSameSetting(setting, PAPER)) return 'paper';
  return ['neither', 'one', 'both'][Math.sign(setting.lambdaD) + Math.sign(setting.lambdaS)];
}

/**
 * The two lines through the grid that cross at the paper's setting: the weight that is
 * varied, and the one that is not.
 */
const LINES = [
  ['lambda_d', 'lambda_s'],
  ['lambda_s', 'lambda_d'],
] as const;
type OnGrid = Record<(typeof LINES)[number][number], number>;

/**
 * The rows of settings on the two lines, first those of one, then those of the other:
 * with the `line` and the `weight` varied.
 */
export function onLines<T extends OnGrid>(
  rows: readonly T[],
): (T & { line: string; weight: string })[] {
  const paper: OnGrid = { lambda_d: lambdaD, lambda_s: lambdaS };
  return LINES.flatMap(([varied, fixed]) =>
    rows
      .filter((row) => row[fixed] === paper[fixed])
      .map((row) => ({
        ...row,
        line: `${varied} varied, ${fixed} = ${paper[fixed]}`,
        weight: String(row[varied]),
      })),
  );
}

/** Different settings whose rows of Table 4 are the same to the last digit. */
export function identicalSettings(): Lambdas[] {
  const figures = rollup(
    paperTables().rows,
    (rows) => JSON.stringify(rows.map(({ value }) => value)),
    ({ method }) => method,
  );
  const figuresOf = (setting: Lambdas): string => figures.get(lambdaMethod(setting))!;
  const grid = lambdaGrid();
  return grid.filter((setting) =>
    grid.some((other) => other !== setting && figuresOf(other) === figuresOf(setting)),
  );
}
