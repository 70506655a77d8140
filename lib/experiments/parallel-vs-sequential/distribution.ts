/** Cumulative distributions as measures: the share of questions with at most so many calls, or tokens. */
import { max, range } from 'd3-array';
import { mainMeasure, RESPONSE_TOKENS, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { TidyRow } from '../../evaluation/table.js';

/** What is counted of an answer. */
const COUNTED: readonly Measure[] = [mainMeasure('model_calls'), RESPONSE_TOKENS];

/** Distributions of model calls and of response lengths, such as `model_calls_at_most_2`, in steps that reach from nothing to everything. */
export const distributionMeasures = (answers: readonly QuestionResult[]): Measure[] =>
  COUNTED.flatMap(({ metric, of: countOf }) =>
    thresholds(max(answers, countOf) ?? 0).map((atMost) => ({
      metric: `${metric}_at_most_${atMost}`,
      of: (answer) => (countOf(answer) <= atMost ? 1 : 0),
    })),
  );

/** Whole numbers from 0 to `largest` or just beyond, at most 16 equal steps of a round width. */
export function thresholds(largest: number): number[] {
  const widths = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  const width = widths.find((step) => largest / step <= 15) ?? Math.ceil(largest / 15);
  return range(Math.ceil(largest / width) + 1).map((i) => i * width);
}

/** The rows that are points of distributions: the metric is what was counted, the value the share of questions with at most so many. */
export const distributionPoints = (rows: readonly TidyRow[]): (TidyRow & { at_most: number })[] =>
  rows.flatMap((row) => {
    const [, metric, atMost] = /^(.+)_at_most_(\d+)$/.exec(row.metric) ?? [];
    return metric ? [{ ...row, metric, at_most: Number(atMost) }] : [];
  });
