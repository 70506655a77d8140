/**
 * Figure 6: how many passages a query should bring, for three retrievers. The same trained policies answer a fixed sample of the
 * test questions under every setting.
 *
 * Two departures from the paper. The small policy's context has 1,024 positions: where the passages of a turn would leave no
 * room for the turns to come, those of the lowest ranks are left out, counted and reported (the paper cuts what a turn brings
 * at 500 tokens and does not say whether it did so here). And the policies have been trained with one passage per query, and
 * warmed up with one or two, where the paper trains with three: larger k are outside of what they have seen.
 */
import type { Question } from '../../data/question.js';
import { measure } from '../../evaluation/evaluate.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { queriesWithEvidence, retrievalRecall } from '../../retrieval/recall.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { answerSample, SEEDS } from '../answers.js';
import type { WorkContext } from '../experiment.js';
import { stratifiedSample } from '../answers.js';
import type { PolicyRun } from '../runs.js';
import type { World } from '../world.js';

/** What is varied. */
export interface TopKSetting {
  retriever: string;
  /** Passages per query. */
  k: number;
}

export const TOP_K = {
  /** The second is what the first is compared with. */
  methods: ['parallelsearch', 'search-r1'],
  model: 'instruct',
  seeds: SEEDS,
  /** The first is what the others are compared with. */
  retrievers: ['bm25', 'exact', 'hnsw'],
  ks: [1, 3, 5, 10],
  /** One of so many test questions of each benchmark and kind is asked. */
  oneOf: 20,
  /** Tokens kept free for every later search turn (see `reservePerTurn` of a rollout): a search and one passage for it. */
  reservePerTurn: 100,
} as const;

export const topKSettings = (): TopKSetting[] =>
  TOP_K.retrievers.flatMap((retriever) => TOP_K.ks.map((k) => ({ retriever, k })));

export const topKRuns = (): PolicyRun[] =>
  TOP_K.seeds.flatMap((seed) => TOP_K.methods.map((method) => ({ method, model: TOP_K.model, seed })));

/** What came back for the queries of one question. */
export interface Retrieved {
  subQueries: number;
  passagesFound: number;
  /** The others were left out for want of room. */
  passagesShown: number;
  /** Share of the graph's sub-questions for which a passage was shown that states the answer. */
  evidenceShown: number;
  /** Whether the rollout ended because the context was full. */
  isContextFull: boolean;
}

/** One question answered by one run with one retriever and k. */
export type TopKAnswer = QuestionResult & Retrieved & TopKSetting;

export interface TopKRecall extends TopKSetting {
  /** Share of queries with a passage that states the answer among the first k. */
  hitRate: number;
  /** Queries. */
  n: number;
}

/** What a trajectory's searches brought. */
export function retrievedIn({ metadata }: Question, { searchTurns, finish }: Trajectory): Retrieved {
  const results = searchTurns.flatMap((turn) => turn.results);
  const found = results.filter((result) => result.status === 'ok');
  const shown = found.flatMap(({ passages }) => passages);
  const ids = new Set(shown.map(({ id }) => id));
  const graph = metadata.graph ?? [];
  const answered = graph.filter(({ evidence }) => evidence.some((id) => ids.has(id)));
  return {
    subQueries: results.length,
    passagesFound: found.reduce((sum, { numLeftOut = 0 }) => sum + numLeftOut, shown.length),
    passagesShown: shown.length,
    evidenceShown: answered.length / Math.max(1, graph.length),
    isContextFull: finish === 'length',
  };
}

/** One of `oneOf` test questions of each benchmark and kind, rounded up; the same ones every time. */
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
  { run, retriever, k }: TopKSetting & { run: PolicyRun },
  context: WorkContext,
): Promise<TopKAnswer[]> {
  const { method, model, seed } = run;
  return answerSample(run, context, {
    questions: sampleOf(context.world),
    retriever: await retrieverOf(retriever, context.world),
    rollout: { topK: k, reservePerTurn: TOP_K.reservePerTurn },
    keep: (question, trajectory) => ({
      ...{ method, model, seed, retriever, k },
      ...measure(question, trajectory),
      ...retrievedIn(question, trajectory),
    }),
  });
}

/** Share of the test split's sub-questions whose evidence is among the first k, asked as the data set words them. */
export async function measureRecall({ world }: Pick<WorkContext, 'world'>): Promise<TopKRecall[]> {
  const queries = queriesWithEvidence(world.questions, { split: 'test', of: 'subQueries' });
  const tables = TOP_K.retrievers.map(async (retriever) => {
    const recall = await retrievalRecall(await retrieverOf(retriever, world), queries, TOP_K.ks);
    return recall.map(({ k, hitRate }) => ({ retriever, k, hitRate, n: queries.length }));
  });
  return (await Promise.all(tables)).flat();
}
