/** Minimal questions for tests. */
import type { Question, QuestionGraph, SubQuestion } from '../../lib/data/question.js';

export const subQuestion = (id: string, fields: Partial<SubQuestion> = {}): SubQuestion => ({
  id,
  question: `What is ${id}?`,
  entity: id,
  attribute: 'name',
  query: id,
  dependsOn: [],
  answers: ['x'],
  evidence: [],
  ...fields,
});

/** A graph from `id: [ids it depends on]`. */
export const graphOf = (edges: Record<string, string[]>): QuestionGraph =>
  Object.entries(edges).map(([id, dependsOn]) => subQuestion(id, { dependsOn }));

export const questionOf = (graph: QuestionGraph, fields: Partial<Question> = {}): Question => ({
  id: 'q',
  question: 'q?',
  goldenAnswers: ['x'],
  metadata: { graph },
  ...fields,
});
