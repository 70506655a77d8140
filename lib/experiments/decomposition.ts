/**
 * Compares decompositions with the verified dependency graphs, whether or not the answer
 * is right: which questions were decomposed, which sub-questions were asked.
 */
import { join } from 'node:path';
import { max, sum } from 'd3-array';
import { readQuestions } from '../data/flashrag.js';
import { independentSubQuestions, type Question } from '../data/question.js';
import type { Interval } from '../evaluation/estimate.js';
import { mainMeasure, type Measure, type Metric } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/measurement.js';
import { ENTITY_SUBSETS, MANY } from '../evaluation/selections.js';
import { matching, meanValue } from '../evaluation/figures.js';
import type { MethodPair, SummaryOptions, TidyRow } from '../evaluation/table.js';
import { SMALL_WORLD } from '../io/paths.js';
import { memoised } from '../memoise.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { trainingRows, type CurvePoint } from '../report/training-rows.js';
import { figureText } from '../report/text.js';
import { askedEntities, type Searches } from '../rewards/sub-questions.js';
import { paddedWords } from '../text/answer-match.js';
import { countText } from '../text/english.js';
import { INITIAL_MODELS } from '../training/models.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { PARALLELSEARCH_FIELDS, findParts, type PaperClaim } from './results/claims.js';
import { checkPredictions, percent, summarise, type Predicted } from './results/summary.js';
import { loadAnswers } from './running/load-answers.js';

const F1 = { ...PARALLELSEARCH_FIELDS, subset: 'all', metric: 'parallelizing_f1_with_hybrid' };

/** F1 of decomposing every question; NaN if the rows lack the numbers of questions. */
export function alwaysF1(rows: readonly object[]): number {
  const count = (subset: string, metric: string): number =>
    (matching(rows, { benchmark: 'all', subset, metric }) as TidyRow[]).at(0)?.n ?? NaN;
  const [all, parallel] = [count('all', F1.metric), count('parallelizable', 'coverage')];
  return (2 * parallel) / (all + parallel);
}

export const decompositionClaims: readonly PaperClaim[] = [
  {
    id: 'recognises',
    claim: 'Recognises which questions are parallelizable',
    paper: 'stated, no figure',
    tables: () => 'nothing: decomposition is counted on parallelizable questions only',
    cell: 'parallelizing-table',
    rule: 'F1 against the dependency graphs from both models above that of decomposing every question; a decomposed hybrid question counts as wrong',
    parts: (result) => {
      const threshold = alwaysF1(result.rows);
      if (Number.isNaN(threshold)) return [];
      return INITIAL_MODELS.flatMap((model) => {
        const label = `${model}, F1 with hybrid questions (${figureText(threshold)} for decomposing every question)`;
        const part = { label, unit: 'number', side: 'above', threshold } as const;
        return findParts(result, { ...F1, model }, part);
      });
    },
  },
];

const PREDICTED: readonly Predicted[] = INITIAL_MODELS.flatMap((model): Predicted[] => {
  const ours = { method: 'parallelsearch', model, benchmark: 'all' };
  const holds = ({ value }: Interval): boolean => value >= 0.95;
  return [
    {
      prediction: `F1 of at least 0.95 on wordings never seen, without hybrid questions (${model})`,
      figure: { ...ours, subset: 'wording_unseen', metric: 'parallelizing_f1' },
      holds,
      because: {
        where: 'with hybrid questions',
        figure: { ...ours, subset: 'wording_unseen', metric: F1.metric },
      },
    },
    {
      prediction: `Asks at least 95 % of the sub-questions of parallelizable questions (${model})`,
      figure: { ...ours, subset: 'parallelizable', metric: 'coverage' },
      holds,
    },
  ];
});

/**
 * Pairs sub-queries with independent sub-questions one to one, as many as possible.
 * Repeats stay unpaired, and a sub-query that names two entities counts once.
 * @returns numbers of sub-queries (`asked`), of sub-questions (`independent`), of pairs
 * over all turns (`matched`) and in the best turn (`atOnce`)
 */
export function matchSubQuestions({ metadata }: Question, searches: Searches) {
  const entities = independentSubQuestions(metadata.graph ?? []).map(({ entity }) =>
    paddedWords(entity),
  );
  const turns = searches.map((turn) => turn.map(paddedWords));
  return {
    asked: turns.flat().length,
    independent: entities.length,
    matched: maxPairs(turns.flat(), entities),
    atOnce: Math.max(0, ...turns.map((turn) => maxPairs(turn, entities))),
  };
}

/** Size of a maximum matching of queries with entities they name, by augmenting paths. */
function maxPairs(queries: readonly string[], entities: readonly string[]): number {
  const queryByEntity = new Map<string, string>();
  const assign = (query: string, tried: Set<string>): boolean =>
    entities.some((entity) => {
      if (tried.has(entity) || !query.includes(entity)) return false;
      tried.add(entity);
      const holder = queryByEntity.get(entity);
      if (holder !== undefined && !assign(holder, tried)) return false;
      queryByEntity.set(entity, query);
      return true;
    });
  return queries.filter((query) => assign(query, new Set())).length;
}

/** Why sub-questions were not asked; each counts under the first reason that applies. */
interface Omissions {
  no_search: number;
  /** A sub-query that names no entity of the question took its place. */
  misnamed: number;
  /** A repeated sub-query took its place. */
  repeated: number;
  overlooked: number;
}

export function countOmissions(question: Question, searches: Searches): Omissions {
  const entities = askedEntities(question, searches);
  const missing = entities.filter(({ asked }) => !asked).length;
  const queries = searches.flat().map(paddedWords);
  if (queries.length === 0) return { no_search: missing, misnamed: 0, repeated: 0, overlooked: 0 };
  const naming = queries.filter((query) =>
    entities.some(({ entity }) => query.includes(paddedWords(entity))),
  );
  const misnamed = Math.min(missing, queries.length - naming.length);
  const repeated = Math.min(missing - misnamed, naming.length - new Set(naming).size);
  return { no_search: 0, misnamed, repeated, overlooked: missing - misnamed - repeated };
}

/**
 * Wraps a computation on an answer's searches and its question's graph, run once per
 * answer.
 * @throws Error naming a question that is missing or has no graph
 */
function againstGraph<T>(
  questions: readonly Question[],
  compute: (question: Question, searches: Searches) => T,
): (answer: QuestionResult) => T {
  const byId = new Map(questions.map((question) => [question.id, question]));
  return memoised((answer) => {
    const question = byId.get(answer.questionId);
    if (!question?.metadata.graph)
      throw new Error(
        `Expected a dependency graph of question ${answer.questionId}, but there is none. Pass the questions that were evaluated.`,
      );
    return compute(question, answer.searches);
  });
}

const PARALLEL_SUBSETS = ['parallelizable', ...ENTITY_SUBSETS];
const isParallel = ({ subset }: QuestionResult): boolean => subset === 'parallelizable';

type Count = Measure['numerator'];
/** Precision, recall and F1 from pooled counts. */
const pooled = (
  name: string,
  { hits, found, wanted }: Record<'hits' | 'found' | 'wanted', Count>,
): Measure[] => [
  { metric: `${name}_precision`, numerator: hits, denominator: found },
  { metric: `${name}_recall`, numerator: hits, denominator: wanted },
  {
    metric: `${name}_f1`,
    numerator: (answer) => 2 * hits(answer),
    denominator: (answer) => found(answer) + wanted(answer),
  },
];

/** Splits a metric by whether `holds` is true of the answer. */
const split = (
  metric: Metric,
  holds: (answer: QuestionResult) => boolean,
  names: [string, string],
): Measure[] =>
  names.map((name, i) => {
    const isCounted = (answer: QuestionResult): boolean => holds(answer) === (i === 0);
    return {
      metric: `${metric}_if_${name}`,
      numerator: (answer) => (isCounted(answer) ? mainMeasure(metric).numerator(answer) : 0),
      denominator: (answer) => Number(isCounted(answer)),
    };
  });

const METRICS = [
  'decomposition_ratio',
  'coverage',
  'retrievals',
  'repeated_queries',
  'em',
  'model_calls',
] as const;

export function decompositionMeasures(questions: readonly Question[]): Measure[] {
  const match = againstGraph(questions, matchSubQuestions);
  const omissions = againstGraph(questions, countOmissions);
  const isCorrect = ({ em }: QuestionResult): boolean => em === 1;
  const parallelizing = pooled('parallelizing', {
    hits: (answer) => Number(answer.decomposed && isParallel(answer)),
    found: ({ decomposed }) => Number(decomposed),
    wanted: (answer) => Number(isParallel(answer)),
  });
  const matched = pooled('match', {
    hits: (answer) => match(answer).matched,
    found: (answer) => match(answer).asked,
    wanted: (answer) => match(answer).independent,
  });
  const subsetsAtOnce = [...PARALLEL_SUBSETS, 'hybrid'];
  return [
    // Hybrid questions have independent and dependent parts, so either decision is right:
    // they are left out, or counted as not parallelizable.
    ...parallelizing.flatMap((measure): Measure[] => {
      const measured = { ...measure, subsets: ['all', 'wording_seen', 'wording_unseen'] };
      return [
        { ...measured, includes: ({ subset }) => subset !== 'hybrid' },
        { ...measured, metric: `${measure.metric}_with_hybrid` },
      ];
    }),
    ...matched.map((measure) => ({ ...measure, subsets: PARALLEL_SUBSETS })),
    {
      metric: 'asked_at_once',
      numerator: (answer) => match(answer).atOnce / match(answer).independent,
      subsets: subsetsAtOnce,
    },
    {
      metric: 'complete_at_once',
      numerator: (answer) => Number(match(answer).atOnce === match(answer).independent),
      subsets: subsetsAtOnce,
    },
    ...(['misnamed', 'repeated', 'no_search', 'overlooked'] as const).map(
      (reason): Measure => ({
        metric: `omitted_${reason}`,
        numerator: (answer) => omissions(answer)[reason],
        denominator: (answer) => sum(Object.values(omissions(answer))),
        subsets: PARALLEL_SUBSETS,
      }),
    ),
    ...METRICS.map(mainMeasure),
    ...split('decomposition_ratio', isCorrect, ['right', 'wrong']),
    ...split('coverage', isCorrect, ['right', 'wrong']),
    ...split('em', ({ decomposed }) => decomposed, ['decomposed', 'not_decomposed']),
  ];
}

/**
 * Adds `parallelizing_precision`, `_recall` and `_f1` of each training step's rollouts;
 * null if a denominator is 0.
 */
export const parallelizingCurves = (curves: readonly CurvePoint[]): CurvePoint[] =>
  curves.map((point) => {
    const metric = (name: string): number => (typeof point[name] === 'number' ? point[name] : NaN);
    const decomposed = metric('decomposition_ratio');
    const share = metric('share/parallelizable');
    const hits = share * metric('decomposition_ratio/parallelizable');
    const quotient = (numerator: number, denominator: number): number | null =>
      Number.isFinite(numerator / denominator) ? numerator / denominator : null;
    return {
      ...point,
      parallelizing_precision: quotient(hits, decomposed),
      parallelizing_recall: quotient(hits, share),
      parallelizing_f1: quotient(2 * hits, decomposed + share),
    };
  });

const DYNAMICS = [
  'parallelizing_precision',
  'parallelizing_recall',
  'parallelizing_f1',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
  'coverage/parallelizable',
];
const PAIRS = ['search-r1', 'search-r1-parallel-prompt', 'untrained:parallel'].map(
  (against): MethodPair => ['parallelsearch', against],
);

/** Single benchmarks are only shown by question type. */
const filter: SummaryOptions['filter'] = ({ benchmark, subset }) =>
  ['all', MANY].includes(benchmark) ||
  (benchmark !== 'average' && ['all', 'parallelizable', 'sequential'].includes(subset));

export const decomposition: Experiment = {
  name: 'decomposition',
  title: 'sub-queries compared with the dependency graphs',
  reads: [mainResults.name],
  claims: decompositionClaims,
  async result(folder) {
    const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
    const answers = matching(all, { method: PAIRS.flat() });
    const measures = decompositionMeasures(
      await readQuestions(join(SMALL_WORLD, 'questions.jsonl')),
    );
    const tidy = summarise({ answers, provenance }, { measures, filter, pairs: PAIRS });
    const training = trainingRows(parallelizingCurves(curves), DYNAMICS);
    const byType = matching(tidy.rows, {
      benchmark: 'all',
      metric: 'decomposition_ratio',
      subset: ['single_hop', 'parallelizable', 'sequential', 'hybrid'],
    });
    const decomposed = (subset: string): number =>
      meanValue(byType, { method: 'parallelsearch', subset });
    const others = max(['single_hop', 'sequential'], decomposed)!;
    return {
      ...tidy,
      predictions: checkPredictions(tidy, PREDICTED),
      finding: `ParallelSearch decomposes ${percent(decomposed('parallelizable'))} of parallelizable questions and ${percent(others)} of single-hop and sequential ones, but also ${percent(decomposed('hybrid'))} of hybrid questions.`,
      card: { parallelizing: 'instruct' },
      summary: `${countText(answers.length)} answers, each compared with the dependency graph of its question.`,
      frames: { training },
      figures: {
        parallelizing: intervalChart(byType, {
          title: 'Decomposed questions by what their graph allows, with 95 % intervals',
          subtitle: SMALL_WORLD_NOTE,
          x: 'subset',
          xTitle: 'Question type (by its graph)',
          color: 'method',
          column: 'model',
          spoken: matching(byType, { method: 'parallelsearch' }),
        }),
      },
    };
  },
};
