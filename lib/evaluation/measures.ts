/** What a figure of a tidy table is made of: a mean over answers, or a ratio of two such means. */
import { METRICS, metricOf, type Metric, type QuestionKey } from './metrics.js';
import type { QuestionResult } from './result.js';
import type { Quantities } from './scores.js';

/** A figure that can be computed for any selection of questions, with an interval. */
export interface Measure {
  /** Its name in tidy rows. */
  metric: string;
  /** One answer's share in the figure, or in its numerator. */
  of: (answer: QuestionResult) => number;
  /** One answer's share in the denominator; by default every answer counts once, which makes a mean. */
  per?: (answer: QuestionResult) => number;
  /** The questions that it is about; others do not count. Default: all. */
  among?: (question: QuestionKey) => boolean;
  /** Subsets for which it is given; default all. */
  subsets?: readonly string[];
  /** Whether two methods are compared by their ratio as well: counts and times are, shares usually are not. */
  byRatio?: boolean;
}

const COUNTS: readonly Metric[] = ['turns', 'model_calls', 'critical_path_ratio'];

/** The measure of a metric of the main report. */
export function mainMeasure(metric: Metric): Measure {
  return { metric, of: (answer) => metricOf(answer, metric), byRatio: COUNTS.includes(metric) };
}

/** What the main report shows. */
export const MAIN_MEASURES: readonly Measure[] = METRICS.map(mainMeasure);

/** Tokens that the policy wrote, per question. */
export const RESPONSE_TOKENS: Measure = {
  metric: 'response_tokens',
  of: ({ responseTokens }) => responseTokens,
  byRatio: true,
};

/** Names of a measure's columns in a table of scores: the numerator, and the denominator unless that is constant. */
export function columnsOf({ metric, per, among }: Measure): [numerator: string, denominator?: string] {
  return per || among ? [metric, `${metric}, denominator`] : [metric];
}

/** The quantities of single answers that measures need. */
export function quantitiesOf(measures: readonly Measure[]): Quantities {
  return Object.fromEntries(
    measures.flatMap((measure) => {
      const { of, per = () => 1, among = () => true } = measure;
      const [numerator, denominator] = columnsOf(measure);
      const entries: [string, (answer: QuestionResult) => number][] = [
        [numerator, (answer) => (among(answer) ? of(answer) : 0)],
      ];
      if (denominator) entries.push([denominator, (answer) => (among(answer) ? per(answer) : 0)]);
      return entries;
    }),
  );
}
