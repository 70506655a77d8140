/** Cumulative distributions as measures: the share of questions with at most so many calls, or tokens. */
import type { Measure } from '../../evaluation/measures.js';
import type { QuestionResult } from '../../evaluation/result.js';

/** What can be counted of an answer, by the metric that it is shown under. */
const COUNTED = {
  model_calls: ({ modelCalls }: QuestionResult) => modelCalls,
  response_tokens: ({ responseTokens }: QuestionResult) => responseTokens,
} as const;
export type CountedMetric = keyof typeof COUNTED;

/** A point of a cumulative distribution: the metric, and the most that still counts. */
export interface DistributionPoint {
  metric: CountedMetric;
  atMost: number;
}

/** Name of a point's metric in tidy rows, such as `model_calls_at_most_2`. */
export const atMostName = ({ metric, atMost }: DistributionPoint): string => `${metric}_at_most_${atMost}`;

/** Reads a name that {@link atMostName} wrote, else null. */
export function parseAtMost(name: string): DistributionPoint | null {
  const parts = /^(model_calls|response_tokens)_at_most_(\d+)$/.exec(name);
  return parts && { metric: parts[1] as CountedMetric, atMost: Number(parts[2]) };
}

/** The cumulative distribution of a metric, at steps that reach from nothing to everything. */
export function distributionMeasures(metric: CountedMetric, results: readonly QuestionResult[]): Measure[] {
  const count = COUNTED[metric];
  const largest = results.reduce((most, result) => Math.max(most, count(result)), 0);
  return thresholds(largest).map((atMost) => ({
    metric: atMostName({ metric, atMost }),
    of: (answer) => (count(answer) <= atMost ? 1 : 0),
  }));
}

/** Whole numbers from 0 to `largest` or just beyond, at most 16 equal steps of a round width. */
export function thresholds(largest: number): number[] {
  const widths = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  const width = widths.find((step) => largest / step <= 15) ?? Math.ceil(largest / 15);
  return Array.from({ length: Math.ceil(largest / width) + 1 }, (_, i) => i * width);
}
