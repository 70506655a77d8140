/** The first edition's results on its own test questions. */
import { group, sort } from 'd3-array';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import { matching, where } from '../../evaluation/figures.js';
import type { MethodPair } from '../../evaluation/table.js';
import { trainingRows, type CurvePoint } from '../../report/training-rows.js';
import { checkPredictions, summarise, type Answered, type Predicted } from '../results/summary.js';
import { addTiming, SECONDS, type TimedAnswer } from '../timing.js';
import { MEASURES } from './second-edition.js';
import { DEFAULT_TOP_K, MULTI_HOP, numTest, TRAINED, WARM_UP } from './settings.js';

export const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'model_calls',
  'completions/mean_length',
  'kl',
  'entropy',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
];

const SUBSETS = ['all', 'parallelizable', 'sequential'];
const isMultiHop = where({ benchmark: MULTI_HOP });
/** Restricts a measure to HotpotQA and 2WikiMultiHopQA. */
const multiHopMeasure = (measure: Measure): Measure => ({
  ...measure,
  metric: `${measure.metric}_multi_hop`,
  subsets: SUBSETS,
  includes: (question) => isMultiHop(question) && (measure.includes?.(question) ?? true),
});
const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'untrained:parallel'],
  ['search-r1', 'untrained:search-r1'],
  ['parallelsearch', 'r1'],
];
const PARALLELSEARCH_FIELDS = { method: 'parallelsearch', benchmark: 'all', subset: 'all' };
const COMPARISONS = { ...PARALLELSEARCH_FIELDS, subset: 'parallelizable' };
const DECOMPOSED = { ...COMPARISONS, metric: 'decomposition_ratio_multi_hop' };
const OVER_SEARCH_R1 = { ...COMPARISONS, against: 'search-r1' };
const CALLS = { ...OVER_SEARCH_R1, metric: 'model_calls_multi_hop', kind: 'ratio' };
const PREDICTED: readonly Predicted[] = [
  {
    prediction: '95 % of ParallelSearch’s transcripts are well formed',
    figure: { ...PARALLELSEARCH_FIELDS, metric: 'well_formed' },
    holds: ({ value }) => value >= 0.95,
  },
  {
    prediction: 'ParallelSearch answers 40 % of HotpotQA and 2WikiMultiHopQA',
    figure: { ...PARALLELSEARCH_FIELDS, metric: 'em_multi_hop' },
    holds: ({ value }) => value >= 0.4,
  },
  {
    prediction: 'ParallelSearch answers more of them than the model without search',
    figure: { ...PARALLELSEARCH_FIELDS, against: 'r1', metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > 0,
  },
  {
    prediction: 'Reinforcement teaches it to decompose 90 % of comparisons',
    figure: DECOMPOSED,
    holds: ({ value }) => value >= 0.9,
    because: { where: 'before', figure: { ...DECOMPOSED, method: 'untrained:parallel' } },
  },
  {
    prediction: 'It decomposes at most 10 % of sequential questions',
    figure: { ...DECOMPOSED, subset: 'sequential' },
    holds: ({ value }) => value <= 0.1,
  },
  {
    prediction: 'On comparisons it needs at most 70 % of Search-R1’s model calls',
    figure: CALLS,
    holds: ({ value }) => value <= 0.7,
  },
  {
    prediction: 'Its right answers there are at most 5 points below Search-R1’s',
    figure: { ...OVER_SEARCH_R1, metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > -0.05,
  },
];

/** An answer; `topK` is set if it is not the usual one. */
type RealAnswer = QuestionResult & { topK?: number };

/** Answers with the usual number of passages, and with others. */
export interface FirstRead extends Answered {
  byTopK: RealAnswer[];
  curves: CurvePoint[];
  timed: Answered<TimedAnswer> | null;
}

export const ABOUT = {
  model: 'SmolLM2-135M-Instruct',
  questions: `test: ${numTest('')} of a benchmark, ${numTest(MULTI_HOP[0])} of HotpotQA and of 2WikiMultiHopQA`,
  warmUps: [WARM_UP.seed],
  seeds: [...new Set(TRAINED.map(({ seed }) => seed))],
};

/** Exact match by passages per query, for the same runs and questions. */
function topKRows({ answers, byTopK, provenance }: FirstRead): object[] {
  const distinct = (field: 'questionId' | 'method'): unknown[] => [
    ...new Set(byTopK.map((answer) => answer[field])),
  ];
  const isAsked = { seed: 1, questionId: distinct('questionId'), method: distinct('method') };
  const all: RealAnswer[] = [...byTopK, ...matching(answers, isAsked)];
  const filter = where({ subset: 'all', benchmark: MULTI_HOP });
  const em = { measures: [mainMeasure('em')], filter, pairs: [] };
  const groups = [...group(all, ({ topK = DEFAULT_TOP_K }) => topK)];
  return sort(groups, ([topK]) => topK).flatMap(([topK, answers]) =>
    summarise({ answers, provenance }, em).rows.map((row) => ({ ...row, topK })),
  );
}

export function firstEdition(read: FirstRead) {
  const measures = [...MEASURES, ...MEASURES.map(multiHopMeasure)];
  const filter = where({ subset: SUBSETS });
  const tidy = summarise(read, { measures, filter, pairs: PAIRS });
  const timeMeasures = [SECONDS, multiHopMeasure(SECONDS)];
  addTiming(tidy, read.timed, { measures: timeMeasures, filter });
  return {
    provenance: tidy.provenance,
    frames: {
      first: tidy.rows,
      firstContrasts: tidy.contrasts,
      firstPredictions: checkPredictions(tidy, PREDICTED),
      firstTraining: trainingRows(read.curves, DYNAMICS),
      firstTopK: topKRows(read),
    },
  };
}
