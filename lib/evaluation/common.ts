/** Answers of several runs to the questions that all of them answered. */
import type { Measurement, QuestionResult } from './result.js';

/**
 * Each run's answers to the questions that every run has answered, as results whose
 * `method` is the run's name; the last answer where a question was answered again.
 */
export function answersInCommon(
  runs: Readonly<Record<string, readonly Measurement[]>>,
): QuestionResult[] {
  const last = Object.entries(runs).map(
    ([name, answers]) =>
      [name, new Map(answers.map((answer) => [answer.questionId, answer]))] as const,
  );
  return last.flatMap(([name, answers]) =>
    [...answers.values()]
      .filter(({ questionId }) => last.every(([, others]) => others.has(questionId)))
      .map((answer) => ({ ...answer, method: name, model: 'base' as const, warmUp: 1, seed: 1 })),
  );
}
