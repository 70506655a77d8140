/** What is measured of answers: a mean over them, or a ratio of two such means. */
import { mean } from 'd3-array';
import type { Measurement, QuestionResult } from './result.js';
import type { QuestionKey } from './selections.js';
import { paddedWords } from '../rewards/sub-questions.js';

/** The share of the sub-queries that ask again, word by word, what was asked before. */
export function repeatedQueries({ searches }: Measurement): number {
  const queries = searches.flat();
  return queries.length === 0 ? 0 : 1 - new Set(queries.map(paddedWords)).size / queries.length;
}

/**
 * The metrics of a tidy row, in the order in which tables show them: shares are 0 or 1 of
 * a single answer, turns, calls and tokens are counts.
 */
const METRIC_OF = {
  em: ({ em }) => em,
  f1: ({ f1 }) => f1,
  turns: ({ turns }) => turns,
  model_calls: ({ modelCalls }) => modelCalls,
  retrievals: ({ searches }) => searches.flat().length,
  repeated_queries: repeatedQueries,
  decomposition_ratio: ({ decomposed }) => Number(decomposed),
  coverage: ({ coverage }) => coverage,
  evidence_seen: ({ evidenceSeen }) => evidenceSeen,
  critical_path_ratio: ({ criticalPathRatio }) => criticalPathRatio,
  tokens_written: ({ responseTokens }) => responseTokens,
} satisfies Record<string, (answer: Measurement) => number>;
export type Metric = keyof typeof METRIC_OF;
export const METRICS = Object.keys(METRIC_OF) as Metric[];

/** A figure that can be computed for any selection of questions, with an interval. */
export interface Measure {
  /** Its name in tidy rows. */
  metric: string;
  /** One answer's share in the figure, or in its numerator. */
  of: (answer: QuestionResult) => number;
  /**
   * One answer's share in the denominator; by default every answer counts once, which
   * makes a mean.
   */
  per?: (answer: QuestionResult) => number;
  /** The questions that it is about; others do not count. Default: all. */
  among?: (question: QuestionKey) => boolean;
  /** Subsets for which it is given; default all. */
  subsets?: readonly string[];
  /**
   * Whether two methods are compared by their ratio as well: counts and times are, shares
   * usually are not.
   */
  byRatio?: boolean;
}

const COUNTS: readonly Metric[] = [
  ...(['turns', 'model_calls', 'retrievals', 'critical_path_ratio', 'tokens_written'] as const),
];

/** The measure of a metric of the main report. */
export const mainMeasure = (metric: Metric): Measure => ({
  metric,
  of: METRIC_OF[metric],
  byRatio: COUNTS.includes(metric),
});

/** What the main report shows. */
export const MAIN_MEASURES: readonly Measure[] = METRICS.map(mainMeasure);

/**
 * The mean of every metric over `results`, each counted once (micro); what needs a
 * dependency graph is the mean over the questions that have one, NaN where none has.
 * @throws Error when there are none: a mean of nothing has no value
 */
export function meanMetrics(results: readonly Measurement[]): Record<Metric, number> {
  if (results.length === 0)
    throw new Error('Expected at least one result to average, but got none.');
  const means = METRICS.map((metric) => [metric, mean(results, METRIC_OF[metric]) ?? NaN]);
  return Object.fromEntries(means) as Record<Metric, number>;
}
