/** The report on the weights of the decomposition reward (lambda_d) and of the search-count reward (lambda_s): Table 4. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Lambdas } from '../config.js';
import {
  CONTROL,
  identicalSettings,
  lambdaMethod,
  lambdaSettings,
  lambdasOfMethod,
  lambdaTitle,
  paperLambdaFigure,
  RECOMMENDED,
} from '../evaluation/lambdas.js';
import { readEvaluation, type CurvePoint } from '../evaluation/load.js';
import { mainMeasure } from '../evaluation/measures.js';
import { loadPaperTables } from '../evaluation/paper.js';
import {
  summariseResults,
  type MethodPair,
  type SummaryOptions,
  type TidyResults,
  type TidyRow,
} from '../evaluation/table.js';
import {
  chartOf,
  SERIES_COLORS,
  SERIES_SHAPES,
  SMALL_WORLD,
  titled,
  type Chart,
  type VegaLiteSpec,
} from './chart.js';
import { curveTitle } from './charts.js';
import { aggregateCurves } from './curves.js';
import type { ReportResults } from './display.js';
import { tableOf, type Table } from './frame.js';
import {
  benchmarkTitle,
  figureText,
  findContrast,
  findRow,
  intervalText,
  pointsIntervalText,
  SUBSET_TITLES,
} from './select.js';
import { bandLayers, intervalLayers, type Series } from './series.js';
import type { Claim } from './tables.js';
import { trainingRows } from './training-rows.js';

export interface LambdaAblation extends ReportResults {
  figures: TidyResults;
  curves: CurvePoint[];
  /** The settings that were evaluated, in the paper's order. */
  settings: Lambdas[];
}

type Metric = 'em' | 'decomposition_ratio' | 'coverage' | 'turns' | 'model_calls';
const METRICS: Readonly<Record<Metric, readonly [title: string, unit: string]>> = {
  em: ['Exact match', 'share of questions'],
  decomposition_ratio: ['Decomposed', 'share of questions'],
  coverage: ['Coverage', 'share of sub-questions'],
  turns: ['Search turns', 'mean per question'],
  model_calls: ['Model calls', 'mean per question'],
};
function titleOf(metric: string): readonly [title: string, unit: string] {
  if (metric in METRICS) return METRICS[metric as Metric];
  throw new Error(`Expected a metric of ${Object.keys(METRICS).join(', ')}, but got ${metric}.`);
}

const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];
const DYNAMICS = ['turns', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'];

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

/** Reads what the experiment wrote and compares its settings, with intervals. */
export function loadLambdaAblation(
  folder: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): LambdaAblation {
  if (!existsSync(path.join(folder, 'results.jsonl'))) {
    throw new Error(
      `Expected results in ${folder}, but there are none. Run "npx parallelsearch experiment lambda-ablation" first.`,
    );
  }
  const { questions, curves, provenance } = readEvaluation(folder);
  const methods = new Set(questions.map(({ method }) => method));
  const settings = lambdaSettings().filter((setting) => methods.has(lambdaMethod(setting)));
  const figures = summariseResults(questions, {
    ...{
      measures: (Object.keys(METRICS) as Metric[]).map(mainMeasure),
      pairs: pairsOf(settings),
      provenance,
    },
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
    ...options,
  });
  figures.rows = figures.rows.map(withPaper);
  figures.provenance.headlines = headlines(figures);
  const rows = [...figures.rows, ...trainingRows(curves, DYNAMICS)].map(withLambdas);
  const contrasts = figures.contrasts.map(withLambdas);
  const summary = `${questions.length.toLocaleString('en')} answers after training with ${settings.length} settings of the two weights.`;
  const tidy = { rows, contrasts, provenance: figures.provenance };
  return { kind: 'results', summary, figures, curves, settings, tidy };
}

/** The paper's setting beside every other, and the two whose rows in the paper are the same beside each other. */
function pairsOf(settings: readonly Lambdas[]): MethodPair[] {
  const names = settings.map(lambdaMethod);
  const others = names.filter((name) => name !== RECOMMENDED);
  const twins = identicalSettings().map(lambdaMethod);
  return [
    ...others.map((other): MethodPair => [RECOMMENDED, other]),
    ...twins.slice(1).map((twin): MethodPair => [twins[0], twin]),
  ];
}

const withPaper = (row: TidyRow): TidyRow => ({
  ...row,
  paper: paperLambdaFigure(loadPaperTables(), { ...row, ...lambdasOfMethod(row.method) }),
});

function withLambdas<T extends { method: string }>(item: T): T & { lambda_d: number; lambda_s: number } {
  const { lambdaD, lambdaS } = lambdasOfMethod(item.method);
  return { ...item, lambda_d: lambdaD, lambda_s: lambdaS };
}

const PARALLEL = { benchmark: 'all', subset: 'parallelizable' } as const;

function headlines(figures: TidyResults): Claim[] {
  const { lambdaD } = lambdasOfMethod(RECOMMENDED);
  const savedBy = (who: string, without: Lambdas): Claim[] => {
    const sides = { method: RECOMMENDED, against: lambdaMethod(without) };
    const calls = findContrast(figures, { ...PARALLEL, ...sides, metric: 'model_calls', kind: 'difference' });
    const claim = `${who} model calls on parallelizable questions`;
    return calls ? [{ claim, found: `${intervalText(calls, 2)} calls`, holds: calls.high < 0 }] : [];
  };
  return [
    ...savedBy('The two rewards together save', CONTROL),
    ...savedBy('The search-count reward beside the other saves', { lambdaD, lambdaS: 0 }),
  ];
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

/** Exact match against model calls on parallelizable questions, a point for each setting. */
export function tradeOffChart({ figures, settings }: LambdaAblation): Chart {
  const values = settings.map((setting) => {
    const cell = { ...PARALLEL, method: lambdaMethod(setting) };
    const [em, calls] = (['em', 'model_calls'] as const).map((metric) =>
      findRow(figures, { ...cell, metric })!,
    );
    return {
      ...{ setting: settingTitle(setting), em: em.value, emLow: em.low, emHigh: em.high },
      ...{ calls: calls.value, callsLow: calls.low, callsHigh: calls.high },
    };
  });
  const [x, y] = (['model_calls', 'em'] as const).map((metric) => {
    return { type: 'quantitative', title: titled(...METRICS[metric]), scale: { zero: false } };
  });
  const domain = settings.map(settingTitle);
  const channel = { field: 'setting', type: 'nominal', title: '(lambda_d, lambda_s)' };
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

/** Table 4: each setting on the parallelizable questions of a data set, the paper's figures beside ours. */
export function lambdaTable({ figures, settings }: LambdaAblation, benchmark: string): Table {
  const printed: readonly Metric[] = ['em', 'decomposition_ratio', 'model_calls'];
  const records = settings.map((setting) => {
    const record: Record<string, string> = { '(lambda_d, lambda_s)': lambdaTitle(setting) };
    for (const metric of Object.keys(METRICS) as Metric[]) {
      const cell = { method: lambdaMethod(setting), benchmark, subset: 'parallelizable', metric };
      const row = findRow(figures, cell);
      const decimals = ['turns', 'model_calls'].includes(metric) ? 2 : 3;
      if (benchmark !== 'all' && printed.includes(metric))
        record[`${METRICS[metric][0]} · paper`] = figureText(row?.paper, decimals);
      record[`${METRICS[metric][0]} · here [95 %]`] = intervalText(row, decimals);
    }
    return record;
  });
  return tableOf(
    `Small world. The paper’s Table 4: parallelizable questions, ${benchmarkTitle(benchmark)}, paper and here.`,
    records,
  );
}

/** One setting minus others: exact match and decomposition in points, and model calls. */
function differenceRows(
  figures: TidyResults,
  method: string,
  others: readonly { against: string; subset: string }[],
): Record<string, string>[] {
  return others.map(({ against, subset }) => {
    const cell = { method, against, benchmark: 'all', subset, kind: 'difference' } as const;
    const found = (metric: Metric) => findContrast(figures, { ...cell, metric });
    return {
      ...{ Questions: SUBSET_TITLES[subset], Setting: lambdaTitle(lambdasOfMethod(method)) },
      minus: lambdaTitle(lambdasOfMethod(against)),
      'points of · exact match': pointsIntervalText(found('em')),
      'points of · decomposed': pointsIntervalText(found('decomposition_ratio')),
      'points of · coverage': pointsIntervalText(found('coverage')),
      'Model calls': intervalText(found('model_calls'), 2),
    };
  });
}

/** The paper's setting minus every other on one kind of question. */
export function lambdaContrastTable({ figures, settings }: LambdaAblation, subset = 'parallelizable'): Table {
  const others = settings.map(lambdaMethod).filter((method) => method !== RECOMMENDED);
  const rows = differenceRows(
    figures,
    RECOMMENDED,
    others.map((against) => ({ against, subset })),
  );
  return tableOf('Small world. The paper’s setting minus every other [95 %].', rows);
}

/** What each of the two rewards does: neither, each alone, and both, by kind of question. */
export function eachRewardTable({ figures }: LambdaAblation): Table {
  const { lambdaD, lambdaS } = lambdasOfMethod(RECOMMENDED);
  const shown = [CONTROL, { lambdaD: 0, lambdaS }, { lambdaD, lambdaS: 0 }, { lambdaD, lambdaS }];
  const records = SUBSETS.flatMap((subset) =>
    shown.map((setting) => {
      const record: Record<string, string> = {
        ...{ Questions: SUBSET_TITLES[subset], '(lambda_d, lambda_s)': lambdaTitle(setting) },
      };
      for (const metric of Object.keys(METRICS) as Metric[]) {
        const row = findRow(figures, { method: lambdaMethod(setting), benchmark: 'all', subset, metric });
        record[`${METRICS[metric][0]} [95 %]`] = intervalText(row);
      }
      return record;
    }),
  );
  return tableOf('Small world. Neither of the two rewards, each alone, and both as in the paper.', records);
}

/** Two settings that the paper gives the same figures, trained by themselves here. */
export function identicalRowsTable({ figures }: LambdaAblation): Table {
  const [one, ...others] = identicalSettings().map(lambdaMethod);
  const pairs = ['parallelizable', 'sequential'].flatMap((subset) =>
    others.map((against) => ({ against, subset })),
  );
  return tableOf(
    'Small world. Settings whose rows in Table 4 are the same to the last digit: their difference here [95 %].',
    differenceRows(figures, one, pairs),
  );
}
