/** Which of the graph's independent sub-questions were asked: a sub-query asks for an entity when its words hold the name. */
import { independentSubQuestions, type Question } from '../data/question.js';
import { normalizeAnswer } from '../text/normalize.js';

type Searches = readonly (readonly string[])[];

/**
 * The share of the graph's independent sub-questions that some search asked: one whose words hold the entity's name.
 * One by one counts as well as together.
 */
export function coverage(question: Question, searches: Searches): number {
  const entities = independentEntities(question);
  const asked = searches.flat().map(wordsOf);
  const covered = entities.filter((entity) => asked.some((query) => query.includes(entity)));
  return entities.length === 0 ? 0 : covered.length / entities.length;
}

/** Sub-queries against independent sub-questions, one to one. */
export interface SubQuestionMatch {
  /** Sub-queries asked, in all turns. */
  asked: number;
  /** Independent sub-questions of the graph. */
  independent: number;
  /** Pairs of a sub-query and a sub-question that it asks. */
  matched: number;
  /** The most such pairs within one turn. */
  atOnce: number;
}

/**
 * Pairs sub-queries with the independent sub-questions, each at most once and as many as possible: a repeated sub-query
 * is one too many, and a sub-query that names two entities asks one sub-question, where {@link coverage} would count both.
 */
export function matchSubQuestions(question: Question, searches: Searches): SubQuestionMatch {
  const entities = independentEntities(question);
  const turns = searches.map((turn) => turn.map(wordsOf));
  return {
    asked: turns.flat().length,
    independent: entities.length,
    matched: mostPairs(turns.flat(), entities),
    atOnce: Math.max(0, ...turns.map((turn) => mostPairs(turn, entities))),
  };
}

const wordsOf = (text: string): string => ` ${normalizeAnswer(text)} `;

const independentEntities = ({ metadata }: Question): string[] =>
  independentSubQuestions(metadata.graph ?? []).map(({ entity }) => wordsOf(entity));

/** Size of the largest matching of queries with entities that they name, by augmenting paths. */
function mostPairs(queries: readonly string[], entities: readonly string[]): number {
  const queryOf = new Map<string, string>();
  const assign = (query: string, tried: Set<string>): boolean =>
    entities.some((entity) => {
      if (tried.has(entity) || !query.includes(entity)) return false;
      tried.add(entity);
      const holder = queryOf.get(entity);
      if (holder !== undefined && !assign(holder, tried)) return false;
      queryOf.set(entity, query);
      return true;
    });
  return queries.filter((query) => assign(query, new Set())).length;
}
