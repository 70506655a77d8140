/**
 * Which of the graph's independent sub-questions were asked: a sub-query asks for an
 * entity when its words hold the name.
 */
import { mean } from 'd3-array';
import { independentSubQuestions, type Question } from '../data/question.js';
import { normalizeAnswer } from '../text/normalize.js';

export type Searches = readonly (readonly string[])[];

/**
 * An entity of the graph's independent sub-questions, and whether some search asked for
 * it: its words hold the name.
 */
export interface AskedEntity {
  entity: string;
  asked: boolean;
}

/**
 * The entities of the graph's independent sub-questions; one by one counts as well as
 * together.
 */
export function askedEntities(question: Question, searches: Searches): AskedEntity[] {
  const queries = searches.flat().map(wordsOf);
  return independentSubQuestions(question.metadata.graph ?? []).map(({ entity }) => ({
    entity,
    asked: queries.some((query) => query.includes(wordsOf(entity))),
  }));
}

/**
 * The share of the graph's independent sub-questions that some search asked; 0 where
 * there are none.
 */
export function coverage(question: Question, searches: Searches): number {
  return mean(askedEntities(question, searches), ({ asked }) => Number(asked)) ?? 0;
}

/**
 * The words of a text between blanks, so that a name that it `includes` stands in it as
 * whole words.
 */
export const wordsOf = (text: string): string => ` ${normalizeAnswer(text)} `;
