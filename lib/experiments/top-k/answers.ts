/** What is computed: a run's policy answers the sample under one setting; and the recall of the retrievers by themselves. */
import type { Question } from '../../data/question.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { rolloutConfigOf } from '../../methods/index.js';
import { queriesWithEvidence, retrievalRecall } from '../../retrieval/recall.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { evaluationBatchSize } from '../answers.js';
import type { WorkContext } from '../experiment.js';
import { stratifiedSample } from '../question-sample.js';
import { loadPolicy, type PolicyRun } from '../runs.js';
import type { World } from '../world.js';
import { TOP_K, type TopKSetting } from './settings.js';

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
export async function answerSample(
  { run, retriever, k }: TopKSetting & { run: PolicyRun },
  { backend, world, onFraction }: WorkContext,
): Promise<TopKAnswer[]> {
  const questions = sampleOf(world);
  const byId = new Map(questions.map((question) => [question.id, question]));
  const retrieved = new Map<string, Retrieved>();
  const policy = await loadPolicy(run);
  const measurements = await evaluatePolicy(policy, await retrieverOf(retriever, world), questions, {
    rollout: { ...rolloutConfigOf(run.method), topK: k, reservePerTurn: TOP_K.reservePerTurn },
    batchSize: evaluationBatchSize(backend),
    onBatch: (done, trajectories) => {
      for (const trajectory of trajectories)
        retrieved.set(trajectory.questionId, retrievedIn(byId.get(trajectory.questionId)!, trajectory));
      onFraction(done / questions.length);
    },
  });
  policy.dispose();
  const { method, model, seed } = run;
  return measurements.map((measurement) => ({
    ...{ method, model, seed, retriever, k },
    ...measurement,
    ...retrieved.get(measurement.questionId)!,
  }));
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
