/**
 * Decomposition against the verified dependency graphs, whether or not the answer is right: which questions were
 * parallelized, and which sub-questions were asked.
 */
import type { Question } from '../../data/question.js';
import type { CurvePoint } from '../../report/curves.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { againstGraph, matchSubQuestions } from './matching.js';

const PARALLEL = ['parallelizable', 'parallelizable_2_to_4', 'parallelizable_5'];
const isParallel = ({ subset }: QuestionResult): boolean => subset === 'parallelizable';
const isHit = (answer: QuestionResult): boolean => answer.decomposed && isParallel(answer);

/** Is a question that is decomposed parallelizable, and is a parallelizable question decomposed? */
const PARALLELIZING: readonly Measure[] = [
  {
    metric: 'parallelizing_precision',
    of: (answer) => Number(isHit(answer)),
    per: ({ decomposed }) => Number(decomposed),
  },
  {
    metric: 'parallelizing_recall',
    of: (answer) => Number(isHit(answer)),
    per: (answer) => Number(isParallel(answer)),
  },
  {
    metric: 'parallelizing_f1',
    of: (answer) => 2 * Number(isHit(answer)),
    per: (answer) => Number(answer.decomposed) + Number(isParallel(answer)),
  },
];

/** A metric among the answers for which `isGiven` holds, under a name of its own. */
function given(metric: Metric, suffix: string, isGiven: (answer: QuestionResult) => boolean): Measure {
  const { of } = mainMeasure(metric);
  return {
    metric: `${metric}_if_${suffix}`,
    of: (answer) => (isGiven(answer) ? of(answer) : 0),
    per: (answer) => Number(isGiven(answer)),
  };
}

/** The sub-queries against the sub-questions; counts of all questions are pooled before they are divided. */
function matchMeasures(questions: readonly Question[]): Measure[] {
  const matchOf = againstGraph(questions, matchSubQuestions);
  const shares: Measure[] = [
    { metric: 'asked_at_once', of: (answer) => matchOf(answer).atOnce / matchOf(answer).independent },
    {
      metric: 'complete_at_once',
      of: (answer) => Number(matchOf(answer).atOnce === matchOf(answer).independent),
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
  const isClear: Measure['among'] = ({ subset }) => subset !== 'hybrid';
  const isRight = ({ em }: QuestionResult): boolean => em === 1;
  const isWrong = ({ em }: QuestionResult): boolean => em === 0;
  return [
    // Hybrid questions have an independent and a dependent part: neither yes nor no would be right, so they stand apart.
    ...PARALLELIZING.map((measure) => ({ ...measure, among: isClear, subsets: ['all'] })),
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
export const parallelizingCurves = (curves: readonly CurvePoint[]): CurvePoint[] =>
  curves.map((point) => {
    const numberOf = (name: string): number => (typeof point[name] === 'number' ? point[name] : NaN);
    const [decomposed, share] = [numberOf('decomposition_ratio'), numberOf('share/parallelizable')];
    const hits = share * numberOf('decomposition_ratio/parallelizable');
    const quotient = (numerator: number, denominator: number): number | null =>
      Number.isFinite(numerator / denominator) ? numerator / denominator : null;
    return {
      ...point,
      parallelizing_precision: quotient(hits, decomposed),
      parallelizing_recall: quotient(hits, share),
      parallelizing_f1: quotient(2 * hits, decomposed + share),
    };
  });
