/** Answers questions with a policy. */
import { graphDepth, type Question } from '../data/question.js';
import type { AnyPolicy } from '../policy/chat-policy.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createSearchCache } from '../retrieval/search.js';
import type { RolloutOptions } from '../rollout/options.js';
import { rollOut } from '../rollout/rollout.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { measure } from './measure.js';
import type { Measurement } from './result.js';

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
  // A concurrent policy answers questions separately: some search while others generate.
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
