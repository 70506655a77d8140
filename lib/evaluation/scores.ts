/** Results as one block of numbers: what the bootstrap resamples. */
import { METRICS, metricOf, type QuestionKey } from './metrics.js';
import type { QuestionResult } from './result.js';

/** One trained (or untrained) policy, evaluated on every question. */
export interface Run {
  method: string;
  model: string;
  seed: number;
}

/** Numbers of a single answer, by the name of their column. */
export type Quantities = Readonly<Record<string, (answer: QuestionResult) => number>>;

export interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /** Names of the columns of each run. */
  columns: string[];
  /** (questions, runs, columns), row-major. */
  values: Float64Array;
}

const METRIC_QUANTITIES: Quantities = Object.fromEntries(
  METRICS.map((metric) => [metric, (answer) => metricOf(answer, metric)]),
);

const nameOf = (run: Run): string => `${run.method}/${run.model}/seed ${run.seed}`;

/**
 * Arranges results by question and run. Throws unless every run answered every question exactly once: a comparison of
 * policies on different questions is none, and a missing line would pass unseen in a mean.
 * @param quantities one column each; default the metrics of the main report
 */
export function scoreTable(
  results: readonly QuestionResult[],
  quantities: Quantities = METRIC_QUANTITIES,
): ScoreTable {
  const questionIndex = new Map<string, number>();
  const runIndex = new Map<string, number>();
  const questions: QuestionKey[] = [];
  const runs: Run[] = [];
  for (const { questionId, benchmark, subset, entitiesCompared, method, model, seed } of results) {
    if (!questionIndex.has(questionId)) {
      questionIndex.set(questionId, questions.push({ questionId, benchmark, subset, entitiesCompared }) - 1);
    }
    const run = { method, model, seed };
    if (!runIndex.has(nameOf(run))) runIndex.set(nameOf(run), runs.push(run) - 1);
  }
  const columns = Object.keys(quantities);
  const values = new Float64Array(questions.length * runs.length * columns.length).fill(NaN);
  for (const result of results) {
    const cell = questionIndex.get(result.questionId)! * runs.length + runIndex.get(nameOf(result))!;
    const offset = cell * columns.length;
    if (!Number.isNaN(values[offset])) {
      throw new Error(
        `Expected one result for each question and run, but ${nameOf(result)} answered ${result.questionId} twice.`,
      );
    }
    columns.forEach((column, c) => (values[offset + c] = finite(quantities[column](result), column, result)));
  }
  const table = { runs, questions, columns, values };
  checkComplete(table);
  return table;
}

function finite(value: number, column: string, result: QuestionResult): number {
  if (Number.isFinite(value)) return value;
  throw new Error(
    `Expected ${nameOf(result)} to have a number for ${column} of ${result.questionId}, but got ${value}. Evaluate it again.`,
  );
}

function checkComplete({ runs, questions, columns, values }: ScoreTable): void {
  runs.forEach((run, r) => {
    const missing = questions.filter((_, q) => Number.isNaN(values[(q * runs.length + r) * columns.length]));
    if (missing.length > 0) {
      throw new Error(
        `Expected ${nameOf(run)} to have answered all ${questions.length} questions, but ${missing.length} are missing, ` +
          `the first is ${missing[0].questionId}. Finish the evaluation, or leave this run out.`,
      );
    }
  });
}
