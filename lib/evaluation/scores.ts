/** Results as one block of numbers: what the bootstrap resamples. */
import { METRICS, metricOf, type QuestionKey } from './metrics.js';
import type { QuestionResult } from './result.js';

/** One trained (or untrained) policy, evaluated on every question. */
export interface Run {
  method: string;
  start: string;
  seed: number;
}

export interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /** (questions, runs, METRICS), row-major. */
  values: Float64Array;
}

const nameOf = (run: Run): string => `${run.method}/${run.start}/seed ${run.seed}`;

/**
 * Arranges results by question and run. Throws unless every run answered every question exactly once: a comparison of
 * policies on different questions is none, and a missing line would pass unseen in a mean.
 */
export function scoreTable(results: readonly QuestionResult[]): ScoreTable {
  const questionIndex = new Map<string, number>();
  const runIndex = new Map<string, number>();
  const questions: QuestionKey[] = [];
  const runs: Run[] = [];
  for (const { questionId, benchmark, subset, entitiesCompared, method, start, seed } of results) {
    if (!questionIndex.has(questionId)) {
      questionIndex.set(questionId, questions.push({ questionId, benchmark, subset, entitiesCompared }) - 1);
    }
    const run = { method, start, seed };
    if (!runIndex.has(nameOf(run))) runIndex.set(nameOf(run), runs.push(run) - 1);
  }
  const values = new Float64Array(questions.length * runs.length * METRICS.length).fill(NaN);
  for (const result of results) {
    const cell = questionIndex.get(result.questionId)! * runs.length + runIndex.get(nameOf(result))!;
    const offset = cell * METRICS.length;
    if (!Number.isNaN(values[offset])) {
      throw new Error(
        `Expected one result for each question and run, but ${nameOf(result)} answered ${result.questionId} twice.`,
      );
    }
    METRICS.forEach((metric, m) => (values[offset + m] = metricOf(result, metric)));
  }
  checkComplete({ runs, questions, values });
  return { runs, questions, values };
}

function checkComplete({ runs, questions, values }: ScoreTable): void {
  runs.forEach((run, r) => {
    const missing = questions.filter((_, q) => Number.isNaN(values[(q * runs.length + r) * METRICS.length]));
    if (missing.length > 0) {
      throw new Error(
        `Expected ${nameOf(run)} to have answered all ${questions.length} questions, but ${missing.length} are missing, ` +
          `the first is ${missing[0].questionId}. Finish the evaluation, or leave this run out.`,
      );
    }
  });
}
