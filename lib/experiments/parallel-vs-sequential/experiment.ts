/** Parallelizable and sequential questions apart: Tables 3, 5 and 6, Figures 3 and 4. */
import { mainMeasure, RESPONSE_TOKENS, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../../evaluation/table.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf, type Frame } from '../../report/frame.js';
import { count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results/experiment.js';
import { paperFigure } from '../paper.js';
import { predictionsFrom, type Prediction } from '../predictions.js';
import { loadTiming, summariseTiming, timing } from '../timing/experiment.js';
import { gainRows, paperCostRows, sizeRows } from './beside-paper.js';
import { parallelVsSequentialClaims } from './claims.js';
import { distributionMeasures, distributionPoints } from './distribution.js';

export const parallelVsSequential: Experiment = {
  name: 'parallel-vs-sequential',
  title: 'parallelizable and sequential questions apart',
  reads: [mainResults.name, timing.name],
  claims: parallelVsSequentialClaims,
};

/** The two data sets of the paper's Tables 3, 5 and 6 whose kinds of question the small world has, and all of ours. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'parallelizable', 'parallelizable_2_to_4', 'parallelizable_5', 'sequential'];
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset);

export interface ParallelVsSequential extends ReportResults {
  /** Table 5: questions of each kind, in the paper and here. */
  sizes: Frame;
  /** Share of questions with at most so many (`at_most`) model calls or tokens. */
  distributions: Frame;
  /** How far ParallelSearch is ahead of Search-R1, by every simple mean of the paper's tables, and here. */
  gains: Frame;
  /** Calls and seconds of ParallelSearch over those of Search-R1, by the paper's tables. */
  paperCosts: Frame;
  predictions: Frame;
}

/**
 * Reads the main comparison's answers, and the timing where there is one, and summarises the two kinds of question, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadParallelVsSequential(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<ParallelVsSequential> {
  const { answers, provenance } = await loadAnswers(mainResults, folder);
  const measures = measuresFor(answers);
  const tidy = summariseResults(answers, { measures, selects, provenance, paper: paperFigure, ...options });
  await addSeconds(tidy, folder, options);
  const predictions = predictionsOf(tidy);
  tidy.provenance.predictions = predictions;
  return {
    ...resultsOf(`${count(answers.length)} answers, by kind of question.`, tidy),
    ...{ sizes: frameOf(sizeRows(answers)), distributions: frameOf(distributionPoints(tidy.rows)) },
    ...{ gains: frameOf(gainRows(tidy.contrasts)), paperCosts: frameOf(paperCostRows()) },
    predictions: frameOf(predictions),
  };
}

const measuresFor = (answers: readonly QuestionResult[]): Measure[] => [
  { ...mainMeasure('em'), byRatio: true },
  ...(['turns', 'model_calls', 'decomposition_ratio', 'coverage'] as const).map(mainMeasure),
  RESPONSE_TOKENS,
  ...distributionMeasures(answers),
];

/** Puts the seconds a question beside the other figures where they were measured, and says where they come from. */
async function addSeconds(tidy: TidyResults, folder?: string, options: SummaryOptions = {}): Promise<void> {
  const timed = await loadTiming(folder);
  if (!timed) return;
  const { rows, contrasts } = summariseTiming(timed, { selects, ...options });
  tidy.rows.push(...rows);
  tidy.contrasts.push(...contrasts);
  tidy.provenance.timing = timed.provenance;
}

const predictionsOf = ({ contrasts }: TidyResults): Prediction[] => {
  const sides = { method: 'parallelsearch', against: 'search-r1', model: 'all', kind: 'ratio' };
  const figure = { ...sides, benchmark: 'all', subset: 'parallelizable', metric: 'model_calls' };
  const prediction = 'Needs at most 60 % of the model calls of Search-R1 on parallelizable questions';
  return predictionsFrom(contrasts, [{ prediction, figure, holds: ({ value }) => value <= 0.6 }]);
};
