/** The charts of the main report, as Vega-Lite specifications over tidy rows. */
import type { Results } from '../evaluation/load.js';
import type { Metric } from '../evaluation/metrics.js';
import type { TidyRow } from '../evaluation/table.js';
import { chartOf, SMALL_WORLD, titled, type Chart, type VegaLiteSpec } from './chart.js';
import { aggregateCurves, type CurveBand } from './curves.js';
import {
  benchmarksOf,
  benchmarkTitle,
  figureText,
  findContrast,
  methodsOf,
  methodTitle,
  rowsOf,
  modelsOf,
  SUBSET_TITLES,
} from './select.js';
import { bandLayers, intervalLayers, methodSeries, MODEL_SORT, modelTitle } from './series.js';
import { paperGap } from '../experiments/main-results/tables.js';

/** Rows as the values of a chart, with readable names. */
export function valuesOf(rows: readonly TidyRow[]): Record<string, string | number>[] {
  return rows.map(({ method, model, benchmark, subset, metric, value, low, high, n }) => ({
    method: methodTitle(method),
    model: modelTitle(model),
    benchmark: benchmarkTitle(benchmark),
    subset: SUBSET_TITLES[subset] ?? subset,
    ...{ metric, value, low, high, n },
  }));
}

/** Exact match by benchmark and method with intervals, one panel for each model. */
export function emChart({ tidy }: Results): Chart {
  const methods = methodsOf(tidy);
  const benchmarks = [...benchmarksOf(tidy), 'average'];
  const rows = benchmarks.flatMap((benchmark) => rowsOf(tidy, { benchmark, subset: 'all', metric: 'em' }));
  const x = {
    field: 'benchmark',
    type: 'nominal',
    sort: benchmarks.map(benchmarkTitle),
    title: 'Benchmark (questions in its style)',
    axis: { labelAngle: 0 },
  };
  const y = {
    type: 'quantitative',
    title: titled('Exact match', 'share of questions'),
    scale: { domain: [0, 1] },
  };
  const averages = rowsOf(tidy, { benchmark: 'average', subset: 'all', metric: 'em' });
  return chartOf({
    subtitle: SMALL_WORLD,
    title: 'Exact match by benchmark, with 95 % intervals',
    alt: `Exact match of each method on each benchmark. Averages: ${spoken(averages)}.`,
    spec: {
      data: { values: valuesOf(rows) },
      facet: {
        row: {
          field: 'model',
          sort: MODEL_SORT,
          header: { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 },
        },
      },
      spec: { width: { step: 17 }, height: 190, layer: intervalLayers(methodSeries(methods), x, y) },
    },
  });
}

/** Each figure in words: `Search-R1 0.512 (base)`. */
function spoken(rows: readonly TidyRow[]): string {
  return rows.map((row) => `${methodTitle(row.method)} ${figureText(row.value)} (${row.model})`).join(', ');
}

const CALL_TITLES: Partial<Record<Metric, string>> = { model_calls: 'Model calls', turns: 'Search turns' };

/** Model calls or search turns by kind of question and method, one panel for each model. */
export function callsChart({ tidy }: Results, metric: 'model_calls' | 'turns' = 'model_calls'): Chart {
  const subsets = Object.keys(SUBSET_TITLES).filter((subset) => !['all', 'parallelizable'].includes(subset));
  const methods = methodsOf(tidy).filter((method) => method !== 'r1');
  const rows = rowsOf(tidy, { benchmark: 'all', metric }).filter(
    (r) => subsets.includes(r.subset) && r.method !== 'r1',
  );
  const name = CALL_TITLES[metric]!;
  const x = {
    field: 'subset',
    type: 'nominal',
    sort: subsets.map((s) => SUBSET_TITLES[s]),
    title: 'Kind of question (entities compared)',
    axis: { labelAngle: -25 },
  };
  const y = { type: 'quantitative', title: titled(name, 'mean per question'), scale: { zero: true } };
  const parallel = rowsOf(tidy, { benchmark: 'all', subset: 'parallelizable', metric }).filter(
    (r) => r.method !== 'r1',
  );
  return chartOf({
    subtitle: SMALL_WORLD,
    title: `${name} by kind of question, with 95 % intervals`,
    alt: `${name} per question by kind of question and method. On all parallelizable questions: ${spoken(parallel)}.`,
    spec: {
      data: { values: valuesOf(rows) },
      facet: { column: { field: 'model', sort: MODEL_SORT } },
      spec: { width: { step: 17 }, height: 220, layer: intervalLayers(methodSeries(methods), x, y) },
    },
  });
}

/** By how much ParallelSearch is ahead of Search-R1 on each benchmark, in the paper and here. */
export function gapChart({ tidy }: Results): Chart {
  const benchmarks = [...benchmarksOf(tidy), 'average'];
  const cells = modelsOf(tidy).flatMap((model) => benchmarks.map((benchmark) => ({ model, benchmark })));
  const pair = {
    method: 'parallelsearch',
    against: 'search-r1',
    subset: 'all',
    metric: 'em',
    kind: 'difference',
  } as const;
  const values = cells.flatMap(({ model, benchmark }) => {
    const name = { model: modelTitle(model), benchmark: benchmarkTitle(benchmark) };
    const here = findContrast(tidy, { ...pair, model, benchmark });
    const paper = paperGap({ tidy }, model, benchmark);
    return [
      ...(here
        ? [{ ...name, source: HERE, value: 100 * here.value, low: 100 * here.low, high: 100 * here.high }]
        : []),
      ...(paper === null ? [] : [{ ...name, source: PAPER, value: 100 * paper }]),
    ];
  });
  const ahead = values.filter(({ source, value }) => source === HERE && value > 0).length;
  return chartOf({
    subtitle: SMALL_WORLD,
    title: 'ParallelSearch minus Search-R1 in exact match: the paper and here',
    alt: `Difference in exact match by benchmark. Here ParallelSearch is ahead in ${ahead} of ${cells.length} cells.`,
    spec: {
      data: { values },
      facet: { column: { field: 'model', sort: MODEL_SORT } },
      spec: { width: 270, height: { step: 24 }, layer: gapLayers(benchmarks) },
    },
  });
}

const HERE = 'here, with 95 % interval';
const PAPER = 'paper';

function gapLayers(benchmarks: readonly string[]): VegaLiteSpec[] {
  const scale = { domain: [HERE, PAPER], range: ['#d95f02', '#7a7a7a'] };
  const color = { field: 'source', type: 'nominal', title: 'Source', scale };
  const shape = {
    field: 'source',
    type: 'nominal',
    title: 'Source',
    scale: { domain: [HERE, PAPER], range: ['diamond', 'cross'] },
  };
  const y = { field: 'benchmark', type: 'nominal', sort: benchmarks.map(benchmarkTitle), title: 'Benchmark' };
  const x = { type: 'quantitative', title: titled('Difference in exact match', 'points') };
  const tooltip = ['benchmark', 'source', { field: 'value', type: 'quantitative', format: '+.1f' }].map(
    (field) => (typeof field === 'string' ? { field } : field),
  );
  return [
    {
      mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
      encoding: { x: { datum: 0, type: 'quantitative' } },
    },
    {
      transform: [{ filter: `datum.source === '${HERE}'` }],
      mark: { type: 'rule', strokeWidth: 2 },
      encoding: { x: { ...x, field: 'low' }, x2: { field: 'high' }, y, color },
    },
    {
      mark: { type: 'point', filled: true, size: 60, opacity: 1 },
      encoding: { x: { ...x, field: 'value' }, y, color, shape, tooltip },
    },
  ];
}

/** What a training metric is called on an axis, and its unit. */
const CURVE_TITLES: Record<string, [title: string, unit: string]> = {
  reward: ['Reward', 'mean per rollout'],
  'rewards/outcome': ['Outcome reward', 'mean per rollout'],
  'rewards/decomposition': ['Decomposition reward', 'mean per rollout'],
  'rewards/search_count': ['Search-count reward', 'mean per rollout'],
  'rewards/format': ['Format reward', 'mean per rollout'],
  turns: ['Search turns', 'mean per rollout'],
  'completions/mean_length': ['Response length', 'tokens'],
  decomposition_ratio: ['Decomposed', 'share of rollouts'],
  'decomposition_ratio/parallelizable': ['Decomposed, of parallelizable questions', 'share of rollouts'],
  'decomposition_ratio/sequential': ['Decomposed, of sequential questions', 'share of rollouts'],
  'coverage/parallelizable': ['Coverage of parallelizable questions', 'share of sub-questions'],
  parallelizing_precision: ['Precision of parallelizing', 'share of decomposed rollouts'],
  parallelizing_recall: ['Recall of parallelizing', 'share of parallelizable rollouts'],
  parallelizing_f1: ['F1 of parallelizing', 'harmonic mean'],
  kl: ['KL to the reference', 'nats per token'],
  entropy: ['Entropy', 'nats per token'],
  clip_ratio: ['Clipped', 'share of tokens'],
  grad_norm: ['Gradient norm', 'before clipping'],
};

/** What a training metric is called, and its unit. */
export function curveTitle(metric: string): [title: string, unit: string] {
  return CURVE_TITLES[metric] ?? [metric, 'per step'];
}

/**
 * One training metric over the steps, the mean over seeds in a band from the lowest seed to the highest. Empty where the metric
 * is null at every step, such as precision when nothing was decomposed.
 * @throws Error when no curve has the metric
 */
export function trainingChart({ curves }: Pick<Results, 'curves'>, metric: string): Chart {
  const [name, unit] = curveTitle(metric);
  const bands = aggregateCurves(curves, metric);
  if (!curves.some((point) => metric in point)) {
    const known = [...new Set(curves.flatMap((point) => Object.keys(point)))].join(', ') || 'none';
    throw new Error(`Expected training curves with the metric ${metric}, but the metrics are: ${known}.`);
  }
  const noValues = `None of ${new Set(curves.map(({ step }) => step)).size} steps has a value.`;
  const methods = [...new Set(bands.map((band) => band.method))].sort().reverse();
  const x = { field: 'step', type: 'quantitative', title: titled('Training', 'GRPO steps') };
  const y = { type: 'quantitative', title: titled(name, unit), scale: { zero: false } };
  return chartOf({
    subtitle: SMALL_WORLD,
    title: `${name} over training: mean and range of the seeds`,
    alt: `${name} over training steps. ${curveEnds(bands) || noValues}`,
    spec:
      bands.length > 0
        ? {
            data: { values: bandValues(bands) },
            facet: { column: { field: 'model', sort: MODEL_SORT } },
            spec: { width: 300, height: 190, layer: bandLayers(methodSeries(methods), x, y) },
          }
        : emptyPanel(noValues, x, y),
  });
}

/** A panel that says that there is nothing to draw: scales need a domain. */
function emptyPanel(text: string, x: object, y: object): VegaLiteSpec {
  return {
    data: { values: [{ step: 0.5, value: 0.5 }] },
    ...{ width: 300, height: 190 },
    mark: { type: 'text', text },
    encoding: {
      x: { ...x, scale: { domain: [0, 1] }, axis: { labels: false } },
      y: { ...y, field: 'value', scale: { domain: [0, 1] }, axis: { labels: false } },
    },
  };
}

/** Bands as the values of a chart, with readable names. */
export function bandValues(bands: readonly CurveBand[]): Record<string, string | number>[] {
  return bands.map(({ method, model, step, mean, low, high }) => ({
    ...{ method: methodTitle(method), model: modelTitle(model) },
    ...{ step, value: mean, low, high },
  }));
}

/** First and last value of each curve, in words. */
export function curveEnds(bands: readonly CurveBand[]): string {
  const curves = new Map<string, CurveBand[]>();
  for (const band of bands) {
    const name = `${methodTitle(band.method)} (${band.model})`;
    curves.set(name, [...(curves.get(name) ?? []), band]);
  }
  return [...curves]
    .map(
      ([name, points]) =>
        `${name}: from ${figureText(points[0].mean)} to ${figureText(points.at(-1)?.mean)}.`,
    )
    .join(' ');
}
