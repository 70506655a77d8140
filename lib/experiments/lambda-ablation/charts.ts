/** Charts of the report on the rewards' weights. */
import type { Lambdas } from '../../methods/config.js';
import { FAINT, isSameSetting, lambdaMethod, lambdasOfMethod, lambdaTitle, RECOMMENDED } from './settings.js';
import type { TidyRow } from '../../evaluation/table.js';
import {
  chartOf,
  SERIES_COLORS,
  SERIES_SHAPES,
  SMALL_WORLD,
  titled,
  type Chart,
  type VegaLiteSpec,
} from '../../report/chart.js';
import { curveTitle } from '../../report/charts.js';
import { aggregateCurves } from '../../report/curves.js';
import type { LambdaAblation } from './figures.js';
import { figureText, findRow, SUBSET_TITLES } from '../../report/select.js';
import { bandLayers, intervalLayers, type Series } from '../../report/series.js';

/** What the report compares of each setting. */
export type LambdaMetric = 'em' | 'decomposition_ratio' | 'coverage' | 'turns' | 'model_calls';
export const LAMBDA_METRICS: Readonly<Record<LambdaMetric, readonly [title: string, unit: string]>> = {
  em: ['Exact match', 'share of questions'],
  decomposition_ratio: ['Decomposed', 'share of questions'],
  coverage: ['Coverage', 'share of sub-questions'],
  turns: ['Search turns', 'mean per question'],
  model_calls: ['Model calls', 'mean per question'],
};
function titleOf(metric: string): readonly [title: string, unit: string] {
  if (metric in LAMBDA_METRICS) return LAMBDA_METRICS[metric as LambdaMetric];
  throw new Error(`Expected a metric of ${Object.keys(LAMBDA_METRICS).join(', ')}, but got ${metric}.`);
}

export const PARALLEL = { benchmark: 'all', subset: 'parallelizable' } as const;

/** The two lines through the grid that cross at the paper's setting. */
const LINES = [
  { varied: 'lambdaD', name: 'lambda_d', fixed: 'lambdaS', fixedName: 'lambda_s' },
  { varied: 'lambdaS', name: 'lambda_s', fixed: 'lambdaD', fixedName: 'lambda_d' },
] as const;
type Line = (typeof LINES)[number];
const LINE_TITLES = LINES.map((line) => lineTitle(line));

function lineTitle({ name, fixed, fixedName }: Line): string {
  return `${name} varied, ${fixedName} = ${lambdasOfMethod(RECOMMENDED)[fixed]}`;
}

/** Where a setting lies on each line that it is on. */
function placesOf(setting: Lambdas): { line: string; lambda: string }[] {
  const centre = lambdasOfMethod(RECOMMENDED);
  return LINES.filter(({ fixed }) => setting[fixed] === centre[fixed]).map((line) => ({
    ...{ line: lineTitle(line), lambda: String(setting[line.varied]) },
  }));
}

/** What the kinds of question look like in charts. */
function kindSeries(kinds: readonly string[]): Series {
  const sort = kinds.map((kind) => SUBSET_TITLES[kind]);
  const channel = { field: 'subset', type: 'nominal', title: 'Questions' };
  return {
    ...{ field: 'subset', sort },
    color: { ...channel, scale: { domain: sort, range: SERIES_COLORS } },
    shape: { ...channel, scale: { domain: sort, range: SERIES_SHAPES } },
  };
}

/** A panel for each of the two lines through the grid. */
function linePanels(values: readonly object[], spec: VegaLiteSpec): VegaLiteSpec {
  return { data: { values }, facet: { column: { field: 'line', sort: LINE_TITLES } }, spec };
}

/** A metric over lambda_d and over lambda_s, the other weight as in the paper, by kind of question. */
export function lambdaMetricChart({ figures, settings }: LambdaAblation, metric: string): Chart {
  const [title, unit] = titleOf(metric);
  const kinds = ['parallelizable', 'sequential', 'single_hop'];
  const rowOf = (setting: Lambdas, subset: string): TidyRow | undefined =>
    findRow(figures, { method: lambdaMethod(setting), benchmark: 'all', subset, metric });
  const values = settings.flatMap((setting) =>
    placesOf(setting).flatMap((place) =>
      kinds.flatMap((kind) => {
        const row = rowOf(setting, kind);
        const { value, low, high, n } = row ?? {};
        return row ? [{ ...place, subset: SUBSET_TITLES[kind], value, low, high, n }] : [];
      }),
    ),
  );
  const x = { field: 'lambda', type: 'ordinal', title: 'Weight that is varied', axis: { labelAngle: 0 } };
  const y = { type: 'quantitative', title: titled(title, unit), scale: { zero: true } };
  const spoken = settings.map(
    (setting) => `${lambdaTitle(setting)} ${figureText(rowOf(setting, 'parallelizable')?.value)}`,
  );
  return chartOf({
    title: `${title} by the weights of the rewards, with 95 % intervals`,
    subtitle: SMALL_WORLD,
    alt: `${title} over lambda_d and over lambda_s, by kind of question. On parallelizable questions, by (lambda_d, lambda_s): ${spoken.join(', ')}.`,
    spec: linePanels(values, {
      ...{ width: { step: 18 }, height: 200 },
      layer: intervalLayers(kindSeries(kinds), x, y),
    }),
  });
}

/** A setting as charts name it; the paper's own is marked. */
const settingTitle = (setting: Lambdas): string =>
  lambdaTitle(setting) + (lambdaMethod(setting) === RECOMMENDED ? ', the paper’s' : '');

/** Which of the two rewards settings have: what tells their points apart. */
const REWARD_KINDS = ['neither', 'one, hardly there', 'one', 'both', 'both, the paper’s'] as const;

function rewardKind(setting: Lambdas): (typeof REWARD_KINDS)[number] {
  if (lambdaMethod(setting) === RECOMMENDED) return 'both, the paper’s';
  if (FAINT.some((faint) => isSameSetting(faint, setting))) return 'one, hardly there';
  const count = [setting.lambdaD, setting.lambdaS].filter((weight) => weight > 0).length;
  return (['neither', 'one', 'both'] as const)[count];
}

/** Exact match against model calls on parallelizable questions, a point for each setting. */
export function tradeOffChart({ figures, settings }: LambdaAblation): Chart {
  const values = settings.map((setting) => {
    const cell = { ...PARALLEL, method: lambdaMethod(setting) };
    const [em, calls] = (['em', 'model_calls'] as const).map((metric) =>
      findRow(figures, { ...cell, metric })!,
    );
    return {
      ...{ setting: settingTitle(setting), rewards: rewardKind(setting) },
      ...{ em: em.value, emLow: em.low, emHigh: em.high },
      ...{ calls: calls.value, callsLow: calls.low, callsHigh: calls.high },
    };
  });
  const [x, y] = (['model_calls', 'em'] as const).map((metric) => {
    return { type: 'quantitative', title: titled(...LAMBDA_METRICS[metric]), scale: { zero: false } };
  });
  const domain = REWARD_KINDS.filter((kind) => values.some(({ rewards }) => rewards === kind));
  const channel = { field: 'rewards', type: 'nominal', title: 'Which of the two rewards' };
  const color = { ...channel, scale: { domain, range: SERIES_COLORS } };
  const shape = { ...channel, scale: { domain, range: SERIES_SHAPES } };
  const at = { x: { ...x, field: 'calls' }, y: { ...y, field: 'em' }, color };
  const spoken = values.map(
    ({ setting, em, calls }) => `${setting} ${figureText(em)} with ${figureText(calls, 2)} calls`,
  );
  return chartOf({
    title: 'Exact match against model calls, parallelizable questions, with 95 % intervals',
    subtitle: SMALL_WORLD,
    alt: `Exact match and model calls of each setting (lambda_d, lambda_s): ${spoken.join('; ')}.`,
    spec: {
      data: { values },
      ...{ width: 460, height: 280 },
      layer: [
        { mark: 'rule', encoding: { ...at, y: { ...y, field: 'emLow' }, y2: { field: 'emHigh' } } },
        { mark: 'rule', encoding: { ...at, x: { ...x, field: 'callsLow' }, x2: { field: 'callsHigh' } } },
        { mark: { type: 'point', filled: true, size: 80, opacity: 1 }, encoding: { ...at, shape } },
      ],
    },
  });
}

/** A training metric over the steps, a line for each weight: mean and range of the seeds. */
export function lambdaDynamicsChart(
  { curves, settings }: Pick<LambdaAblation, 'curves' | 'settings'>,
  metric: string,
): Chart {
  const bands = aggregateCurves(curves, metric);
  const own = (setting: Lambdas) => bands.filter(({ method }) => method === lambdaMethod(setting));
  const values = settings.flatMap((setting) =>
    placesOf(setting).flatMap((place) =>
      own(setting).map(({ step, mean, low, high }) => ({ ...place, step, value: mean, low, high })),
    ),
  );
  const sort = [...new Set(values.map(({ lambda }) => lambda))].sort((a, b) => Number(a) - Number(b));
  const range = ['#8a8a8a', '#2b86c5', '#d95f02', '#8e5bb5'].slice(0, sort.length);
  const channel = { field: 'lambda', type: 'nominal', title: 'Weight that is varied' };
  const color = { ...channel, scale: { domain: sort, range } };
  const [title, unit] = curveTitle(metric);
  const x = { field: 'step', type: 'quantitative', title: titled('Training', 'GRPO steps') };
  const y = { type: 'quantitative', title: titled(title, unit), scale: { zero: true } };
  const spoken = settings.map((setting) => {
    const line = own(setting);
    return `${lambdaTitle(setting)} from ${figureText(line[0]?.mean)} to ${figureText(line.at(-1)?.mean)}`;
  });
  return chartOf({
    title: `${title} over training, by the weights of the rewards: mean and range of the seeds`,
    subtitle: SMALL_WORLD,
    alt: `${title} over training steps, by (lambda_d, lambda_s): ${spoken.join('; ')}.`,
    spec: linePanels(values, {
      ...{ width: 300, height: 190 },
      layer: bandLayers({ field: 'lambda', sort, color, shape: color }, x, y),
    }),
  });
}
