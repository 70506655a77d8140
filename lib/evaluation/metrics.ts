/** Metrics of answers: means, or ratios of two means. */
import { mean } from 'd3-array';
import { criticalSteps } from '../rewards/sub-questions.js';
import { paddedWords } from '../text/answer-match.js';
import type { Measurement, QuestionResult } from './measurement.js';
import type { QuestionKey } from './selections.js';

export function repeatedQueries({ searches }: Pick<Measurement, 'searches'>): number {
  const queries = searches.flat();
  return queries.length === 0 ? 0 : 1 - new Set(queries.map(paddedWords)).size / queries.length;
}

/** The metrics of one answer, in the order of tables. */
const ANSWER_METRICS = {
  em: ({ em }) => em,
  f1: ({ f1 }) => f1,
  turns: ({ turns }) => turns,
  model_calls: ({ modelCalls }) => modelCalls,
  retrievals: ({ searches }) => searches.flat().length,
  critical_steps: criticalSteps,
  repeated_queries: repeatedQueries,
  decomposition_ratio: ({ decomposed }) => Number(decomposed),
  coverage: ({ coverage }) => coverage,
  evidence_seen: ({ evidenceSeen }) => evidenceSeen,
  critical_path_ratio: ({ criticalPathRatio }) => criticalPathRatio,
  tokens_written: ({ responseTokens }) => responseTokens,
} satisfies Record<string, (answer: Measurement) => number>;
export type Metric = keyof typeof ANSWER_METRICS;
export const METRICS = Object.keys(ANSWER_METRICS) as Metric[];

/** A figure with an interval, for any selection of questions. */
export interface Measure {
  metric: string;
  /** An answer's value, or its part of the numerator. */
  numerator: (answer: QuestionResult) => number;
  /** An answer's part of the denominator. Default: 1, for a mean. */
  denominator?: (answer: QuestionResult) => number;
  /** Which questions count. Default: all. */
  includes?: (question: QuestionKey) => boolean;
  /** Subsets that have this measure. Default: all. */
  subsets?: readonly string[];
  /** Whether methods are also compared by ratio, as for counts and times. */
  byRatio?: boolean;
}

const COUNTS: readonly Metric[] = [
  'turns',
  'model_calls',
  'retrievals',
  'critical_steps',
  'critical_path_ratio',
  'tokens_written',
];

export const mainMeasure = (metric: Metric): Measure => ({
  metric,
  numerator: ANSWER_METRICS[metric],
  byRatio: COUNTS.includes(metric),
});

export const MAIN_MEASURES: readonly Measure[] = METRICS.map(mainMeasure);

/** The main measures that every result has a value for. */
export const completeMeasures = (results: readonly QuestionResult[]): Measure[] =>
  MAIN_MEASURES.filter(({ numerator }) =>
    results.every((result) => Number.isFinite(numerator(result) ?? NaN)),
  );

/**
 * The mean of every metric over answers (micro average). Metrics that need a dependency
 * graph are averaged over the questions with one; NaN if there is none.
 * @throws Error if there are no results
 */
export function meanMetrics(results: readonly Measurement[]): Record<Metric, number> {
  if (results.length === 0)
    throw new Error('Expected at least one result to average, but got none.');
  const means = METRICS.map((metric) => [metric, mean(results, ANSWER_METRICS[metric]) ?? NaN]);
  return Object.fromEntries(means) as Record<Metric, number>;
}
