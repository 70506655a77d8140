/**
 * Passages per query, for three retrievers (Figure 6). The same policies answer a fixed
 * sample of questions in every setting. They are trained with three passages per query,
 * as in the paper, and others with one.
 * A turn's passages are limited in tokens, as in the paper, and by the small policy's
 * context of 1,024: the lowest-ranked passages that would not fit, or leave no room for
 * later turns, are dropped, counted and reported.
 */
import { join } from 'node:path';
import { evaluatedSplit, type Question, stratifiedSample } from '../data/question.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import { measure, type QuestionResult } from '../evaluation/measurement.js';
import { matching, where, findFigure } from '../evaluation/figures.js';
import type { MethodPair, SummaryOptions, TidyContrast } from '../evaluation/table.js';
import { ENCODER } from '../io/paths.js';
import { configHash, contentHash } from '../io/provenance.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { gapWords } from '../report/text.js';
import { valueTitle } from '../report/titles.js';
import { ENCODER_FILE } from '../retrieval/encoder.js';
import { queriesWithEvidence, retrievalRecall } from '../retrieval/recall.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createRetriever } from '../retrieval/retrievers.js';
import type { World } from '../retrieval/small-world.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { countText } from '../text/english.js';
import { BOTH_METHODS } from '../training/methods.js';
import { isTrained, RESERVE_PER_TURN, runName, type PolicyRun } from './running/policy-runs.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from './experiment.js';
import { checkPredictions, percent, summarise, type Predicted } from './results/summary.js';
import { answerSample, dataHash, evaluationHash } from './running/answers.js';
import {
  listSeeds,
  mergeProvenance,
  readQuestionProvenance,
  withInitSeeds,
  requireResults,
  type Recorded,
} from './running/records.js';
import { identify, listRuns } from './running/runs.js';
import { planTraining } from './running/train-runs.js';

interface TopKSetting {
  retriever: string;
  /** Passages per query. */
  k: number;
  /** Passages per query in training. */
  trainedK: number;
}

export const TOP_K = {
  /** The first is compared with the second. */
  methods: BOTH_METHODS,
  model: 'instruct',
  trainedKs: [3, 1],
  /** The others are compared with the first. */
  retrievers: ['bm25', 'exact', 'hnsw'],
  ks: [1, 3, 5, 10],
  oneOf: 10,
  /** Room for a search and one passage. */
  reservePerTurn: RESERVE_PER_TURN,
} as const;

/** Policies trained with one passage only answer with the first retriever. */
export const topKSettings = (trainedK = 3): TopKSetting[] =>
  TOP_K.retrievers
    .slice(0, trainedK === 1 ? 1 : undefined)
    .flatMap((retriever) => TOP_K.ks.map((k) => ({ retriever, k, trainedK })));

/** The main comparison's runs with the first seed, and the same trained with k = 1. */
export const topKRuns = (): PolicyRun[] =>
  listRuns({ methods: TOP_K.methods, models: [TOP_K.model] }).flatMap((run) =>
    TOP_K.trainedKs.map((trainedK) => (trainedK === 1 ? { ...run, topK: 1 } : run)),
  );

/** What the queries of one question retrieved. */
interface Retrieved {
  subQueries: number;
  passagesFound: number;
  /** The other passages did not fit. */
  passagesShown: number;
  /** Whether the rollout ended because the context was full. */
  isContextFull: boolean;
}
export type TopKAnswer = QuestionResult & Retrieved & TopKSetting;

interface TopKRecall extends Omit<TopKSetting, 'trainedK'> {
  /** Share of queries with evidence among the first k passages. */
  hitRate: number;
  n: number;
}

export function countRetrieved({ searchTurns, finish }: Trajectory): Retrieved {
  const results = searchTurns.flatMap((turn) => turn.results);
  const succeeded = results.filter((result) => result.status === 'ok');
  const passagesShown = succeeded.flatMap(({ passages }) => passages).length;
  return {
    subQueries: results.length,
    passagesFound: succeeded.reduce((sum, { numLeftOut = 0 }) => sum + numLeftOut, passagesShown),
    passagesShown,
    isContextFull: finish === 'length',
  };
}

export const topKSample = ({ questions }: Pick<World, 'questions'>): Question[] =>
  stratifiedSample(questions, { oneOf: TOP_K.oneOf, seed: 'top-k' });

/** Created once per process. */
const retrievers = new Map<string, Promise<Retriever>>();
function variantRetriever(name: string, { passages }: World): Promise<Retriever> {
  if (!retrievers.has(name)) retrievers.set(name, createRetriever(name, passages));
  return retrievers.get(name)!;
}

export async function answerUnder(
  { run, ...setting }: TopKSetting & { run: PolicyRun },
  context: WorkContext,
): Promise<TopKAnswer[]> {
  return answerSample(run, context, {
    questions: topKSample(context.world),
    retriever: await variantRetriever(setting.retriever, context.world),
    rollout: { topK: setting.k, reservePerTurn: TOP_K.reservePerTurn },
    keep: (question, trajectory) => {
      const measured = { ...measure(question, trajectory), ...countRetrieved(trajectory) };
      return { ...identify(run), ...setting, ...measured };
    },
  });
}

/** Share of sub-questions, in the data set's words, with evidence among the first k. */
export async function measureRecall({ world }: Pick<WorkContext, 'world'>): Promise<TopKRecall[]> {
  const split = evaluatedSplit(world.questions);
  const queries = queriesWithEvidence(world.questions, { split, of: 'subQueries' });
  const tables = TOP_K.retrievers.map(async (retriever) => {
    const searched = await variantRetriever(retriever, world);
    const recall = await retrievalRecall(searched, queries, TOP_K.ks);
    return recall.map(({ k, hitRate }) => ({ retriever, k, hitRate, n: queries.length }));
  });
  return (await Promise.all(tables)).flat();
}

/** A run in one setting, or the recall of all retrievers. */
export type TopKInput = (TopKSetting & { run: PolicyRun }) | 'recall';
type TopKRecord = Recorded<TopKAnswer> | { recall: TopKRecall[] };

/** For the sample on one core, for estimates only. */
const roughSeconds = (k: number): number => 20 + 2.5 * k;

async function listJobs(): Promise<Job<TopKInput>[]> {
  const { retrievers, ks, oneOf, reservePerTurn } = TOP_K;
  const encoder = await contentHash([join(ENCODER, ENCODER_FILE)]);
  const runJobs = async (run: PolicyRun): Promise<Job<TopKInput>[]> => {
    const policy = await evaluationHash(run);
    return topKSettings(run.topK).map(({ retriever, k, trainedK }) => ({
      key: `top-k/${runName(run)}-${retriever}-k${k}`,
      hash: configHash({ policy, encoder, retriever, k, oneOf, reservePerTurn }),
      input: { run, retriever, k, trainedK },
      seconds: roughSeconds(k),
    }));
  };
  const recall: Job<TopKInput> = {
    key: 'top-k/recall',
    hash: configHash({ data: await dataHash(), encoder, retrievers, ks }),
    input: 'recall',
    seconds: 60,
  };
  const runs = topKRuns().filter((run) => isTrained(run));
  return [recall, ...(await Promise.all(runs.map(runJobs))).flat()];
}

const retrieved =
  (value: (answer: TopKAnswer) => number): Measure['numerator'] =>
  (answer) =>
    value(answer as TopKAnswer);
const METRICS = ['em', 'model_calls', 'decomposition_ratio', 'coverage', 'evidence_seen'] as const;
const MEASURES: readonly Measure[] = [
  ...METRICS.map(mainMeasure),
  {
    metric: 'passages_shown',
    numerator: retrieved(({ passagesShown }) => passagesShown),
    denominator: retrieved(({ subQueries }) => subQueries),
  },
  {
    metric: 'passages_left_out',
    numerator: retrieved(({ passagesFound, passagesShown }) => passagesFound - passagesShown),
    denominator: retrieved(({ passagesFound }) => passagesFound),
  },
  { metric: 'context_full', numerator: retrieved(({ isContextFull }) => Number(isContextFull)) },
];
const filter = where({
  benchmark: ['hotpotqa', '2wikimultihopqa', 'all'],
  subset: ['all', 'single_hop', 'parallelizable', 'sequential'],
});

/** The bootstrap compares methods, so it gets method and setting as one name. */
type Variant = TopKSetting & { method: string };
const encodeVariant = ({ method, retriever, k, trainedK }: Variant): string =>
  JSON.stringify({ method, retriever, k, trained_k: trainedK });
const decodeVariant = (name: string) =>
  JSON.parse(name) as { method: string; retriever: string; k: number; trained_k: number };
const VARIANTS: readonly Variant[] = TOP_K.methods.flatMap((method) =>
  TOP_K.trainedKs.flatMap((trainedK) =>
    topKSettings(trainedK).map((setting) => ({ method, ...setting })),
  ),
);

/** Pairs of variants that differ in these fields. */
const compare = (change: Partial<Variant>, compared = VARIANTS): MethodPair[] =>
  compared
    .map(
      (variant): MethodPair => [encodeVariant(variant), encodeVariant({ ...variant, ...change })],
    )
    .filter(([variant, other]) => variant !== other);
/** Every k with the smallest, every retriever with the first, methods, runs. */
const PAIRS: readonly MethodPair[] = [
  ...compare({ k: Math.min(...TOP_K.ks) }),
  ...compare({ retriever: TOP_K.retrievers[0] }),
  ...compare({ method: TOP_K.methods[1] }),
  ...compare({ trainedK: 1 }, matching(VARIANTS, { retriever: TOP_K.retrievers[0] })),
];

/** A contrast of variants, with the other side's fields where they differ. */
function contrastRow(contrast: TidyContrast) {
  const [ours, theirs] = [contrast.method, contrast.against].map(decodeVariant);
  return {
    ...contrast,
    ...ours,
    against: theirs.method,
    ...(ours.k !== theirs.k && { against_k: theirs.k }),
    ...(ours.retriever !== theirs.retriever && { against_retriever: theirs.retriever }),
    ...(ours.trained_k !== theirs.trained_k && { against_trained_k: theirs.trained_k }),
  };
}

/** Compares this many passages per query with one, for ParallelSearch with BM25. */
const againstOne = (k: number) => ({
  method: 'parallelsearch',
  against: 'parallelsearch',
  retriever: 'bm25',
  k,
  against_k: 1,
  trained_k: 3,
  benchmark: 'all',
  subset: 'all',
  metric: 'em',
  kind: 'difference',
});
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'Ten passages per query answer more questions than one, with BM25',
    figure: againstOne(10),
    holds: ({ low }) => low > 0,
    because: { where: 'five instead of one', figure: againstOne(5) },
  },
];

export const topK: Experiment = {
  name: 'top-k',
  title: 'passages per query, for BM25, exact and HNSW search',
  computation: defineComputation<TopKInput, TopKRecord>({
    jobs: listJobs,
    prepare: planTraining(topKRuns),
    work: async (input, context) =>
      input === 'recall'
        ? { recall: await measureRecall(context) }
        : { answers: await answerUnder(input, context) },
  }),
  /**
   * Contrasts differ in k, retriever, training or method, all else equal; the same
   * weights are resampled alike in every setting.
   */
  async result(folder) {
    const done = await requireResults<TopKInput, TopKRecord>(topK, folder);
    const values = done.map(({ record }) => record.value);
    const recall = values.flatMap((value) => ('recall' in value ? value.recall : []));
    const answers = values
      .flatMap((value) => ('answers' in value ? withInitSeeds(value.answers) : []))
      .map((answer) => ({ ...answer, method: encodeVariant(answer) }));
    const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
    const runs = done.flatMap(({ job: { input } }) => (input === 'recall' ? [] : [input.run]));
    const draw = { ...listSeeds(runs), ...(await readQuestionProvenance()) };
    const provenance = { ...mergeProvenance(done, draw), numQuestions, recall };
    const settings: SummaryOptions = {
      measures: MEASURES,
      pairs: PAIRS,
      weightsId: (name) => `${decodeVariant(name).method}/${decodeVariant(name).trained_k}`,
      filter,
    };
    const summary = summarise({ answers, provenance }, settings);
    const rows = summary.rows.map((row) => ({ ...row, ...decodeVariant(row.method) }));
    const contrasts = summary.contrasts.map(contrastRow);
    const whole = { metric: 'em', benchmark: 'all', subset: 'all', trained_k: 3 };
    const tidy = { rows, contrasts, provenance };
    const [ten, five] = [10, 5].map((k) => gapWords(findFigure(tidy, againstOne(k))!));
    const [{ hitRate: atRankOne }] = matching(recall, { retriever: 'bm25', k: 1 });
    return {
      ...tidy,
      predictions: checkPredictions(tidy, PREDICTED),
      finding: `With BM25, ten passages per query instead of one make ParallelSearch’s answers ${ten}, and five make them ${five}: the best query finds its fact at rank 1 in ${percent(atRankOne, 1)} of cases.`,
      card: { answers: valueTitle('retriever', 'bm25') },
      summary: `${countText(answers.length)} answers to ${numQuestions} questions, with ${TOP_K.retrievers.length} retrievers and ${TOP_K.ks.length} numbers of passages per query.`,
      frames: {
        recall: recall.map(({ hitRate, ...row }) => {
          return { ...row, metric: 'recall_at_k', value: hitRate };
        }),
      },
      figures: {
        answers: intervalChart(matching(rows, whole), {
          title: 'Exact match by passages per query, all sampled questions, with 95 % intervals',
          subtitle: SMALL_WORLD_NOTE,
          x: 'k',
          xTitle: 'k (passages per query)',
          color: 'method',
          column: 'retriever',
          zoomed: true,
        }),
      },
    };
  },
};
