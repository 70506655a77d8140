/**
 * Decomposition against the verified dependency graphs, whether or not the answer is
 * right: which questions were parallelized, and which sub-questions were asked.
 */
import { range, sum } from 'd3-array';
import { join } from 'node:path';
import { readQuestions } from '../data/flashrag.js';
import { independentSubQuestions, type Question } from '../data/question.js';
import type { Interval } from '../evaluation/bootstrap.js';
import { mainMeasure, type Measure, type Metric } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import { MANY } from '../evaluation/selections.js';
import { matching, type MethodPair, type SummaryOptions } from '../evaluation/table.js';
import { SMALL_WORLD } from '../io/paths.js';
import { type CurvePoint, trainingRows } from '../report/curves.js';
import { figureText } from '../report/text.js';
import { askedEntities, type Searches, wordsOf } from '../rewards/coverage.js';
import { listed } from '../text/listed.js';
import { count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { type Predicted, reportOf, summarise, told } from './report.js';
import { INITIAL_MODELS } from '../methods/checkpoints.js';
import { type Numbers, OURS, type PaperClaim, partsWhere } from './verdicts.js';

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

/**
 * F1 of a policy that decomposes every question: what there is to beat. Null where the
 * rows do not say how many there are.
 */
export function alwaysF1(rows: Numbers['rows']): number | null {
  const size = (subset: string, metric: string): unknown =>
    matching(rows, { benchmark: 'all', subset, metric })[0]?.n;
  const [all, parallel] = [size('all', 'parallelizing_f1'), size('parallelizable', 'coverage')];
  return typeof all === 'number' && typeof parallel === 'number'
    ? (2 * parallel) / (all + parallel)
    : null;
}

export const decompositionClaims: readonly PaperClaim[] = [
  {
    id: 'recognises',
    claim: 'Recognises which questions are parallelizable',
    paper: 'stated, no figure',
    tables: () => 'nothing: decomposition is counted on parallelizable questions only',
    evidence: {
      cell: 'parallelizing-table',
      rule: 'F1 against the dependency graphs from both models above that of decomposing every question',
      parts: ({ rows }) => {
        const always = alwaysF1(rows);
        if (always === null) return [];
        return INITIAL_MODELS.flatMap((model) => {
          const cell = { ...OURS, model, subset: 'all', metric: 'parallelizing_f1' };
          const of = `F1 (${model}; always: ${figureText(always)})`;
          return partsWhere(rows, cell, { of, unit: 'number', side: 'above', threshold: always });
        });
      },
    },
  },
];

export const decomposition: Experiment = {
  name: 'decomposition',
  title: 'what was asked, against the dependency graphs',
  reads: [mainResults.name],
  claims: decompositionClaims,
};

/** What is shown over training. */
const DYNAMICS = [
  'parallelizing_precision',
  'parallelizing_recall',
  'parallelizing_f1',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
  'coverage/parallelizable',
];

/** Which questions are decomposed, and how much of them is asked. */
const PREDICTED: readonly Predicted[] = INITIAL_MODELS.flatMap((model): Predicted[] => {
  const ours = { method: 'parallelsearch', model, benchmark: 'all' };
  const holds = ({ value }: Interval): boolean => value >= 0.95;
  return [
    {
      prediction: `F1 of parallelizing is at least 0.95 on wordings never seen (${model})`,
      figure: { ...ours, subset: 'wording_unseen', metric: 'parallelizing_f1' },
      holds,
    },
    {
      prediction: `Asks for at least 95 % of the sub-questions of parallelizable questions (${model})`,
      figure: { ...ours, subset: 'parallelizable', metric: 'coverage' },
      holds,
    },
  ];
});

/** How well ParallelSearch tells parallelizable questions from others, in a sentence. */
function findingOf(rows: Numbers['rows']): string {
  const f1 = { ...OURS, subset: 'all', metric: 'parallelizing_f1' };
  const found = INITIAL_MODELS.map((model) => `${told(rows, { ...f1, model }).text} from ${model}`);
  return `ParallelSearch tells parallelizable questions from others with an F1 of ${listed(found)}; decomposing every question would give ${figureText(alwaysF1(rows))}.`;
}

/**
 * ParallelSearch beside what is sequential, what the prompt alone does, and what there
 * was before.
 */
const PAIRS = ['search-r1', 'search-r1-parallel-prompt', 'untrained:parallel'].map(
  (against): MethodPair => ['parallelsearch', against],
);
const SHOWN = new Set(PAIRS.flat());

/**
 * Wordings, numbers of entities and the like are of all questions and of comparisons of
 * many; single benchmarks are given by shape.
 */
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  ['all', MANY].includes(benchmark) ||
  (benchmark !== 'average' && ['all', 'parallelizable', 'sequential'].includes(subset));

/**
 * Reads the main comparison's answers and holds them against the graphs of their
 * questions, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadDecomposition(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => SHOWN.has(method));
  const questions = await readQuestions(join(SMALL_WORLD, 'questions.jsonl'));
  const measures = decompositionMeasures(questions);
  const tidy = summarise({ answers, provenance }, { measures, selects, pairs: PAIRS }, options);
  const training = trainingRows(parallelizingCurves(curves), DYNAMICS);
  return reportOf({
    finding: findingOf(tidy.rows.map((row) => ({ ...row }))),
    summary: `${count(answers)} answers, each held against the dependency graph of its question.`,
    tidy,
    training,
    predicted: PREDICTED,
    // Training curves: a row for each metric, run and window of steps.
    frames: { training },
  });
}
export type Decomposition = Awaited<ReturnType<typeof loadDecomposition>>;
