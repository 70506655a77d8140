/** Answers questions with a policy and measures the answers. */
import { mean } from 'd3-array';
import { graphDepth, type Question, type QuestionGraph } from '../data/question.js';
import type { AnyPolicy } from '../policy/chat-policy.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createSearchCache, isTimedOut } from '../retrieval/search.js';
import type { RolloutOptions } from '../rollout/options.js';
import { rollOut } from '../rollout/rollout.js';
import { tokenUsage, type Trajectory } from '../rollout/trajectory.js';
import { exactMatch, normalizeAnswer, tokenF1 } from '../text/normalize.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import type { Measurement } from './result.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { scoringInput } from '../rewards/reward.js';

export interface EvaluateOptions {
  rollout: Omit<RolloutOptions, 'temperature' | 'signal'>;
  /** Questions answered concurrently. */
  batchSize: number;
  /** Default 0 (greedy), so that a run is deterministic. */
  temperature?: number;
  signal?: AbortSignal;
  /** Its result is awaited. @param done questions answered so far */
  onBatch?: (done: number, trajectories: readonly Trajectory[]) => unknown;
}

/** Fraction of the sub-questions for which a passage with the answer was retrieved. */
function evidenceRecall(graph: QuestionGraph, { searchTurns }: Trajectory): number {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results
      .flatMap((result) => (result.status === 'ok' ? result.passages : []))
      .map(({ id }) => id),
  );
  return mean(graph, ({ evidence }) => Number(evidence.some((id) => seen.has(id)))) ?? NaN;
}

/** All metrics of a trajectory; those that need a missing dependency graph are NaN. */
export function measure(question: Question, trajectory: Trajectory): Measurement {
  const { graph = [], benchmark, type } = question.metadata;
  const { answer, formatOk, searchTurns, questionType } = scoringInput(trajectory, question);
  const timedOutQueries = trajectory.searchTurns
    .flatMap(({ results }) => results)
    .filter(isTimedOut).length;
  const ifGraph = (value: number): number => (graph.length > 0 ? value : NaN);
  return {
    questionId: question.id,
    benchmark: benchmark ?? 'unknown',
    type: type ?? 'unknown',
    subset: questionType ?? 'unknown',
    entitiesCompared: questionType === 'parallelizable' ? graph.length : 0,
    ...(graph.length > 0 && { hops: graphDepth(graph) }),
    wording: question.metadata.wording,
    isYesNo: question.goldenAnswers.every((answer) =>
      ['yes', 'no'].includes(normalizeAnswer(answer)),
    ),
    em: exactMatch(answer, question.goldenAnswers),
    f1: tokenF1(answer, question.goldenAnswers),
    formatOk,
    turns: searchTurns.length,
    modelCalls: trajectory.modelCalls,
    decomposed: isDecomposed(searchTurns),
    coverage: ifGraph(subQuestionRecall(question, searchTurns)),
    evidenceSeen: ifGraph(evidenceRecall(graph, trajectory)),
    criticalPathRatio: ifGraph(trajectory.modelCalls / (graphDepth(graph) + 1)),
    responseTokens: tokenUsage(trajectory).written,
    searches: searchTurns.map((queries) => [...queries]),
    ...(timedOutQueries > 0 && { timedOutQueries }),
    answer,
  };
}

/** Batches of indices. Similar questions share a batch, so that its rows end together. */
export function createBatches(questions: readonly Question[], batchSize: number): number[][] {
  const difficulty = ({ metadata }: Question): number => {
    const graph = metadata.graph ?? [];
    return 10 * graphDepth(graph) + graph.length;
  };
  const order = questions
    .map((_, i) => i)
    .sort((a, b) => difficulty(questions[a]) - difficulty(questions[b]) || a - b);
  return Array.from({ length: Math.ceil(order.length / batchSize) }, (_, b) =>
    order.slice(b * batchSize, (b + 1) * batchSize),
  );
}

/** Measurements in the order of the questions. */
export const evaluatePolicy = (
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions,
): Promise<Measurement[]> =>
  answerQuestions(policy, retriever, questions, { ...options, toResult: measure });

/** The results of `keep` for each trajectory, in the order of the questions. */
export async function answerQuestions<T>(
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions & {
    /** @param seconds its share of its batch's time */
    toResult: (question: Question, trajectory: Trajectory, seconds: number) => T;
  },
): Promise<T[]> {
  const kept = new Array<T>(questions.length);
  const { batchSize, temperature = 0 } = options;
  const rollout = { ...options.rollout, temperature, cache: createSearchCache() };
  const stopped = new AbortController();
  let done = 0;
  const answerBatch = async (batch: readonly number[]): Promise<void> => {
    // One signal per batch: many listeners on one look like a leak.
    const signal = AbortSignal.any([stopped.signal, ...(options.signal ? [options.signal] : [])]);
    signal.throwIfAborted();
    const part = batch.map((i) => questions[i]);
    const start = performance.now();
    const randoms = part.map((question) => createRandom(question.id));
    const { trajectories } = await rollOut(policy, retriever, part, {
      ...rollout,
      signal,
      randoms,
    });
    policy.release?.();
    const seconds = (performance.now() - start) / 1000 / batch.length;
    batch.forEach((i, j) => (kept[i] = options.toResult(questions[i], trajectories[j], seconds)));
    await options.onBatch?.((done += batch.length), trajectories);
  };
  // If calls may overlap, questions run one by one: some search while others generate.
  const batches = createBatches(questions, policy.isConcurrent ? 1 : batchSize).values();
  const work = async (): Promise<void> => {
    for (const batch of batches) await answerBatch(batch);
  };
  const workers = Array.from({ length: policy.isConcurrent ? batchSize : 1 }, () =>
    // The first failure stops the others.
    work().catch((error: unknown) => stopped.abort(error)),
  );
  await Promise.all(workers);
  stopped.signal.throwIfAborted();
  return kept;
}
