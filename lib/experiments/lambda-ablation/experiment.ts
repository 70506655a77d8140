/**
 * The weights of the two rewards (Table 4): every setting is trained, answers the
 * questions, and is compared.
 */
import { group, max, mean, min } from 'd3-array';
import { mainMeasure, type Metric } from '../../evaluation/metrics.js';
import type { MethodPair, SummaryOptions } from '../../evaluation/table.js';
import type { Lambdas } from '../../methods/config.js';
import { trainingRows, type CurvePoint, type TrainingRow } from '../../report/curves.js';
import { answersOf, count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { reportOf, summarise, told, type Predicted } from '../report.js';
import { ofWholeWarmUps } from '../runs.js';
import { trainingOf } from '../train-runs.js';
import { lambdaClaims } from './claims.js';
import {
  ALONE,
  CONTROL,
  PAPER,
  identicalSettings,
  lambdaMethod,
  lambdaRuns,
  lambdaSettings,
  lambdaTitle,
  lambdasOf,
  lambdasOfMethod,
  onLines,
  rewardsOf,
} from './settings.js';

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
