import { independentSubQuestions, type Question } from '../data/question.js';
import { normalizeAnswer } from '../text/normalize.js';

/**
 * The share of the graph's independent sub-questions that some search asked: one whose words hold the entity's name.
 * One by one counts as well as together.
 */
export function coverage(question: Question, searches: readonly (readonly string[])[]): number {
  const roots = independentSubQuestions(question.metadata.graph ?? []);
  const asked = searches.flat().map((query) => ` ${normalizeAnswer(query)} `);
  const covered = roots.filter(({ entity }) =>
    asked.some((query) => query.includes(` ${normalizeAnswer(entity)} `)),
  );
  return roots.length === 0 ? 0 : covered.length / roots.length;
}
