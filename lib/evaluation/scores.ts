/** Results as one block of numbers: what the bootstrap resamples. */
import type { Measure } from './metrics.js';
import type { QuestionResult } from './result.js';
import type { QuestionKey } from './selections.js';

/** One trained (or untrained) policy, evaluated on every question. */
export interface Run {
  method: string;
  model: string;
  /** Seed of the initial model. */
  warmUp: number;
  /** Seed of reinforcement. */
  seed: number;
}

export interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /**
   * Names of the columns of each run: a measure's own, and that of its denominator unless
   * it is constant.
   */
  columns: string[];
  /** (questions, runs, columns), row-major. */
  values: Float64Array;
}

const nameOf = ({ method, model, warmUp = 1, seed }: Pick<QuestionResult, keyof Run>): string =>
  `${method}/${model}${warmUp === 1 ? '' : `/warm-up ${warmUp}`}/seed ${seed}`;

/** Name of the column with a measure's denominator. */
export const denominatorOf = (metric: string): string => `${metric}, denominator`;

type Column = [name: string, of: (answer: QuestionResult) => number];

function columnsOf({ metric, of, per, among }: Measure): Column[] {
  const ifCounted = (value: Measure['of']): Measure['of'] =>
    among ? (answer) => (among(answer) ? value(answer) : 0) : value;
  const numerator: Column = [metric, ifCounted(of)];
  if (!per && !among) return [numerator];
  return [numerator, [denominatorOf(metric), ifCounted(per ?? (() => 1))]];
}

/**
 * Arranges results by question and run.
 * @throws Error unless every run answered every question exactly once, with a finite
 * number in each column: a comparison of policies on different questions is none, and a
 * missing line would pass unseen in a mean
 */
export function scoreTable(
  results: readonly QuestionResult[],
  measures: readonly Measure[],
): ScoreTable {
  const questions = new Map<string, QuestionKey & { at: number }>();
  const runs = new Map<string, Run & { at: number }>();
  for (const result of results) {
    const { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo } = result;
    const { method, model, warmUp = 1, seed } = result;
    if (!questions.has(questionId)) {
      const key = { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo };
      questions.set(questionId, { ...key, at: questions.size });
    }
    if (!runs.has(nameOf(result)))
      runs.set(nameOf(result), { method, model, warmUp, seed, at: runs.size });
  }
  const columns = measures.flatMap(columnsOf);
  const offsetOf = (question: { at: number }, run: { at: number }): number =>
    (question.at * runs.size + run.at) * columns.length;
  const values = new Float64Array(questions.size * runs.size * columns.length).fill(NaN);
  for (const result of results) {
    const run = nameOf(result);
    const offset = offsetOf(questions.get(result.questionId)!, runs.get(run)!);
    if (!Number.isNaN(values[offset]))
      throw new Error(
        `Expected one result for each question and run, but ${run} answered ${result.questionId} twice.`,
      );
    columns.forEach(([column, of], c) => {
      const value = of(result);
      if (!Number.isFinite(value))
        throw new Error(
          `Expected ${run} to have a number for ${column} of ${result.questionId}, but got ${value}. Evaluate it again.`,
        );
      values[offset + c] = value;
    });
  }
  for (const [name, run] of runs) {
    const missing = [...questions.values()].filter((question) =>
      Number.isNaN(values[offsetOf(question, run)]),
    );
    if (missing.length > 0)
      throw new Error(
        `Expected ${name} to have answered all ${questions.size} questions, but ${missing.length} are missing, ` +
          `the first is ${missing[0].questionId}. Finish the evaluation, or leave this run out.`,
      );
  }
  return {
    runs: [...runs.values()],
    questions: [...questions.values()],
    columns: columns.map(([name]) => name),
    values,
  };
}
