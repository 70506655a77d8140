/** Parallelizable and sequential questions apart: Tables 3, 5 and 6, Figures 3 and 4. */
import { max, range } from 'd3-array';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import { MANY } from '../../evaluation/selections.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { SummaryOptions, TidyResults, TidyRow } from '../../evaluation/table.js';
import { count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results/experiment.js';
import { trainedBy } from '../../methods/index.js';
import { callsAndAnswers, reportOf, summarise, type Predicted } from '../report.js';
import { loadTiming, summariseTiming, timing } from '../timing/experiment.js';
import { gainRows, paperCostRows, sizeRows } from './beside-paper.js';
import { parallelVsSequentialClaims } from './claims.js';

/** What is counted of an answer. */
const COUNTED: readonly Measure[] = [mainMeasure('model_calls'), mainMeasure('tokens_written')];

/**
 * Distributions of model calls and of response lengths, such as `model_calls_at_most_2`,
 * in steps that reach from nothing to everything.
 */
export const distributionMeasures = (answers: readonly QuestionResult[]): Measure[] =>
  COUNTED.flatMap(({ metric, of: countOf }) =>
    thresholds(max(answers, countOf) ?? 0).map((atMost) => ({
      metric: `${metric}_at_most_${atMost}`,
      of: (answer) => (countOf(answer) <= atMost ? 1 : 0),
    })),
  );

/**
 * Whole numbers from 0 to `largest` or just beyond, at most 16 equal steps of a round
 * width.
 */
export function thresholds(largest: number): number[] {
  const widths = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  const width = widths.find((step) => largest / step <= 15) ?? Math.ceil(largest / 15);
  return range(Math.ceil(largest / width) + 1).map((i) => i * width);
}

/**
 * The rows that are points of distributions: the metric is what was counted, the value
 * the share of questions with at most so many.
 */
export const distributionPoints = (rows: readonly TidyRow[]): (TidyRow & { at_most: number })[] =>
  rows.flatMap((row) => {
    const [, metric, atMost] = /^(.+)_at_most_(\d+)$/.exec(row.metric) ?? [];
    return metric ? [{ ...row, metric, at_most: Number(atMost) }] : [];
  });

export const parallelVsSequential: Experiment = {
  name: 'parallel-vs-sequential',
  title: 'parallelizable and sequential questions apart',
  reads: [mainResults.name, timing.name],
  claims: parallelVsSequentialClaims,
};

/**
 * The two data sets of the paper's Tables 3, 5 and 6 whose kinds of question the small
 * world has, and all of ours.
 */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all', MANY];
const SUBSETS = [
  'all',
  'parallelizable',
  'sequential',
  ...range(2, 9).map((count) => `entities_${count}`),
];
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset);

/** Distributions are of all questions, of the two kinds and of comparisons of many. */
const isDistribution: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  ['all', MANY].includes(benchmark) && ['all', 'parallelizable', 'sequential'].includes(subset);

const MEASURES: readonly Measure[] = [
  { ...mainMeasure('em'), byRatio: true },
  ...(
    [
      'turns',
      'model_calls',
      'retrievals',
      'decomposition_ratio',
      'coverage',
      'tokens_written',
    ] as const
  ).map(mainMeasure),
];

const PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

const FEWER_CALLS: Predicted = {
  prediction: 'Needs at most 55 % of the model calls of Search-R1 on comparisons of up to eight',
  figure: {
    method: 'parallelsearch',
    against: 'search-r1',
    model: 'all',
    kind: 'ratio',
    benchmark: MANY,
    subset: 'all',
    metric: 'model_calls',
  },
  holds: ({ value }) => value <= 0.55,
};

/**
 * Puts the seconds a question beside the other figures where they were measured, and says
 * where they come from.
 */
async function addSeconds(
  tidy: TidyResults,
  folder?: string,
  options: SummaryOptions = {},
): Promise<void> {
  const timed = await loadTiming(folder);
  if (!timed) return;
  const { rows, contrasts } = summariseTiming(timed, { selects, ...options });
  tidy.rows.push(...rows);
  tidy.contrasts.push(...contrasts);
  tidy.provenance.timing = timed.provenance;
}

/**
 * Reads the main comparison's answers, and the timing where there is one, and
 * summarises the two kinds of question, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadParallelVsSequential(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => trainedBy(method) !== null);
  const tidy = summarise({ answers, provenance }, { measures: MEASURES, selects }, options);
  const distributions = {
    measures: distributionMeasures(answers),
    selects: isDistribution,
    pairs: [],
  };
  tidy.rows.push(...summarise({ answers, provenance }, distributions, options).rows);
  await addSeconds(tidy, folder, options);
  return reportOf({
    summary: `${count(answers)} answers, by kind of question.`,
    finding: callsAndAnswers(
      tidy.contrasts,
      ['on parallelizable questions', PARALLEL],
      ['there', PARALLEL],
    ),
    tidy,
    predicted: [FEWER_CALLS],
    frames: {
      // Table 5: questions of each kind, in the paper and here.
      sizes: sizeRows(answers),
      // Share of questions with at most so many (`at_most`) model calls or tokens.
      distributions: distributionPoints(tidy.rows),
      // How far ParallelSearch is ahead of Search-R1, by every simple mean of the paper's
      // tables, and here.
      gains: gainRows(tidy.contrasts),
      // Calls and seconds of ParallelSearch over those of Search-R1, by the paper's
      // tables.
      paperCosts: paperCostRows(),
    },
  });
}
export type ParallelVsSequential = Awaited<ReturnType<typeof loadParallelVsSequential>>;
