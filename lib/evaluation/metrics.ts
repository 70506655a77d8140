/** What is measured of one answered question, and which questions a figure is the mean of. */
import type { Measurement } from './result.js';

/** The metrics of a tidy row, in the order in which tables show them. */
export const METRICS = [
  'em',
  'f1',
  'turns',
  'model_calls',
  'decomposition_ratio',
  'coverage',
  'critical_path_ratio',
] as const;
export type Metric = (typeof METRICS)[number];

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

/** Which questions a figure is the mean of. */
export interface Selection {
  /** A benchmark, `all` (every test question counts once) or `average` (every benchmark counts once). */
  benchmark: string;
  /** A shape of question, `all`, `parallelizable_2_to_4` or `parallelizable_5` (by entities compared). */
  subset: string;
}

/** The parts of a result that decide which selections it belongs to. */
export type QuestionKey = Pick<Measurement, 'questionId' | 'benchmark' | 'subset' | 'entitiesCompared'>;

const SUBSETS = [
  'all',
  'single_hop',
  'parallelizable',
  'parallelizable_2_to_4',
  'parallelizable_5',
  'sequential',
  'hybrid',
] as const;

/** One metric of one answered question; shares are 0 or 1, turns and calls are counts. */
export function metricOf(result: Measurement, metric: Metric): number {
  switch (metric) {
    case 'em':
      return result.em;
    case 'f1':
      return result.f1;
    case 'turns':
      return result.turns;
    case 'model_calls':
      return result.modelCalls;
    case 'decomposition_ratio':
      return result.decomposed ? 1 : 0;
    case 'coverage':
      return result.coverage;
    case 'critical_path_ratio':
      return result.criticalPathRatio;
  }
}

/**
 * The mean of every metric over `results`, each counted once (micro). Throws when there are none: a mean of nothing
 * has no value.
 */
export function meanMetrics(results: readonly Measurement[]): Record<Metric, number> {
  if (results.length === 0) throw new Error('Expected at least one result to average, but got none.');
  const mean = (metric: Metric): number =>
    results.reduce((sum, result) => sum + metricOf(result, metric), 0) / results.length;
  return Object.fromEntries(METRICS.map((metric) => [metric, mean(metric)])) as Record<Metric, number>;
}

/** Whether a question is of `subset`. Comparisons of 5 are kept apart: B = 4 turns cannot ask them one by one. */
export function isInSubset(question: QuestionKey, subset: string): boolean {
  const compared = question.entitiesCompared;
  switch (subset) {
    case 'all':
      return true;
    case 'parallelizable_5':
      return question.subset === 'parallelizable' && compared === 5;
    case 'parallelizable_2_to_4':
      return question.subset === 'parallelizable' && compared >= 2 && compared <= 4;
    default:
      return question.subset === subset;
  }
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
  const weights = new Float64Array(questions.length);
  const sizes = new Map<string, number>();
  const groupOf = (q: QuestionKey): string => (selection.benchmark === 'average' ? q.benchmark : '');
  const selected = questions.map((question) => isSelected(question, selection));
  questions.forEach((question, i) => {
    if (selected[i]) sizes.set(groupOf(question), (sizes.get(groupOf(question)) ?? 0) + 1);
  });
  questions.forEach((question, i) => {
    if (selected[i]) weights[i] = 1 / (sizes.get(groupOf(question))! * sizes.size);
  });
  return weights;
}

/** Every selection that holds at least one question: over all, the average, each benchmark, and their subsets. */
export function selectionsOf(questions: readonly QuestionKey[]): Selection[] {
  const present = new Set(questions.map((question) => question.benchmark));
  const known = Object.keys(BENCHMARK_TITLES).filter((benchmark) => present.has(benchmark));
  const others = [...present].filter((benchmark) => !(benchmark in BENCHMARK_TITLES)).sort();
  const candidates: Selection[] = [{ benchmark: 'average', subset: 'all' }];
  for (const benchmark of ['all', ...known, ...others]) {
    for (const subset of SUBSETS) candidates.push({ benchmark, subset });
  }
  return candidates.filter((selection) => questions.some((question) => isSelected(question, selection)));
}
