/** Which questions a figure covers, and their weights. */
import { range, rollup } from 'd3-array';
import type { Measurement } from './measurement.js';

/** Titles of the benchmarks in the paper's Table 2, by FlashRAG's names. */
export const BENCHMARK_TITLES: Readonly<Record<string, string>> = {
  nq: 'NQ',
  triviaqa: 'TriviaQA',
  popqa: 'PopQA',
  hotpotqa: 'HotpotQA',
  '2wikimultihopqa': '2WikiMultiHopQA',
  musique: 'MuSiQue',
  bamboogle: 'Bamboogle',
};

/** An extra benchmark: comparisons of up to eight. Not part of `all` and `average`. */
export const MANY = 'many';

export interface Selection {
  /** A benchmark, or with equal weights: `all` (questions), `average` (benchmarks). */
  benchmark: string;
  /** A name in {@link SUBSETS}. */
  subset: string;
}

/** The fields that decide which selections contain a question. */
export type QuestionKey = Pick<
  Measurement,
  'questionId' | 'benchmark' | 'subset' | 'entitiesCompared' | 'hops' | 'wording' | 'isYesNo'
>;

/** Subsets by the number of entities compared: `entities_2` to `entities_8`. */
export const ENTITY_SUBSETS = range(2, 9).map((count) => `entities_${count}`);

const MEMBERSHIP: Readonly<Record<string, (question: QuestionKey) => boolean>> = {
  all: () => true,
  ...Object.fromEntries(
    ['single_hop', 'parallelizable', 'sequential', 'hybrid'].map((type) => [
      type,
      ({ subset }: QuestionKey) => subset === type,
    ]),
  ),
  ...Object.fromEntries(
    ENTITY_SUBSETS.map((subset, i) => [
      subset,
      ({ entitiesCompared }: QuestionKey) => entitiesCompared === i + 2,
    ]),
  ),
  hops_3: ({ hops = 0 }) => hops >= 3,
  wording_seen: ({ wording }) => wording === 'seen',
  wording_unseen: ({ wording }) => wording === 'unseen',
  yes_no: ({ isYesNo }) => isYesNo,
};
/** Subsets by question type, entities compared, long chains, wording, and yes/no. */
const SUBSETS = Object.keys(MEMBERSHIP);

/** Equal for questions that belong to the same selections. */
export const selectionKey = (q: QuestionKey): string =>
  JSON.stringify([q.benchmark, q.subset, q.entitiesCompared, q.hops, q.wording, q.isYesNo]);

export function isSelected(question: QuestionKey, { benchmark, subset }: Selection): boolean {
  const inBenchmark =
    (benchmark === 'all' && question.benchmark !== MANY) ||
    (benchmark === 'average'
      ? question.benchmark in BENCHMARK_TITLES
      : question.benchmark === benchmark);
  return inBenchmark && MEMBERSHIP[subset](question);
}

/**
 * The weight of each question in a selection; weights sum to 1. Questions weigh the same,
 * except under `average`, where the benchmarks of Table 2 do, as in its "Avg." column.
 */
export function selectionWeights(
  questions: readonly QuestionKey[],
  selection: Selection,
): Float64Array {
  const weightGroup = ({ benchmark }: QuestionKey): string =>
    selection.benchmark === 'average' ? benchmark : '';
  const selected = questions.filter((question) => isSelected(question, selection));
  const sizes = rollup(selected, ({ length }) => length, weightGroup);
  return Float64Array.from(questions, (question) =>
    isSelected(question, selection) ? 1 / (sizes.get(weightGroup(question))! * sizes.size) : 0,
  );
}

/** Subsets that are averaged over benchmarks. */
const AVERAGED = ['all', 'wording_seen', 'wording_unseen'];

export function listSelections(questions: readonly QuestionKey[]): Selection[] {
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
