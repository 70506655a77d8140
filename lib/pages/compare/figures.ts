/** The figures that runs end with, with their intervals. */
import { mean, range } from 'd3-array';
import { percentileInterval, type Interval } from '../../evaluation/bootstrap.js';
import { answersInCommon } from '../../evaluation/common.js';
import { MAIN_MEASURES } from '../../evaluation/metrics.js';
import { summariseResults, type TidyResults } from '../../evaluation/table.js';
import { createRandom } from '../../random.js';
import type { ComparedRun } from './runs.js';

/** Steps at the end of a training whose mean is its final figure, as a share of all. */
const LAST_SHARE = 0.1;
const LEAST_STEPS = 5;
const RESAMPLES = 1000;

/**
 * The mean of a metric over the last steps, with the 95 % of a bootstrap over these
 * steps; null where they lack it.
 */
export function finalFigure(
  { steps, name }: Pick<ComparedRun, 'steps' | 'name'>,
  metric: string,
): (Interval & { numSteps: number }) | null {
  const last = steps.slice(-Math.max(LEAST_STEPS, Math.round(LAST_SHARE * steps.length)));
  const values = last.flatMap(({ metrics }) => metrics[metric] ?? []);
  if (values.length === 0) return null;
  const random = createRandom(`final figures/${name}/${metric}`);
  const samples = Float64Array.from(range(RESAMPLES), () =>
    mean(values, () => random.choice(values))!,
  );
  return { ...percentileInterval({ value: mean(values)!, samples }), numSteps: values.length };
}

/**
 * Figures of the answers to those questions that every run with answers has answered,
 * and the difference of each run from the first, paired by question; null where no
 * question has been answered by all. What needs a dependency graph is left out where one
 * of the questions has none.
 */
export function answerFigures(
  runs: readonly ComparedRun[],
): (TidyResults & { numQuestions: number }) | null {
  const asked = runs.filter(({ answers }) => answers.length > 0);
  if (asked.length === 0) return null;
  const common = answersInCommon(
    Object.fromEntries(asked.map(({ name, answers }) => [name, answers])),
  );
  if (common.length === 0) return null;
  // Every question counts, of whichever benchmark.
  const results = common.map((own) => ({ ...own, benchmark: `asked: ${own.benchmark}` }));
  const tidy = summariseResults(results, {
    measures: MAIN_MEASURES.filter(({ of }) =>
      results.every((own) => Number.isFinite(of(own) ?? NaN)),
    ),
    selects: ({ benchmark, subset }) => benchmark === 'all' && subset === 'all',
    pairs: asked.slice(1).map(({ name }) => [name, asked[0].name] as const),
    resamples: RESAMPLES,
  });
  return { ...tidy, numQuestions: common.length / asked.length };
}
