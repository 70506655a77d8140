/** Searches against the independent sub-questions of a question's graph: which ask which, and why some were left out. */
import { independentSubQuestions, type Question } from '../../data/question.js';
import { askedEntities, wordsOf, type Searches } from '../../rewards/coverage.js';

/** Why sub-questions were left out: each that was is counted once, under the first that applies. */
export interface Omissions {
  /** The answer searched for nothing. */
  no_search: number;
  /** A sub-query that names no entity of the question is there in its place. */
  misnamed: number;
  /** A sub-query that was asked before is there in its place. */
  repeated: number;
  /** No sub-query stands for it. */
  overlooked: number;
}

/** The independent sub-questions that were left out. */
export function countOmissions(question: Question, searches: Searches): Omissions {
  const entities = askedEntities(question, searches);
  const missing = entities.filter(({ asked }) => !asked).length;
  const queries = searches.flat().map(wordsOf);
  if (queries.length === 0) return { no_search: missing, misnamed: 0, repeated: 0, overlooked: 0 };
  const naming = queries.filter((query) => entities.some(({ entity }) => query.includes(wordsOf(entity))));
  const misnamed = Math.min(missing, queries.length - naming.length);
  const repeated = Math.min(missing - misnamed, naming.length - new Set(naming).size);
  return { no_search: 0, misnamed, repeated, overlooked: missing - misnamed - repeated };
}

/**
 * Pairs sub-queries with the independent sub-questions, each at most once and as many as possible: a repeated sub-query
 * is one too many, and a sub-query that names two entities asks one sub-question, where `coverage` would count both.
 * @returns numbers of sub-queries `asked` in all turns, of `independent` sub-questions of the graph, of pairs `matched`, and
 * the most such pairs within one turn, `atOnce`
 */
export function matchSubQuestions({ metadata }: Question, searches: Searches) {
  const entities = independentSubQuestions(metadata.graph ?? []).map(({ entity }) => wordsOf(entity));
  const turns = searches.map((turn) => turn.map(wordsOf));
  return {
    asked: turns.flat().length,
    independent: entities.length,
    matched: mostPairs(turns.flat(), entities),
    atOnce: Math.max(0, ...turns.map((turn) => mostPairs(turn, entities))),
  };
}

/**
 * Computes something from an answer's searches and its question's graph, once for each answer.
 * @throws Error naming a question that is not among `questions` or has no graph
 */
export function againstGraph<T>(
  questions: readonly Question[],
  compute: (question: Question, searches: Searches) => T,
): (answer: { questionId: string; searches: Searches }) => T {
  const byId = new Map(questions.map((question) => [question.id, question]));
  const known = new WeakMap<object, T>();
  return (answer) => {
    const before = known.get(answer);
    if (before !== undefined) return before;
    const question = byId.get(answer.questionId);
    if (!question?.metadata.graph) {
      throw new Error(
        `Expected a dependency graph of question ${answer.questionId}, but there is none. Give the questions that were evaluated.`,
      );
    }
    const computed = compute(question, answer.searches);
    known.set(answer, computed);
    return computed;
  };
}

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
