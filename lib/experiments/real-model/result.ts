/** What the answers of a language model to real questions show. */
import { group, sort } from 'd3-array';
import { labelAnswer } from '../../evaluation/behaviour.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import {
  matching,
  where,
  type Fields,
  type MethodPair,
  type SummaryOptions,
} from '../../evaluation/table.js';
import { intervalChart } from '../../report/chart.js';
import { trainingRows, type CurvePoint } from '../../report/curves.js';
import { gapWords, shareWords } from '../../report/text.js';
import { count } from '../answers.js';
import { type ResultParts } from '../experiment.js';
import { FAILURES } from '../failures.js';
import {
  findFigure,
  findValue,
  percent,
  resultParts,
  summarise,
  type Predicted,
} from '../report.js';
import { addTiming, SECONDS, type Timing } from '../timing.js';
import { DEFAULT_TOP_K, MULTI_HOP, numTest, TRAINED, WARM_UP } from './settings.js';

const METRICS: readonly Metric[] = [
  'em',
  'f1',
  'turns',
  'model_calls',
  'retrievals',
  'decomposition_ratio',
  'evidence_seen',
];
const SUBSETS = ['all', 'parallelizable', 'sequential'];
const isMultiHop = where({ benchmark: MULTI_HOP });
/** HotpotQA and 2WikiMultiHopQA together. */
const multiHopMeasure = (measure: Measure): Measure => ({
  ...measure,
  metric: `${measure.metric}_multi_hop`,
  subsets: SUBSETS,
  includes: (question) => isMultiHop(question) && (measure.includes?.(question) ?? true),
});
const MEASURES = METRICS.map(
  (metric): Measure => ({
    ...mainMeasure(metric),
    // A question's evidence is only known with a dependency graph.
    ...(metric === 'evidence_seen' && { includes: ({ hops }: QuestionKey) => hops !== undefined }),
  }),
);
const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'untrained:parallel'],
  ['search-r1', 'untrained:search-r1'],
  ['parallelsearch', 'r1'],
];
const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'completions/mean_length',
  'kl',
  'entropy',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
];

const OURS = { method: 'parallelsearch', benchmark: 'all', subset: 'all' };
const COMPARISONS = { ...OURS, subset: 'parallelizable' };
const DECOMPOSED = { ...COMPARISONS, metric: 'decomposition_ratio_multi_hop' };
const CALLS = {
  ...COMPARISONS,
  against: 'search-r1',
  metric: 'model_calls_multi_hop',
  kind: 'ratio',
};
const PREDICTED: readonly Predicted[] = [
  {
    prediction: '95 % of ParallelSearch’s transcripts are well formed',
    figure: { ...OURS, metric: 'well_formed' },
    holds: ({ value }) => value >= 0.95,
  },
  {
    prediction: 'ParallelSearch answers 40 % of HotpotQA and 2WikiMultiHopQA',
    figure: { ...OURS, metric: 'em_multi_hop' },
    holds: ({ value }) => value >= 0.4,
  },
  {
    prediction: 'ParallelSearch answers more of them than the model without search',
    figure: { ...OURS, against: 'r1', metric: 'em_multi_hop', kind: 'difference' },
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
    figure: { ...COMPARISONS, against: 'search-r1', metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > -0.05,
  },
];

const DEV_METRICS = [
  'reward',
  'rewards/outcome',
  'decomposition_ratio/parallelizable',
  'model_calls',
];

/** An answer with the number of passages, if it is not the usual one. */
export type RealAnswer = QuestionResult & { topK?: number };

export interface RealRead {
  /** With the usual number of passages. */
  answers: QuestionResult[];
  /** With other numbers of passages. */
  byTopK: RealAnswer[];
  curves: CurvePoint[];
  dev: CurvePoint[];
  provenance: Record<string, unknown>;
  timed: Timing | null;
}

export const ABOUT = {
  model: 'SmolLM2-135M-Instruct',
  questions: `test: ${numTest('')} of a benchmark, ${numTest(MULTI_HOP[0])} of HotpotQA and of 2WikiMultiHopQA`,
  warmUps: [WARM_UP.seed],
  seeds: [...new Set(TRAINED.map(({ seed }) => seed))],
};

/** Exact match by passages per query, of the same runs and questions. */
function topKRows({ answers, byTopK, provenance }: RealRead, options: SummaryOptions): object[] {
  const distinct = (field: 'questionId' | 'method'): unknown[] => [
    ...new Set(byTopK.map((answer) => answer[field])),
  ];
  const isAsked = { seed: 1, questionId: distinct('questionId'), method: distinct('method') };
  const all: RealAnswer[] = [...byTopK, ...matching(answers, isAsked)];
  const filter = where({ subset: 'all', benchmark: MULTI_HOP });
  const em = { measures: [mainMeasure('em')], filter, pairs: [] };
  const groups = [...group(all, ({ topK = DEFAULT_TOP_K }) => topK)];
  return sort(groups, ([topK]) => topK).flatMap(([topK, answers]) =>
    summarise({ answers, provenance }, em, options).rows.map((row) => ({ ...row, topK })),
  );
}

const MAX_CASES = 3;

/** The answers of both methods to one question. */
interface RealCase {
  /** A metric of {@link FAILURES}, or `calls_saved`. */
  metric: string;
  benchmark: string;
  question: string;
  right: boolean;
  calls: number;
  /** Of Search-R1. */
  callsAgainst: number;
  rightAgainst: boolean;
}

/**
 * Questions to read: answered right by ParallelSearch with fewer calls than Search-R1,
 * and some for each way to fail.
 */
export function pickCases(answers: readonly QuestionResult[]): RealCase[] {
  const select = (method: string) => matching(answers, { method, seed: 1, benchmark: MULTI_HOP });
  const theirs = new Map(select('search-r1').map((answer) => [answer.questionId, answer]));
  const ours = select('parallelsearch').filter(({ questionId }) => theirs.has(questionId));
  const saves = ({ em, modelCalls, questionId }: QuestionResult): boolean =>
    em === 1 && modelCalls < theirs.get(questionId)!.modelCalls;
  const kinds = [
    { metric: 'calls_saved', isSeen: saves },
    ...FAILURES.map((metric) => ({
      metric,
      isSeen: (answer: QuestionResult) => labelAnswer(answer)[metric],
    })),
  ];
  return kinds.flatMap(({ metric, isSeen }) =>
    ours
      .filter((answer) => isSeen(answer))
      .slice(0, MAX_CASES)
      .map(({ benchmark, questionId, em, modelCalls }) => {
        const against = theirs.get(questionId)!;
        return {
          metric,
          benchmark,
          question: questionId,
          right: em === 1,
          calls: modelCalls,
          callsAgainst: against.modelCalls,
          rightAgainst: against.em === 1,
        };
      }),
  );
}

export function realModelResult(read: RealRead, options: SummaryOptions = {}): ResultParts {
  const measures = [
    ...MEASURES,
    ...MEASURES.map(multiHopMeasure),
    { metric: 'well_formed', numerator: ({ formatOk }: QuestionResult) => Number(formatOk) },
  ];
  const filter = where({ subset: SUBSETS });
  const tidy = summarise(read, { measures, filter, pairs: PAIRS }, options);
  const timeMeasures = [SECONDS, multiHopMeasure(SECONDS)];
  addTiming(tidy, read.timed, { measures: timeMeasures, filter, ...options });
  const find = (figure: Fields): number => findValue(tidy, figure);
  const [before, after] = ['untrained:parallel', 'parallelsearch'].map((method) =>
    percent(find({ ...DECOMPOSED, method })),
  );
  const overWarmUp = { ...OURS, against: 'untrained:parallel', kind: 'difference' };
  const gain = findFigure(tidy, { ...overWarmUp, metric: 'em_multi_hop' })!;
  const decomposed = matching(tidy.rows, {
    benchmark: 'all',
    metric: 'decomposition_ratio_multi_hop',
    subset: ['parallelizable', 'sequential'],
  });
  const whole = matching(tidy.rows, { benchmark: 'all', metric: 'em_multi_hop' });
  return resultParts({
    finding: `After RL, SmolLM2-135M decomposes ${after} of real comparisons, ${before} before, and needs ${shareWords(1 - find(CALLS))} fewer model calls than Search-R1; its answers are ${gapWords(gain)}.`,
    summary: `${count(read.answers)} answers of ${ABOUT.model}.`,
    tidy,
    predicted: PREDICTED,
    frames: {
      training: trainingRows(read.curves, DYNAMICS),
      // Held-out training questions by step; step 0 is the model before RL.
      dev: trainingRows(read.dev, DEV_METRICS),
      topK: topKRows(read, options),
      cases: pickCases(read.answers),
    },
    figures: {
      decomposed: intervalChart(decomposed, {
        title: 'Decomposed questions before and after reinforcement, with 95 % intervals',
        subtitle: 'SmolLM2-135M-Instruct on test questions of HotpotQA and 2WikiMultiHopQA',
        x: 'subset',
        xTitle: 'Question type',
        color: 'method',
        yTitle: 'Decomposed (share of questions)',
      }),
      answers: intervalChart(whole, {
        title: 'Exact match by question type, with 95 % intervals',
        subtitle: 'SmolLM2-135M-Instruct on test questions of HotpotQA and 2WikiMultiHopQA',
        x: 'subset',
        color: 'method',
        yTitle: 'Exact match (share of questions)',
      }),
    },
  });
}
