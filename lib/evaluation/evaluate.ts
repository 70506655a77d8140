/** Answers many questions with a policy. */
import { range } from 'd3-array';
import { graphDepth, type Question } from '../data/question.js';
import type { AnyPolicy } from '../policy/chat-policy.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createSearchCache } from '../retrieval/search.js';
import type { RolloutOptions } from '../rollout/options.js';
import { rollOut } from '../rollout/rollout.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { measure, type Measurement } from './measurement.js';

export interface EvaluateOptions {
  rollout: Omit<RolloutOptions, 'temperature' | 'signal'>;
  /** Questions answered concurrently. */
  batchSize: number;
  /** Default: 0 (greedy), so that a run is deterministic. */
  temperature?: number;
  signal?: AbortSignal;
  /** Other processes that share the batches with this one. */
  helpers?: readonly AnswerBatch[];
  /** Awaited after each batch. @param done number of questions answered so far */
  onBatch?: (done: number, trajectories: readonly Trajectory[]) => unknown;
}

export type AnswerBatch = (questions: readonly Question[]) => Promise<Trajectory[]>;

/** Answers questions together, each with its own random stream. */
export async function answerBatch(
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  options: RolloutOptions,
): Promise<Trajectory[]> {
  const randoms = questions.map(({ id }) => createRandom(id));
  const { trajectories } = await rollOut(policy, retriever, questions, { ...options, randoms });
  policy.release?.();
  return trajectories;
}

/** Batches of indices. Similar questions share a batch, so that its rows end together. */
export function createBatches(questions: readonly Question[], batchSize: number): number[][] {
  const difficulty = ({ metadata: { graph = [] } }: Question): number =>
    10 * graphDepth(graph) + graph.length;
  const order = range(questions.length).sort(
    (a, b) => difficulty(questions[a]) - difficulty(questions[b]) || a - b,
  );
  return range(0, order.length, batchSize).map((start) => order.slice(start, start + batchSize));
}

/** Answers questions and measures the answers, in the order of the questions. */
export const evaluatePolicy = (
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions,
): Promise<Measurement[]> =>
  mapAnswers(policy, retriever, questions, { ...options, toResult: measure });

/** Answers questions; returns the result for each trajectory, in their order. */
export async function mapAnswers<T>(
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions & {
    /** @param seconds the question's share of its batch's time */
    toResult: (question: Question, trajectory: Trajectory, seconds: number) => T;
  },
): Promise<T[]> {
  const kept = new Array<T>(questions.length);
  const { batchSize, temperature = 0 } = options;
  const rollout = { ...options.rollout, temperature, cache: createSearchCache() };
  const stopped = new AbortController();
  let done = 0;
  const answerHere: AnswerBatch = (part) => {
    // One signal per batch: many listeners on one signal look like a leak.
    const signal = AbortSignal.any([stopped.signal, ...(options.signal ? [options.signal] : [])]);
    return answerBatch(policy, retriever, part, { ...rollout, signal });
  };
  // A concurrent policy answers them one by one: some search while others generate.
  const batches = createBatches(questions, policy.isConcurrent ? 1 : batchSize).values();
  const work = async (answer: AnswerBatch): Promise<void> => {
    for (const batch of batches) {
      stopped.signal.throwIfAborted();
      options.signal?.throwIfAborted();
      const start = performance.now();
      const trajectories = await answer(batch.map((i) => questions[i]));
      const seconds = (performance.now() - start) / 1000 / batch.length;
      batch.forEach((i, j) => (kept[i] = options.toResult(questions[i], trajectories[j], seconds)));
      await options.onBatch?.((done += batch.length), trajectories);
    }
  };
  const here = new Array<AnswerBatch>(policy.isConcurrent ? batchSize : 1).fill(answerHere);
  const workers = [...here, ...(options.helpers ?? [])].map((answer) =>
    // The first failure stops the others.
    work(answer).catch((error: unknown) => stopped.abort(error)),
  );
  await Promise.all(workers);
  stopped.signal.throwIfAborted();
  return kept;
}
