/** Which questions a figure is the mean of, and how much each counts. */
import { range, rollup } from 'd3-array';
import type { Measurement } from './result.js';

/**
 * The benchmarks of the paper's Table 2 in its order, by FlashRAG's names, and as the
 * paper prints them.
 */
export const BENCHMARK_TITLES: Readonly<Record<string, string>> = {
  nq: 'NQ',
  triviaqa: 'TriviaQA',
  popqa: 'PopQA',
  hotpotqa: 'HotpotQA',
  '2wikimultihopqa': '2WikiMultiHopQA',
  musique: 'MuSiQue',
  bamboogle: 'Bamboogle',
};

/**
 * A benchmark by itself: comparisons of up to eight, more than the originals have. `all`
 * and `average` are without it.
 */
export const MANY = 'many';

export interface Selection {
  /**
   * A benchmark, `all` (every question counts once, but for those of `many`) or `average`
   * (every benchmark counts once).
   */
  benchmark: string;
  /** A name of {@link SUBSETS}. */
  subset: string;
}

/** The parts of a result that decide which selections it belongs to. */
export type QuestionKey = Pick<
  Measurement,
  'questionId' | 'benchmark' | 'subset' | 'entitiesCompared' | 'hops' | 'wording' | 'isYesNo'
>;

/** Which questions a subset has. */
const MEMBERSHIP: Readonly<Record<string, (question: QuestionKey) => boolean>> = {
  all: () => true,
  ...Object.fromEntries(
    ['single_hop', 'parallelizable', 'sequential', 'hybrid'].map((shape) => [
      shape,
      ({ subset }: QuestionKey) => subset === shape,
    ]),
  ),
  ...Object.fromEntries(
    range(2, 9).map((count) => [
      `entities_${count}`,
      ({ entitiesCompared }: QuestionKey) => entitiesCompared === count,
    ]),
  ),
  hops_3: ({ hops = 0 }) => hops >= 3,
  wording_seen: ({ wording }) => wording === 'seen',
  wording_unseen: ({ wording }) => wording === 'unseen',
  yes_no: ({ isYesNo }) => isYesNo,
};
/**
 * Shapes of question, numbers of entities compared, long chains, wordings of training and
 * others, and yes/no.
 */
export const SUBSETS = Object.keys(MEMBERSHIP);

/** Questions with the same key belong to the same selections. */
export const selectionKey = ({
  benchmark,
  subset,
  entitiesCompared,
  hops,
  wording,
  isYesNo,
}: QuestionKey): string =>
  JSON.stringify([benchmark, subset, entitiesCompared, hops, wording, isYesNo]);

/**
 * Whether a question counts in a selection at all; how much it counts is
 * {@link selectionWeights}.
 */
export function isSelected(question: QuestionKey, { benchmark, subset }: Selection): boolean {
  const inBenchmark =
    (benchmark === 'all' && question.benchmark !== MANY) ||
    (benchmark === 'average'
      ? question.benchmark in BENCHMARK_TITLES
      : question.benchmark === benchmark);
  return inBenchmark && MEMBERSHIP[subset](question);
}

/**
 * The weight of each question in a selection; the weights sum to 1. All selected
 * questions weigh the same, except under `average`, where every benchmark of Table 2
 * weighs the same, as in the paper's "Avg." column.
 */
export function selectionWeights(
  questions: readonly QuestionKey[],
  selection: Selection,
): Float64Array {
  const groupOf = ({ benchmark }: QuestionKey): string =>
    selection.benchmark === 'average' ? benchmark : '';
  const selected = questions.filter((question) => isSelected(question, selection));
  const sizes = rollup(selected, ({ length }) => length, groupOf);
  return Float64Array.from(questions, (question) =>
    isSelected(question, selection) ? 1 / (sizes.get(groupOf(question))! * sizes.size) : 0,
  );
}

/** Subsets for which the average over benchmarks is given: those of all questions. */
const AVERAGED = ['all', 'wording_seen', 'wording_unseen'];

/**
 * Every selection that holds at least one question: the average, over all, each
 * benchmark, and their subsets.
 */
export function selectionsOf(questions: readonly QuestionKey[]): Selection[] {
  const present = [...new Set(questions.map(({ benchmark }) => benchmark))].sort();
  const benchmarks = new Set(['all', ...Object.keys(BENCHMARK_TITLES), ...present]);
  const candidates = [...benchmarks].flatMap((benchmark) =>
    SUBSETS.map((subset) => ({ benchmark, subset })),
  );
  const averages = AVERAGED.map((subset) => ({ benchmark: 'average', subset }));
  return [...averages, ...candidates].filter((selection) =>
    questions.some((question) => isSelected(question, selection)),
  );
}
