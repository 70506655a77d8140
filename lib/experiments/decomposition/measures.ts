/**
 * Decomposition against the verified dependency graphs, whether or not the answer is right: which questions were
 * parallelized, and which sub-questions were asked.
 */
import type { Question } from '../../data/question.js';
import { againstGraph, matchSubQuestions } from '../../rewards/coverage.js';
import type { CurvePoint } from '../../report/curves.js';
import { mainMeasure, type Measure } from '../../evaluation/measures.js';
import { metricOf, type Metric, type QuestionKey } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';

const PARALLEL = ['parallelizable', 'parallelizable_2_to_4', 'parallelizable_5'];
const indicator = (holds: boolean): number => (holds ? 1 : 0);

/** Hybrid questions have an independent and a dependent part: neither yes nor no would be right, so they stand apart. */
const isClear = ({ subset }: QuestionKey): boolean => subset !== 'hybrid';
const isParallel = ({ subset }: QuestionKey): boolean => subset === 'parallelizable';
const isHit = (answer: QuestionResult): boolean => answer.decomposed && isParallel(answer);

/** Is a question that is decomposed parallelizable, and is a parallelizable question decomposed? */
const PARALLELIZING = (
  [
    {
      metric: 'parallelizing_precision',
      of: (answer) => indicator(isHit(answer)),
      per: ({ decomposed }) => indicator(decomposed),
    },
    {
      metric: 'parallelizing_recall',
      of: (answer) => indicator(isHit(answer)),
      per: (answer) => indicator(isParallel(answer)),
    },
    {
      metric: 'parallelizing_f1',
      of: (answer) => 2 * indicator(isHit(answer)),
      per: (answer) => indicator(answer.decomposed) + indicator(isParallel(answer)),
    },
  ] satisfies Measure[]
).map((measure): Measure => ({ ...measure, among: isClear, subsets: ['all'] }));

/** A metric among the answers for which `isGiven` holds, under a name of its own. */
function given(metric: Metric, suffix: string, isGiven: (answer: QuestionResult) => boolean): Measure {
  return {
    metric: `${metric}_if_${suffix}`,
    of: (answer) => (isGiven(answer) ? metricOf(answer, metric) : 0),
    per: (answer) => indicator(isGiven(answer)),
  };
}

/** The sub-queries against the sub-questions; counts of all questions are pooled before they are divided. */
function matchMeasures(questions: readonly Question[]): Measure[] {
  const matchOf = againstGraph(questions, matchSubQuestions);
  const shares: Measure[] = [
    { metric: 'asked_at_once', of: (answer) => matchOf(answer).atOnce / matchOf(answer).independent },
    {
      metric: 'complete_at_once',
      of: (answer) => indicator(matchOf(answer).atOnce === matchOf(answer).independent),
    },
  ];
  const pooled: Measure[] = [
    { metric: 'match_precision', of: (a) => matchOf(a).matched, per: (a) => matchOf(a).asked },
    { metric: 'match_recall', of: (a) => matchOf(a).matched, per: (a) => matchOf(a).independent },
    {
      metric: 'match_f1',
      of: (a) => 2 * matchOf(a).matched,
      per: (a) => matchOf(a).asked + matchOf(a).independent,
    },
  ];
  return [
    ...pooled.map((measure) => ({ ...measure, subsets: PARALLEL })),
    ...shares.map((measure) => ({ ...measure, subsets: [...PARALLEL, 'hybrid'] })),
  ];
}

/** Everything that is measured against the graphs of `questions`. */
export function decompositionMeasures(questions: readonly Question[]): Measure[] {
  const metrics: Metric[] = ['decomposition_ratio', 'coverage', 'em', 'model_calls'];
  const isRight = ({ em }: QuestionResult): boolean => em === 1;
  const isWrong = ({ em }: QuestionResult): boolean => em === 0;
  return [
    ...PARALLELIZING,
    ...matchMeasures(questions),
    ...metrics.map(mainMeasure),
    given('decomposition_ratio', 'right', isRight),
    given('decomposition_ratio', 'wrong', isWrong),
    given('coverage', 'right', isRight),
    given('coverage', 'wrong', isWrong),
    given('em', 'decomposed', ({ decomposed }) => decomposed),
    given('em', 'not_decomposed', ({ decomposed }) => !decomposed),
  ];
}

/**
 * The same over training, from what every step recorded: `parallelizing_precision`, `parallelizing_recall` and
 * `parallelizing_f1` of its rollouts. Null where a step has nothing to divide by.
 */
export function parallelizingCurves(curves: readonly CurvePoint[]): CurvePoint[] {
  return curves.map((point) => {
    const [decomposed, recall, share] = [
      'decomposition_ratio',
      'decomposition_ratio/parallelizable',
      'share/parallelizable',
    ].map((name) => (typeof point[name] === 'number' ? point[name] : NaN));
    const hits = share * recall;
    return {
      ...point,
      parallelizing_precision: quotient(hits, decomposed),
      parallelizing_recall: quotient(hits, share),
      parallelizing_f1: quotient(2 * hits, decomposed + share),
    };
  });
}

function quotient(numerator: number, denominator: number): number | null {
  const value = numerator / denominator;
  return Number.isFinite(value) ? value : null;
}
