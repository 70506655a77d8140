/** The report on the two models: end results, and the course of training (Figure 5). */
import { readEvaluation, type CurvePoint } from '../../evaluation/load.js';
import { MAIN_MEASURES, RESPONSE_TOKENS } from '../../evaluation/measures.js';
import { paperFigure } from '../paper.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../../evaluation/table.js';
import { chartOf, SMALL_WORLD, titled, type Chart } from '../../report/chart.js';
import { bandValues, curveEnds, curveTitle, valuesOf } from '../../report/charts.js';
import { aggregateCurves } from '../../report/curves.js';
import type { ReportResults } from '../../report/display.js';
import { tableOf, type Table } from '../../report/frame.js';
import {
  benchmarksOf,
  benchmarkTitle,
  figureText,
  findContrast,
  findRow,
  intervalText,
  methodsOf,
  methodTitle,
  pointsIntervalText,
  pointsText,
  rowsOf,
  SUBSET_TITLES,
} from '../../report/select.js';
import { bandLayers, intervalLayers, modelSeries } from '../../report/series.js';
import { trainingRows } from '../../report/training-rows.js';

export interface BaseVsInstruct extends ReportResults {
  figures: TidyResults;
  curves: CurvePoint[];
}

/** What Figure 5 shows, and what explains it. */
const DYNAMICS = ['reward', 'rewards/outcome', 'turns', 'completions/mean_length', 'decomposition_ratio'];
const TRAINED = ['search-r1', 'parallelsearch'];

/** Reads the main comparison's evaluation and compares its models, with intervals. */
export function loadBaseVsInstruct(
  folder: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): BaseVsInstruct {
  const { questions, curves, provenance } = readEvaluation(folder);
  const figures = summariseResults(questions, {
    ...{
      measures: [...MAIN_MEASURES, RESPONSE_TOKENS],
      comparesModels: true,
      provenance,
      paper: paperFigure,
    },
    selects: ({ subset }) => ['all', 'parallelizable', 'sequential'].includes(subset),
    ...options,
  });
  const rows = [...figures.rows, ...trainingRows(curves, DYNAMICS)];
  const summary = `${questions.length.toLocaleString('en')} answers from two models, and ${curves.length.toLocaleString('en')} steps of training.`;
  return { kind: 'results', summary, figures, curves, tidy: { ...figures, rows } };
}

/** Exact match of the trained methods by benchmark, a colour for each model. */
export function modelChart({ figures }: BaseVsInstruct): Chart {
  const benchmarks = [...benchmarksOf(figures), 'average'];
  const cell = { subset: 'all', metric: 'em' } as const;
  const rows = benchmarks.flatMap((benchmark) =>
    rowsOf(figures, { benchmark, ...cell }).filter(({ method }) => TRAINED.includes(method)),
  );
  const x = {
    ...{ field: 'benchmark', type: 'nominal', sort: benchmarks.map(benchmarkTitle) },
    ...{ title: 'Benchmark (questions in its style)', axis: { labelAngle: 0 } },
  };
  const title = titled('Exact match', 'share of questions');
  const y = { type: 'quantitative', title, scale: { domain: [0, 1] } };
  const averages = rows.filter(({ benchmark }) => benchmark === 'average');
  const spoken = averages.map((r) => `${methodTitle(r.method)} from ${r.model} ${figureText(r.value)}`);
  return chartOf({
    title: 'Exact match by benchmark and model, with 95 % intervals',
    subtitle: SMALL_WORLD,
    alt: `Exact match by benchmark, for each trained method from both models. Averages: ${spoken.join(', ')}.`,
    spec: {
      data: { values: valuesOf(rows) },
      facet: {
        row: {
          ...{ field: 'method', sort: TRAINED.map(methodTitle) },
          header: { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 },
        },
      },
      spec: { width: { step: 26 }, height: 170, layer: intervalLayers(modelSeries(), x, y) },
    },
  });
}

const METRIC_TITLES: readonly [metric: string, title: string][] = [
  ['em', 'Exact match'],
  ['f1', 'F1'],
  ['model_calls', 'Model calls'],
  ['decomposition_ratio', 'Decomposed'],
  ['coverage', 'Coverage'],
  ['response_tokens', 'Response, tokens'],
];

/** Base beside instruct after training, on one kind of question, with the difference. */
export function modelTable({ figures }: BaseVsInstruct, subset = 'all'): Table {
  const records = methodsOf(figures).flatMap((method) =>
    METRIC_TITLES.flatMap(([metric, title]) => {
      const cell = { method, benchmark: 'all', subset, metric };
      const [base, instruct] = ['base', 'instruct'].map((model) => findRow(figures, { ...cell, model }));
      const gap = modelGap(figures, cell);
      if (!base || !instruct) return [];
      return [
        {
          ...{ Method: methodTitle(method), Figure: title },
          ...{ 'base [95 %]': intervalText(base), 'instruct [95 %]': intervalText(instruct) },
          'base − instruct [95 %]': intervalText(gap),
        },
      ];
    }),
  );
  return tableOf(
    `Small world. Both models after training on ${SUBSET_TITLES[subset] ?? subset}, every question counted once.`,
    records,
  );
}

const modelGap = (
  figures: TidyResults,
  cell: { method: string; metric: string; benchmark: string; subset: string },
) =>
  findContrast(figures, {
    ...cell,
    ...{ against: cell.method, model: 'base', against_model: 'instruct', kind: 'difference' },
  });

/** Base minus instruct in exact match by benchmark, in the paper and here. */
export function modelGapTable({ figures }: BaseVsInstruct): Table {
  const records = TRAINED.flatMap((method) =>
    [...benchmarksOf(figures), 'average'].map((benchmark) => {
      const cell = { method, benchmark, subset: 'all', metric: 'em' };
      const [base, instruct] = ['base', 'instruct'].map(
        (model) => findRow(figures, { ...cell, model })?.paper,
      );
      const paper = typeof base === 'number' && typeof instruct === 'number' ? base - instruct : null;
      return {
        ...{ Method: methodTitle(method), Benchmark: benchmarkTitle(benchmark) },
        'paper, points': pointsText(paper),
        'here, points [95 %]': pointsIntervalText(modelGap(figures, cell)),
      };
    }),
  );
  return tableOf(
    'Small world. Base minus instruct in exact match, in points: the paper (Table 2) and here.',
    records,
  );
}

/** One training metric over the steps, both models in one panel for each method: Figure 5. */
export function dynamicsChart({ curves }: Pick<BaseVsInstruct, 'curves'>, metric: string): Chart {
  const bands = aggregateCurves(curves, metric);
  const [name, unit] = curveTitle(metric);
  const x = { field: 'step', type: 'quantitative', title: titled('Training', 'GRPO steps') };
  const y = { type: 'quantitative', title: titled(name, unit), scale: { zero: false } };
  return chartOf({
    title: `${name} over training, by model: mean and range of the seeds`,
    subtitle: SMALL_WORLD,
    alt: `${name} over training steps, base beside instruct. ${curveEnds(bands)}`,
    spec: {
      data: { values: bandValues(bands) },
      facet: { column: { field: 'method', sort: TRAINED.map(methodTitle) } },
      spec: { width: 300, height: 190, layer: bandLayers(modelSeries(), x, y) },
    },
  });
}

/** The first and the last tenth of training, with the range of the seeds. */
export function dynamicsTable({ curves }: Pick<BaseVsInstruct, 'curves'>): Table {
  const records = DYNAMICS.flatMap((metric) => {
    const bands = aggregateCurves(curves, metric, 10);
    const names = new Set(bands.map(({ method, model }) => JSON.stringify([method, model])));
    return [...names].map((name) => {
      const [method, model] = JSON.parse(name) as [string, string];
      const own = bands.filter((band) => band.method === method && band.model === model);
      const text = (band: (typeof own)[number]): string => intervalText({ ...band, value: band.mean });
      return {
        ...{ Metric: curveTitle(metric)[0], Method: methodTitle(method), Start: model },
        ...{ 'first tenth [seeds]': text(own[0]), 'last tenth [seeds]': text(own[own.length - 1]) },
      };
    });
  });
  return tableOf(
    'Small world. The first and the last tenth of training: mean over seeds, in brackets from the lowest seed to the highest.',
    records,
  );
}
