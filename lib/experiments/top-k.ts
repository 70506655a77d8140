/**
 * Figure 6: how many passages a query should bring, for three retrievers. The same
 * trained policies answer a fixed sample of the evaluated questions under every setting.
 *
 * Policies are trained with three passages per query, as in the paper, and others with
 * one. What a turn brings is limited in tokens, as in the paper, and the small policy's
 * context has 1,024 positions: passages of the lowest ranks that would take more, or
 * leave no room for the turns to come, are left out, counted and reported.
 */
import { join } from 'node:path';
import { type Question, evaluatedSplit } from '../data/question.js';
import { measure } from '../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import type { MethodPair, SummaryOptions, TidyContrast } from '../evaluation/table.js';
import { ENCODER } from '../io/paths.js';
import { ENCODER_FILE } from '../retrieval/encoder.js';
import { queriesWithEvidence, retrievalRecall } from '../retrieval/recall.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createRetriever } from '../retrieval/retrievers.js';
import type { Trajectory } from '../rollout/trajectory.js';
import {
  answerSample,
  count,
  dataHash,
  drawOf,
  evaluationHash,
  seedsOf,
  stratifiedSample,
} from './answers.js';
import { computation, type Experiment, type Job, type WorkContext } from './experiment.js';
import { type Predicted, reportOf, summarise, told } from './report.js';
import { provenanceOf, requireResults } from './results.js';
import { isTrained, type PolicyRun, runName } from '../methods/checkpoints.js';
import { SEEDS, WARM_UPS } from './runs.js';
import { trainingOf } from './train-runs.js';
import { type PaperClaim, partsAhead } from './verdicts.js';
import { type World } from '../retrieval/world.js';
import { configHash, contentHash } from '../io/provenance.js';

/** What is varied. */
export interface TopKSetting {
  retriever: string;
  /** Passages per query. */
  k: number;
  /** Passages per query in training. */
  trainedK: number;
}

export const TOP_K = {
  /** The second is what the first is compared with. */
  methods: ['parallelsearch', 'search-r1'],
  model: 'instruct',
  /** Passages per query in training: the method's, and one. */
  trainedKs: [3, 1],
  /** The first is what the others are compared with. */
  retrievers: ['bm25', 'exact', 'hnsw'],
  ks: [1, 3, 5, 10],
  /** One of so many questions of each benchmark and kind is asked. */
  oneOf: 10,
  /**
   * Tokens kept free for every later search turn (see `reservePerTurn` of a rollout): a
   * search and one passage for it.
   */
  reservePerTurn: 100,
} as const;

/**
 * Every retriever and k; policies that were trained with one passage answer by the first
 * retriever alone.
 */
export const topKSettings = (trainedK = 3): TopKSetting[] =>
  TOP_K.retrievers
    .slice(0, trainedK === 1 ? 1 : undefined)
    .flatMap((retriever) => TOP_K.ks.map((k) => ({ retriever, k, trainedK })));

/**
 * The main comparison's runs of the first seed, and the same trained with one passage a
 * query.
 */
export const topKRuns = (): PolicyRun[] =>
  WARM_UPS.flatMap((warmUp) =>
    TOP_K.methods.flatMap((method) =>
      TOP_K.trainedKs.map((trainedK) => ({
        method,
        model: TOP_K.model,
        warmUp,
        seed: SEEDS[0],
        ...(trainedK === 1 && { topK: 1 }),
      })),
    ),
  );

export const trainedKOf = ({ topK = 3 }: PolicyRun): number => topK;

/** What came back for the queries of one question. */
export interface Retrieved {
  subQueries: number;
  passagesFound: number;
  /** The others were left out for want of room. */
  passagesShown: number;
  /** Whether the rollout ended because the context was full. */
  isContextFull: boolean;
}

/** One question answered by one run with one retriever and k. */
export type TopKAnswer = QuestionResult & Retrieved & TopKSetting;

export interface TopKRecall extends Omit<TopKSetting, 'trainedK'> {
  /** Share of queries with a passage that states the answer among the first k. */
  hitRate: number;
  /** Queries. */
  n: number;
}

/** What a trajectory's searches brought. */
export function retrievedIn({ searchTurns, finish }: Trajectory): Retrieved {
  const results = searchTurns.flatMap((turn) => turn.results);
  const found = results.filter((result) => result.status === 'ok');
  const shown = found.flatMap(({ passages }) => passages);
  return {
    subQueries: results.length,
    passagesFound: found.reduce((sum, { numLeftOut = 0 }) => sum + numLeftOut, shown.length),
    passagesShown: shown.length,
    isContextFull: finish === 'length',
  };
}

/**
 * One of `oneOf` questions of each benchmark and kind, rounded up; the same ones every
 * time.
 */
export const sampleOf = ({ questions }: Pick<World, 'questions'>): Question[] =>
  stratifiedSample(questions, { oneOf: TOP_K.oneOf, seed: 'top-k' });

const retrievers = new Map<string, Promise<Retriever>>();

/** A retriever over the world's passages, made once for each process. */
function retrieverOf(name: string, { passages }: World): Promise<Retriever> {
  if (!retrievers.has(name)) retrievers.set(name, createRetriever(name, passages));
  return retrievers.get(name)!;
}

/** A run's policy answers the sample under one setting. */
export async function answersUnder(
  { run, retriever, k, trainedK }: TopKSetting & { run: PolicyRun },
  context: WorkContext,
): Promise<TopKAnswer[]> {
  const { method, model, warmUp, seed } = run;
  return answerSample(run, context, {
    questions: sampleOf(context.world),
    retriever: await retrieverOf(retriever, context.world),
    rollout: { topK: k, reservePerTurn: TOP_K.reservePerTurn },
    keep: (question, trajectory) => ({
      method,
      model,
      warmUp,
      seed,
      retriever,
      k,
      trainedK,
      ...measure(question, trajectory),
      ...retrievedIn(trajectory),
    }),
  });
}

/**
 * Share of the sub-questions whose evidence is among the first k, asked as the data set
 * words them.
 */
export async function measureRecall({ world }: Pick<WorkContext, 'world'>): Promise<TopKRecall[]> {
  const queries = queriesWithEvidence(world.questions, {
    split: evaluatedSplit(world.questions),
    of: 'subQueries',
  });
  const tables = TOP_K.retrievers.map(async (retriever) => {
    const recall = await retrievalRecall(await retrieverOf(retriever, world), queries, TOP_K.ks);
    return recall.map(({ k, hitRate }) => ({ retriever, k, hitRate, n: queries.length }));
  });
  return (await Promise.all(tables)).flat();
}

/** A run under one setting, or the recall of all retrievers. */
export type TopKInput = (TopKSetting & { run: PolicyRun }) | 'recall';
type Value = { answers: TopKAnswer[] } | { recall: TopKRecall[] };

/**
 * Seconds that the sample takes on one core at each k, roughly: for an estimate and
 * nothing else.
 */
const roughSeconds = (k: number): number => 20 + 2.5 * k;

async function jobs(): Promise<Job<TopKInput>[]> {
  const { retrievers, ks, oneOf, reservePerTurn } = TOP_K;
  const encoder = await contentHash([join(ENCODER, ENCODER_FILE)]);
  const jobsOf = async (run: PolicyRun): Promise<Job<TopKInput>[]> => {
    const policy = await evaluationHash(run);
    return topKSettings(trainedKOf(run)).map(({ retriever, k, trainedK }) => ({
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
  return [recall, ...(await Promise.all(runs.map(jobsOf))).flat()];
}

const tenOverOne: PaperClaim = {
  id: 'top-k',
  claim: 'More passages per query help: k = 10 answers more questions than k = 1',
  paper: 'about +6 (2Wiki) and +7 (HotpotQA), Figure 6',
  tables: () => 'no point values are printed',
  evidence: {
    cell: 'claims',
    rule: 'Difference in exact match on all questions with BM25 above 0',
    parts: (numbers) =>
      partsAhead(numbers, 'BM25', {
        subset: 'all',
        retriever: 'bm25',
        k: 10,
        against_k: 1,
        trained_k: 3,
      }),
  },
};

export const topK: Experiment = {
  name: 'top-k',
  title: 'passages per query, for BM25, exact and HNSW search',
  computation: computation<TopKInput, Value>({
    jobs,
    prepare: trainingOf(topKRuns),
    work: async (input, context) =>
      input === 'recall'
        ? { recall: await measureRecall(context) }
        : { answers: await answersUnder(input, context) },
  }),
  claims: [tenOverOne],
};

const of =
  (value: (answer: TopKAnswer) => number) =>
  (answer: QuestionResult): number =>
    value(answer as TopKAnswer);

const MEASURES: readonly Measure[] = [
  ...(['em', 'model_calls', 'decomposition_ratio', 'coverage', 'evidence_seen'] as const).map(
    mainMeasure,
  ),
  {
    metric: 'passages_shown',
    of: of(({ passagesShown }) => passagesShown),
    per: of(({ subQueries }) => subQueries),
  },
  {
    metric: 'passages_left_out',
    of: of(({ passagesFound, passagesShown }) => passagesFound - passagesShown),
    per: of(({ passagesFound }) => passagesFound),
  },
  { metric: 'context_full', of: of(({ isContextFull }) => (isContextFull ? 1 : 0)) },
];

/** The two data sets of Figure 6, and all questions. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];

type Variant = TopKSetting & { method: string };

// The bootstrap knows methods only, so a variant goes through it under one name.
const variantName = ({ method, retriever, k, trainedK }: Variant): string =>
  `${method}/${retriever}/${k}/${trainedK}`;

function variantOf(name: string): Variant {
  const [method, retriever, k, trainedK] = name.split('/');
  return { method, retriever, k: Number(k), trainedK: Number(trainedK) };
}

/** A variant as rows have it. */
const fieldsOf = ({ trainedK, ...variant }: Variant) => ({ ...variant, trained_k: trainedK });

/**
 * Every k beside the smallest, every retriever beside the first, and ParallelSearch
 * beside Search-R1.
 */
function pairs(): MethodPair[] {
  const variants = TOP_K.methods.flatMap((method) =>
    TOP_K.trainedKs.flatMap((trainedK) =>
      topKSettings(trainedK).map((setting): Variant => ({ method, ...setting })),
    ),
  );
  const beside = (change: Partial<Variant>): MethodPair[] =>
    variants
      .map((variant): MethodPair => [variantName(variant), variantName({ ...variant, ...change })])
      .filter(([variant, other]) => variant !== other);
  return [
    ...beside({ k: Math.min(...TOP_K.ks) }),
    ...beside({ retriever: TOP_K.retrievers[0] }),
    ...beside({ method: TOP_K.methods[1] }),
    ...beside({ trainedK: 1 }).filter(
      ([, other]) => variantOf(other).retriever === TOP_K.retrievers[0],
    ),
  ];
}

/**
 * A contrast of variants: the method, retriever and k of both sides where they differ.
 */
function contrastOf(contrast: TidyContrast) {
  const [ours, theirs] = [contrast.method, contrast.against].map(variantOf);
  return {
    ...contrast,
    ...fieldsOf(ours),
    against: theirs.method,
    ...(ours.k === theirs.k ? {} : { against_k: theirs.k }),
    ...(ours.retriever === theirs.retriever ? {} : { against_retriever: theirs.retriever }),
    ...(ours.trainedK === theirs.trainedK ? {} : { against_trained_k: theirs.trainedK }),
  };
}

/** ParallelSearch with so many passages per query beside one, by BM25. */
const besideOne = (k: number): Predicted['figure'] => ({
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

/** Figure 6, in one figure. */
const MORE_IS_BETTER: Predicted = {
  prediction: 'Ten passages per query answer more questions than one, with BM25',
  figure: besideOne(10),
  holds: ({ low }) => low > 0,
  because: { where: 'five in place of one', figure: besideOne(5) },
};

/**
 * Reads the answers under every setting and computes their figures with intervals; the
 * same weights under every setting are resampled alike. Contrasts are of two values of k,
 * two retrievers or two methods, everything else the same.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadTopK(folder?: string, options: SummaryOptions = {}) {
  const done = await requireResults<TopKInput, Value>(topK, folder);
  const values = done.map(({ record }) => record.value);
  const found = values.flatMap((value) => ('answers' in value ? value.answers : []));
  const recall = values.flatMap((value) => ('recall' in value ? value.recall : []));
  const answers = found.map((answer) => ({ ...answer, method: variantName(answer) }));
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const runs = done.flatMap(({ job: { input } }) => (input === 'recall' ? [] : [input.run]));
  const provenance = {
    ...provenanceOf(done, { ...seedsOf(runs), ...(await drawOf()) }),
    numQuestions,
    recall,
  };
  const own: SummaryOptions = {
    measures: MEASURES,
    pairs: pairs(),
    weightsOf: (name) => `${variantOf(name).method}/${variantOf(name).trainedK}`,
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
  };
  const { rows, contrasts } = summarise({ answers, provenance }, own, options);
  const ten = told(contrasts.map(contrastOf), besideOne(10));
  const change = {
    above: 'answer more questions',
    below: 'answer fewer questions',
    undecided: 'decide nothing',
  };
  return reportOf({
    finding: `With BM25, ten passages per query in place of one ${change[ten.side]}: ${ten.text} of exact match for ParallelSearch, all sampled questions.`,
    summary: `${count(answers)} answers to ${numQuestions} questions, with ${TOP_K.retrievers.length} retrievers and ${TOP_K.ks.length} numbers of passages per query.`,
    tidy: {
      rows: rows.map((row) => ({ ...row, ...fieldsOf(variantOf(row.method)) })),
      provenance,
      contrasts: contrasts.map(contrastOf),
    },
    predicted: [MORE_IS_BETTER],
    frames: {
      // Recall@k of the retrievers by themselves, a row for each retriever and k.
      recall: recall.map(({ hitRate, ...row }) => ({
        ...row,
        metric: 'recall_at_k',
        value: hitRate,
      })),
    },
  });
}
export type TopK = Awaited<ReturnType<typeof loadTopK>>;
