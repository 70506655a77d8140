/**
 * Figure 6: how many passages a query should bring, for three retrievers. The same
 * trained policies answer a fixed sample of the evaluated questions under every setting.
 *
 * Policies are trained with three passages per query, as in the paper, and others with
 * one. What a turn brings is limited in tokens, as in the paper, and the small policy's
 * context has 1,024 positions: passages of the lowest ranks that would take more, or
 * leave no room for the turns to come, are left out, counted and reported.
 */
import type { Question } from '../../data/question.js';
import { measure } from '../../evaluation/evaluate.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { queriesWithEvidence, retrievalRecall } from '../../retrieval/recall.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { answerSample } from '../answers.js';
import type { WorkContext } from '../experiment.js';
import { stratifiedSample } from '../answers.js';
import { SEEDS, WARM_UPS, type PolicyRun } from '../runs.js';
import { evaluatedSplit, type World } from '../world.js';

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
