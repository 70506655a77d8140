/**
 * Table 4: what the weights of the decomposition reward (lambda_d) and of the
 * search-count reward (lambda_s) do. The grid is the paper's, with a control that has
 * neither; the paper's own setting is that of the main comparison, whose runs are shared.
 */
import { greatest, group, max, mean, min, rollup } from 'd3-array';
import { mainMeasure, type Metric } from '../evaluation/metrics.js';
import type { MethodPair, SummaryOptions } from '../evaluation/table.js';
import type { Lambdas } from '../methods/config.js';
import { type CurvePoint, type TrainingRow, trainingRows } from '../report/curves.js';
import { figureText } from '../report/text.js';
import { rewardOptions } from '../rewards/presets.js';
import { listed } from '../text/listed.js';
import { answersOf, count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { lambdaName, paperMean, paperTables } from './paper.js';
import { type Predicted, reportOf, summarise, told } from './report.js';
import { type PolicyRun } from '../methods/checkpoints.js';
import { ofWholeWarmUps, SEEDS, WARM_UPS } from './runs.js';
import { trainingOf } from './train-runs.js';
import { type PaperClaim, partsAhead, partsWhere } from './verdicts.js';

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

const ON_PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

/** The mean of Table 4's two data sets for a setting. */
const table4Mean = (setting: Lambdas, metric: string): number =>
  paperMean({ method: lambdaMethod(setting), metric });

/** Table 4: the setting with the best mean EM, and settings whose rows are the same. */
function bestText(): string {
  const best = greatest(lambdaGrid(), (setting) => table4Mean(setting, 'em'))!;
  const twins = identicalSettings().map(lambdaTitle);
  const note = twins.length > 0 ? `; the rows ${listed(twins)} are identical` : '';
  return `best mean of Table 4: ${lambdaTitle(best)} with ${figureText(table4Mean(best, 'em'))}${note}`;
}

export const lambdaClaims: readonly PaperClaim[] = [
  {
    id: 'lambda-best',
    claim: 'Weights of 0.15 (decomposition) and 0.35 (search count) answer most questions',
    paper: 'Table 4',
    tables: bestText,
    evidence: {
      cell: 'claims',
      rule: 'Difference in exact match on parallelizable questions to every other setting of Table 4 above 0',
      parts: (numbers) =>
        lambdaGrid().flatMap((setting) => {
          const sides = { method: lambdaMethod(PAPER), against: lambdaMethod(setting) };
          return partsAhead(numbers, `over ${lambdaTitle(setting)}`, { ...sides, ...ON_PARALLEL });
        }),
    },
  },
  {
    id: 'lambda-calls',
    claim: 'The search-count reward saves calls',
    paper: 'Table 4',
    tables: () => {
      const turns = (lambdaS: number): number => table4Mean({ ...PAPER, lambdaS }, 'model_calls');
      return `${turns(PAPER.lambdaS).toFixed(2)} calls with it, ${turns(0).toFixed(2)} without (means of Table 4)`;
    },
    evidence: {
      cell: 'claims',
      rule: 'Difference in model calls on parallelizable questions to the setting without it, beside the other reward and alone, below 0',
      parts: ({ contrasts }) =>
        [
          { of: 'beside the other', lambdaD: PAPER.lambdaD },
          { of: 'alone', lambdaD: 0 },
        ].flatMap(({ of, lambdaD }) => {
          const [method, against] = [PAPER.lambdaS, 0].map((lambdaS) =>
            lambdaMethod({ lambdaD, lambdaS }),
          );
          const cell = {
            method,
            against,
            ...ON_PARALLEL,
            metric: 'model_calls',
            kind: 'difference',
          };
          return partsWhere(contrasts, cell, { of, unit: 'number', side: 'below', threshold: 0 });
        }),
    },
  },
];

/**
 * Share of the parallelizable training questions that is decomposed once a policy has
 * learned to.
 */
const LEARNED = 0.9;
/** Steps that are averaged: one step has few parallelizable questions. */
const WINDOW = 3;

/** Values of a metric in the order of steps; steps without one are left out. */
function valuesOf(curve: readonly CurvePoint[], metric: string): number[] {
  const points = curve.filter((point) => typeof point[metric] === 'number');
  return points.toSorted((a, b) => a.step - b.step).map((point) => point[metric] as number);
}

/**
 * The number of steps after which {@link LEARNED} are decomposed, mean of a window; all
 * steps where that never happens.
 */
function stepsToLearn(curve: readonly CurvePoint[]): number {
  const shares = valuesOf(curve, 'decomposition_ratio/parallelizable');
  const means = shares.slice(WINDOW - 1).map((_, i) => mean(shares.slice(i, i + WINDOW))!);
  const first = means.findIndex((share) => share >= LEARNED);
  return first < 0 ? shares.length : first + WINDOW;
}

/** Last steps that are averaged where a training has ended. */
const AT_END = 20;
const decomposedAtEnd = (curve: readonly CurvePoint[]): number =>
  mean(valuesOf(curve, 'decomposition_ratio/parallelizable').slice(-AT_END))!;

const meanOf = (metric: string) => (curve: readonly CurvePoint[]) => mean(valuesOf(curve, metric))!;

/** What is measured of a seed's training; each in one number. */
const MEASURES = [
  { metric: 'steps_to_decompose', subset: 'parallelizable', of: stepsToLearn },
  { metric: 'decomposed_at_end', subset: 'parallelizable', of: decomposedAtEnd },
  { metric: 'turns_over_training', subset: 'all', of: meanOf('turns') },
  { metric: 'outcome_over_training', subset: 'all', of: meanOf('rewards/outcome') },
];

/**
 * A row for each setting and measure: mean over the seeds, with the lowest and the
 * highest.
 */
export function learningRows(curves: readonly CurvePoint[]): Omit<TrainingRow, 'step'>[] {
  return [...group(curves, ({ method }) => method)].flatMap(([method, own]) => {
    const seeds = [...group(own, ({ warmUp, seed }) => `${warmUp}/${seed}`).values()];
    return MEASURES.map(({ metric, subset, of }) => {
      const values = seeds.map(of);
      return {
        method,
        model: own[0].model,
        benchmark: 'training' as const,
        subset,
        metric,
        value: mean(values)!,
        low: min(values)!,
        high: max(values)!,
        seeds: seeds.length,
        band: 'range of seeds' as const,
      };
    });
  });
}

export const lambdaAblation: Experiment = {
  name: 'lambda-ablation',
  title: 'training with other weights of the decomposition and the search-count reward',
  computation: answersOf(() => ofWholeWarmUps(lambdaRuns()), { prepare: trainingOf(lambdaRuns) }),
  claims: lambdaClaims,
};

const METRICS: readonly Metric[] = [
  'em',
  'decomposition_ratio',
  'coverage',
  'turns',
  'model_calls',
];
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];
const DYNAMICS = ['turns', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'];

/**
 * The paper's setting beside every other, the two whose rows in the paper are the same
 * beside each other, and each reward alone beside none.
 */
function pairs(): MethodPair[] {
  const named = (one: Lambdas, against: Lambdas): MethodPair => [
    lambdaMethod(one),
    lambdaMethod(against),
  ];
  const [twin, ...twins] = identicalSettings();
  return [
    ...lambdaSettings()
      .map((other) => named(PAPER, other))
      .filter(([paper, other]) => paper !== other),
    ...twins.map((other) => named(twin, other)),
    ...ALONE.map((alone) => named(alone, CONTROL)),
  ];
}

function withLambdas<T extends { method: string }>(
  item: T,
): T & { lambda_d: number; lambda_s: number } {
  const { lambdaD, lambdaS } = lambdasOfMethod(item.method);
  return { ...item, lambda_d: lambdaD, lambda_s: lambdaS };
}

/** Rows with what tables and charts of this report call a setting. */
const withTitles = <T extends { method: string; against?: string }>(rows: readonly T[]) =>
  rows.map((row) => {
    const setting = lambdasOfMethod(row.method);
    const against = row.against && { against_setting: lambdaTitle(lambdasOfMethod(row.against)) };
    return { ...row, setting: lambdaTitle(setting), ...against, rewards: rewardsOf(setting) };
  });

const ON_ALL = { benchmark: 'all', subset: 'parallelizable' };
/** What the two rewards were to save. */
const PREDICTED: readonly Predicted[] = [
  { who: 'The two rewards together save', setting: PAPER, against: CONTROL },
  {
    who: 'The search-count reward alone saves',
    setting: { ...PAPER, lambdaD: 0 },
    against: CONTROL,
  },
  {
    who: 'The search-count reward beside the other saves',
    setting: PAPER,
    against: { ...PAPER, lambdaS: 0 },
  },
].map(({ who, setting, against }) => ({
  prediction: `${who} model calls on parallelizable questions`,
  because: {
    where: `of them ${lambdaTitle(against)} decomposes`,
    figure: { ...ON_ALL, method: lambdaMethod(against), metric: 'decomposition_ratio' },
  },
  figure: {
    ...ON_ALL,
    method: lambdaMethod(setting),
    against: lambdaMethod(against),
    metric: 'model_calls',
    kind: 'difference',
  },
  holds: ({ high }) => high < 0,
}));

/**
 * Reads the answers of every setting and computes their figures with intervals. In
 * `rows` and `contrasts`, `setting` and `against_setting` are as the paper writes them,
 * and `rewards` says which a setting has.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadLambdaAblation(folder?: string, options: SummaryOptions = {}) {
  const read = await loadAnswers(lambdaAblation, folder, (run) => lambdaMethod(lambdasOf(run)));
  const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
    BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset);
  const figures = summarise(
    read,
    { measures: METRICS.map(mainMeasure), pairs: pairs(), selects },
    options,
  );
  const rows = figures.rows.map(withLambdas);
  const contrasts = figures.contrasts.map(withLambdas);
  const training = trainingRows(read.curves, DYNAMICS).map(withLambdas);
  const learning = learningRows(read.curves).map(withLambdas);
  const beside = {
    method: lambdaMethod(PAPER),
    against: lambdaMethod(CONTROL),
    kind: 'difference',
  };
  const [calls, em] = ['model_calls', 'em'].map((metric) =>
    told(contrasts, { ...beside, ...ON_ALL, metric }),
  );
  const stepsOf = (setting: Lambdas): string =>
    told(learning, { method: lambdaMethod(setting), metric: 'steps_to_decompose' }).text;
  return reportOf({
    finding:
      `Both rewards in place of neither change what a parallelizable question takes by ${calls.text} model calls, and exact match there by ${em.text}. ` +
      `Nine in ten are decomposed after ${stepsOf(PAPER)} GRPO steps with both and ${stepsOf(CONTROL)} with neither (mean and range of the initial models; all steps where it never happens).`,
    summary: `${count(read.answers)} answers after training with ${lambdaSettings().length} settings of the two weights.`,
    tidy: { ...figures, rows, contrasts },
    training: [...training, ...learning],
    predicted: PREDICTED,
    rows: withTitles(rows),
    contrasts: withTitles(contrasts),
    frames: {
      // Settings on the two lines through the grid that cross at the paper's: `line`, and
      // the `weight` varied.
      lines: onLines(rows),
      // Training curves on the same two lines.
      training: onLines(training),
      // How soon each setting learns, and what its training costs.
      learning: withTitles(learning),
    },
  });
}
export type LambdaAblation = Awaited<ReturnType<typeof loadLambdaAblation>>;
