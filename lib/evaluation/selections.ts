/** Which questions a figure is the mean of, and how much each counts. */
import { rollup } from 'd3-array';
import type { Measurement } from './result.js';

/** The benchmarks of the paper's Table 2 in its order, by FlashRAG's names, and as the paper prints them. */
export const BENCHMARK_TITLES: Readonly<Record<string, string>> = {
  nq: 'NQ',
  triviaqa: 'TriviaQA',
  popqa: 'PopQA',
  hotpotqa: 'HotpotQA',
  '2wikimultihopqa': '2WikiMultiHopQA',
  musique: 'MuSiQue',
  bamboogle: 'Bamboogle',
};

export interface Selection {
  /** A benchmark, `all` (every test question counts once) or `average` (every benchmark counts once). */
  benchmark: string;
  /** A shape of question, `all`, `parallelizable_2_to_4` or `parallelizable_5` (by entities compared). */
  subset: string;
}

/** The parts of a result that decide which selections it belongs to. */
export type QuestionKey = Pick<Measurement, 'questionId' | 'benchmark' | 'subset' | 'entitiesCompared'>;

const SUBSETS = [
  ...['all', 'single_hop', 'parallelizable', 'parallelizable_2_to_4', 'parallelizable_5'],
  ...['sequential', 'hybrid'],
];

/** Whether a question is of `subset`. Comparisons of 5 are kept apart: B = 4 turns cannot ask them one by one. */
export function isInSubset(
  { subset: shape, entitiesCompared: compared }: QuestionKey,
  subset: string,
): boolean {
  if (subset === 'parallelizable_5') return shape === 'parallelizable' && compared === 5;
  if (subset === 'parallelizable_2_to_4') return shape === 'parallelizable' && compared >= 2 && compared <= 4;
  return subset === 'all' || subset === shape;
}

/** Whether a question counts in a selection at all; how much it counts is {@link selectionWeights}. */
export function isSelected(question: QuestionKey, { benchmark, subset }: Selection): boolean {
  const inBenchmark =
    benchmark === 'all' ||
    (benchmark === 'average' ? question.benchmark in BENCHMARK_TITLES : question.benchmark === benchmark);
  return inBenchmark && isInSubset(question, subset);
}

/**
 * The weight of each question in a selection; the weights sum to 1. All selected questions weigh the same, except
 * under `average`, where every benchmark of Table 2 weighs the same, as in the paper's "Avg." column. The two differ
 * because the test set holds more comparisons than a benchmark alone would.
 */
export function selectionWeights(questions: readonly QuestionKey[], selection: Selection): Float64Array {
  const groupOf = ({ benchmark }: QuestionKey): string =>
    selection.benchmark === 'average' ? benchmark : '';
  const selected = questions.filter((question) => isSelected(question, selection));
  const sizes = rollup(selected, ({ length }) => length, groupOf);
  return Float64Array.from(questions, (question) =>
    isSelected(question, selection) ? 1 / (sizes.get(groupOf(question))! * sizes.size) : 0,
  );
}

/** Every selection that holds at least one question: the average, over all, each benchmark, and their subsets. */
export function selectionsOf(questions: readonly QuestionKey[]): Selection[] {
  const present = [...new Set(questions.map(({ benchmark }) => benchmark))].sort();
  const benchmarks = new Set(['all', ...Object.keys(BENCHMARK_TITLES), ...present]);
  const candidates = [...benchmarks].flatMap((benchmark) => SUBSETS.map((subset) => ({ benchmark, subset })));
  return [{ benchmark: 'average', subset: 'all' }, ...candidates].filter((selection) =>
    questions.some((question) => isSelected(question, selection)),
  );
}
