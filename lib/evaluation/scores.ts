/** Results as one block of numbers, which the bootstrap resamples. */
import type { Measure } from './metrics.js';
import type { QuestionResult } from './result.js';
import type { QuestionKey } from './selections.js';

/** A policy evaluated on every question. */
export interface Run {
  method: string;
  model: string;
  /** Seed of the initial model. */
  warmUp: number;
  /** Seed of RL. */
  seed: number;
}

export interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /** Columns per run: each measure, and its denominator unless constant. */
  columns: string[];
  /** (questions, runs, columns), row-major. */
  values: Float64Array;
}

const runName = ({ method, model, warmUp = 1, seed }: Pick<QuestionResult, keyof Run>): string =>
  `${method}/${model}${warmUp === 1 ? '' : `/warm-up ${warmUp}`}/seed ${seed}`;

export const denominatorColumn = (metric: string): string => `${metric}, denominator`;

type Column = [name: string, value: (answer: QuestionResult) => number];

function measureColumns({ metric, of, per, among }: Measure): Column[] {
  const ifCounted = (value: Measure['of']): Measure['of'] =>
    among ? (answer) => (among(answer) ? value(answer) : 0) : value;
  const numerator: Column = [metric, ifCounted(of)];
  if (!per && !among) return [numerator];
  return [numerator, [denominatorColumn(metric), ifCounted(per ?? (() => 1))]];
}

/**
 * Arranges results by question and run.
 * @throws Error unless every run answered every question exactly once with a finite
 * number in each column: otherwise a mean would silently compare different questions
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
    if (!runs.has(runName(result)))
      runs.set(runName(result), { method, model, warmUp, seed, at: runs.size });
  }
  const columns = measures.flatMap(measureColumns);
  const findOffset = (question: { at: number }, run: { at: number }): number =>
    (question.at * runs.size + run.at) * columns.length;
  const values = new Float64Array(questions.size * runs.size * columns.length).fill(NaN);
  for (const result of results) {
    const run = runName(result);
    const offset = findOffset(questions.get(result.questionId)!, runs.get(run)!);
    if (!Number.isNaN(values[offset]))
      throw new Error(
        `Expected one result per question and run, but ${run} answered ${result.questionId} twice.`,
      );
    columns.forEach(([column, read], c) => {
      const value = read(result);
      if (!Number.isFinite(value))
        throw new Error(
          `Expected ${run} to have a number for ${column} of ${result.questionId}, but got ${value}. Evaluate it again.`,
        );
      values[offset + c] = value;
    });
  }
  for (const [name, run] of runs) {
    const missing = [...questions.values()].filter((question) =>
      Number.isNaN(values[findOffset(question, run)]),
    );
    if (missing.length > 0)
      throw new Error(
        `Expected ${name} to have answered all ${questions.size} questions, but ${missing.length} are missing, ` +
          `such as ${missing[0].questionId}. Finish the evaluation or leave this run out.`,
      );
  }
  return {
    runs: [...runs.values()],
    questions: [...questions.values()],
    columns: columns.map(([name]) => name),
    values,
  };
}
