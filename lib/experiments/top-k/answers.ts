/** One evaluation of the experiment on passages a sub-query: a run's policy answers the sample under one setting. */
import { rolloutConfigOf } from '../../methods/index.js';
import type { Question } from '../../data/question.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import type { Retrieved, RetrieverName, TopKAnswer, TopKConfig, TopKSetting } from './measures.js';
import type { Policy } from '../../policy/policy.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { stratifiedSample } from '../question-sample.js';
import type { PolicyRun } from '../runs.js';
import type { World } from '../world.js';

export type Retrievers = Readonly<Record<RetrieverName, Retriever>>;

/** All three over the same passages. */
export async function loadRetrievers({ passages }: World): Promise<Retrievers> {
  const [bm25, exact, hnsw] = await Promise.all(
    ['bm25', 'exact', 'hnsw'].map((name) => createRetriever(name, passages)),
  );
  return { bm25, exact, hnsw };
}

/** One of `oneOf` test questions of each benchmark and kind, rounded up; the same ones every time. */
export function sampleQuestions(questions: readonly Question[], oneOf: number): Question[] {
  return stratifiedSample(questions, { oneOf, seed: 'top-k' });
}

/** What a trajectory's searches brought. */
export function retrievedIn({ metadata }: Question, { searchTurns, finish }: Trajectory): Retrieved {
  const results = searchTurns.flatMap((turn) => turn.results);
  const shown = results.flatMap((result) => (result.status === 'ok' ? result.passages : []));
  const leftOut = results.map((result) => (result.status === 'ok' ? (result.numLeftOut ?? 0) : 0));
  const ids = new Set(shown.map(({ id }) => id));
  const graph = metadata.graph ?? [];
  const answered = graph.filter(({ evidence }) => evidence.some((id) => ids.has(id)));
  return {
    subQueries: results.length,
    passagesFound: shown.length + leftOut.reduce((a, b) => a + b, 0),
    passagesShown: shown.length,
    evidenceShown: answered.length / Math.max(1, graph.length),
    isContextFull: finish === 'length',
  };
}

/** Answers questions with a policy under one setting. */
export async function answerWith(
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  {
    run,
    setting,
    config,
    onBatch,
  }: { run: PolicyRun; setting: TopKSetting; config: TopKConfig; onBatch?: (done: number) => void },
): Promise<TopKAnswer[]> {
  const byId = new Map(questions.map((question) => [question.id, question]));
  const retrieved = new Map<string, Retrieved>();
  const { reservePerTurn, batchSize } = config;
  const measurements = await evaluatePolicy(policy, retriever, questions, {
    rollout: { ...rolloutConfigOf(run.method), topK: setting.k, reservePerTurn },
    batchSize,
    onBatch: (done, trajectories) => {
      for (const trajectory of trajectories) {
        const { questionId } = trajectory;
        retrieved.set(questionId, retrievedIn(byId.get(questionId)!, trajectory));
      }
      onBatch?.(done);
    },
  });
  const { method, model, seed } = run;
  return measurements.map((measurement) => ({
    ...{ method, model, seed, ...setting },
    ...measurement,
    ...retrieved.get(measurement.questionId)!,
  }));
}
