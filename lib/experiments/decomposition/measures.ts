/**
 * Decomposition against the verified dependency graphs, whether or not the answer is
 * right: which questions were parallelized, and which sub-questions were asked.
 */
import { range, sum } from 'd3-array';
import { independentSubQuestions, type Question } from '../../data/question.js';
import type { CurvePoint } from '../../report/curves.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { askedEntities, wordsOf, type Searches } from '../../rewards/coverage.js';

/**
 * Why sub-questions were left out: each that was is counted once, under the first that
 * applies.
 */
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
  const naming = queries.filter((query) =>
    entities.some(({ entity }) => query.includes(wordsOf(entity))),
  );
  const misnamed = Math.min(missing, queries.length - naming.length);
  const repeated = Math.min(missing - misnamed, naming.length - new Set(naming).size);
  return { no_search: 0, misnamed, repeated, overlooked: missing - misnamed - repeated };
}

/**
 * Pairs sub-queries with the independent sub-questions, each at most once and as many
 * as possible: a repeated sub-query is one too many, and a sub-query that names two
 * entities asks one sub-question, where `coverage` would count both.
 * @returns numbers of sub-queries `asked` in all turns, of `independent` sub-questions of
 * the graph, of pairs `matched`, and the most such pairs within one turn, `atOnce`
 */
export function matchSubQuestions({ metadata }: Question, searches: Searches) {
  const entities = independentSubQuestions(metadata.graph ?? []).map(({ entity }) =>
    wordsOf(entity),
  );
  const turns = searches.map((turn) => turn.map(wordsOf));
  return {
    asked: turns.flat().length,
    independent: entities.length,
    matched: mostPairs(turns.flat(), entities),
    atOnce: Math.max(0, ...turns.map((turn) => mostPairs(turn, entities))),
  };
}

/**
 * Computes something from an answer's searches and its question's graph, once for each
 * answer.
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

/**
 * Size of the largest matching of queries with entities that they name, by augmenting
 * paths.
 */
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

const PARALLEL = ['parallelizable', ...range(2, 9).map((count) => `entities_${count}`)];
const isParallel = ({ subset }: QuestionResult): boolean => subset === 'parallelizable';
const isRight = ({ em }: QuestionResult): boolean => em === 1;

type Count = Measure['of'];

/**
 * Precision, recall and F1 of what was `found` where something was `wanted`; counts are
 * pooled before they are divided.
 */
const pooled = (
  name: string,
  { hits, found, wanted }: Record<'hits' | 'found' | 'wanted', Count>,
): Measure[] => [
  { metric: `${name}_precision`, of: hits, per: found },
  { metric: `${name}_recall`, of: hits, per: wanted },
  {
    metric: `${name}_f1`,
    of: (answer) => 2 * hits(answer),
    per: (answer) => found(answer) + wanted(answer),
  },
];

/**
 * Is a question that is decomposed parallelizable, and is a parallelizable question
 * decomposed?
 */
const PARALLELIZING = pooled('parallelizing', {
  hits: (answer) => Number(answer.decomposed && isParallel(answer)),
  found: ({ decomposed }) => Number(decomposed),
  wanted: (answer) => Number(isParallel(answer)),
});

/**
 * A metric among the answers for which `isGiven` holds, and among the others, under names
 * of their own.
 */
const given = (
  metric: Metric,
  isGiven: (answer: QuestionResult) => boolean,
  names: [string, string],
): Measure[] =>
  names.map((name, i) => {
    const isCounted = (answer: QuestionResult): boolean => isGiven(answer) === (i === 0);
    return {
      metric: `${metric}_if_${name}`,
      of: (answer) => (isCounted(answer) ? mainMeasure(metric).of(answer) : 0),
      per: (answer) => Number(isCounted(answer)),
    };
  });

/** The sub-queries against the sub-questions. */
function matchMeasures(questions: readonly Question[]): Measure[] {
  const matchOf = againstGraph(questions, matchSubQuestions);
  const shares: Measure[] = [
    {
      metric: 'asked_at_once',
      of: (answer) => matchOf(answer).atOnce / matchOf(answer).independent,
    },
    {
      metric: 'complete_at_once',
      of: (answer) => Number(matchOf(answer).atOnce === matchOf(answer).independent),
    },
  ];
  const matches = pooled('match', {
    hits: (answer) => matchOf(answer).matched,
    found: (answer) => matchOf(answer).asked,
    wanted: (answer) => matchOf(answer).independent,
  });
  return [
    ...matches.map((measure) => ({ ...measure, subsets: PARALLEL })),
    ...shares.map((measure) => ({ ...measure, subsets: [...PARALLEL, 'hybrid'] })),
  ];
}

/** Everything that is measured against the graphs of `questions`. */
export function decompositionMeasures(questions: readonly Question[]): Measure[] {
  const metrics: Metric[] = [
    ...([
      'decomposition_ratio',
      'coverage',
      'retrievals',
      'repeated_queries',
      'em',
      'model_calls',
    ] as const),
  ];
  const isClear: Measure['among'] = ({ subset }) => subset !== 'hybrid';
  return [
    // Hybrid questions have an independent and a dependent part: neither yes nor no would
    // be right, so they stand apart.
    ...PARALLELIZING.map((measure) => ({
      ...measure,
      among: isClear,
      subsets: ['all', 'wording_seen', 'wording_unseen'],
    })),
    ...matchMeasures(questions),
    ...omissionMeasures(questions),
    ...metrics.map(mainMeasure),
    ...given('decomposition_ratio', isRight, ['right', 'wrong']),
    ...given('coverage', isRight, ['right', 'wrong']),
    ...given('em', ({ decomposed }) => decomposed, ['decomposed', 'not_decomposed']),
  ];
}

/**
 * The same over training, from what every step recorded: `parallelizing_precision`,
 * `parallelizing_recall` and `parallelizing_f1` of its rollouts. Null where a step has
 * nothing to divide by.
 */
export const parallelizingCurves = (curves: readonly CurvePoint[]): CurvePoint[] =>
  curves.map((point) => {
    const numberOf = (name: string): number =>
      typeof point[name] === 'number' ? point[name] : NaN;
    const [decomposed, share] = [numberOf('decomposition_ratio'), numberOf('share/parallelizable')];
    const hits = share * numberOf('decomposition_ratio/parallelizable');
    const quotient = (numerator: number, denominator: number): number | null =>
      Number.isFinite(numerator / denominator) ? numerator / denominator : null;
    return {
      ...point,
      parallelizing_precision: quotient(hits, decomposed),
      parallelizing_recall: quotient(hits, share),
      parallelizing_f1: quotient(2 * hits, decomposed + share),
    };
  });

/**
 * Why sub-questions of parallelizable questions were left out: shares of those that were.
 */
function omissionMeasures(questions: readonly Question[]): Measure[] {
  const omissionsOf = againstGraph(questions, countOmissions);
  return (['misnamed', 'repeated', 'no_search', 'overlooked'] as const).map((reason) => ({
    metric: `omitted_${reason}`,
    of: (answer) => omissionsOf(answer)[reason],
    per: (answer) => sum(Object.values(omissionsOf(answer))),
    subsets: PARALLEL,
  }));
}
