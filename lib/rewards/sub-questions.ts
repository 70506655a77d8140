/** Which independent sub-questions of a graph were asked. */
import { mean } from 'd3-array';
import { independentSubQuestions, type Question, type QuestionGraph } from '../data/question.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { paddedWords } from '../text/normalize.js';

/** The sub-queries of each search turn. */
export type Searches = readonly (readonly string[])[];

export interface AskedEntity {
  entity: string;
  /** Whether a sub-query contains the entity's name. */
  asked: boolean;
}

/** The entities of the independent sub-questions, asked together or one by one. */
export function askedEntities(question: Question, searches: Searches): AskedEntity[] {
  const queries = searches.flat().map(paddedWords);
  return independentSubQuestions(question.metadata.graph ?? []).map(({ entity }) => ({
    entity,
    asked: queries.some((query) => query.includes(paddedWords(entity))),
  }));
}

/**
 * Fraction of the sub-questions of which a passage with the answer was shown; NaN without
 * any.
 */
export function evidenceRecall(
  graph: QuestionGraph,
  { searchTurns }: Pick<Trajectory, 'searchTurns'>,
): number {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results
      .flatMap((result) => (result.status === 'ok' ? result.passages : []))
      .map(({ id }) => id),
  );
  return mean(graph, ({ evidence }) => Number(evidence.some((id) => seen.has(id)))) ?? NaN;
}

/** Fraction of the independent sub-questions that were asked; 0 without any. */
export function subQuestionRecall(question: Question, searches: Searches): number {
  return mean(askedEntities(question, searches), ({ asked }) => Number(asked)) ?? 0;
}
