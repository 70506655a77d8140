/** Answers questions greedily with a policy and measures every answer. */
import { LRUCache } from 'lru-cache';
import { mean } from 'd3-array';
import { graphDepth, type Question, type QuestionGraph, questionType } from '../data/question.js';
import type { Policy } from '../policy/policy.js';
import { createRandom } from '../random.js';
import type { RetrievedPassage, Retriever } from '../retrieval/retriever.js';
import { rollOut, type RolloutOptions } from '../rollout/rollout.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { exactMatch, normalizeAnswer, tokenF1 } from '../text/normalize.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import type { Measurement } from './result.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { scoringInput } from '../rewards/reward.js';

export interface EvaluateOptions {
  rollout: Omit<RolloutOptions, 'temperature' | 'signal'>;
  /** Questions answered side by side. */
  batchSize: number;
  /** 0 (default) is greedy, so that a run has no randomness of its own. */
  temperature?: number;
  signal?: AbortSignal;
  /** What it returns is waited for. @param done questions answered so far */
  onBatch?: (done: number, trajectories: readonly Trajectory[]) => unknown;
}

/**
 * The share of the sub-questions of which a passage that states the answer was among the
 * results.
 */
function evidenceSeen(graph: QuestionGraph, { searchTurns }: Trajectory): number {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results
      .flatMap((result) => (result.status === 'ok' ? result.passages : []))
      .map(({ id }) => id),
  );
  return mean(graph, ({ evidence }) => Number(evidence.some((id) => seen.has(id)))) ?? NaN;
}

/**
 * All metrics of one trajectory; NaN where one needs the question's dependency graph and
 * there is none.
 */
export function measure(question: Question, trajectory: Trajectory): Measurement {
  const { graph = [], benchmark, type } = question.metadata;
  const shape = questionType(question);
  const { answer, formatOk, searchTurns } = scoringInput(trajectory, question);
  const ofGraph = (value: number): number => (graph.length > 0 ? value : NaN);
  const written = trajectory.segments.filter(({ kind }) => kind === 'policy');
  return {
    questionId: question.id,
    benchmark: benchmark ?? 'unknown',
    type: type ?? 'unknown',
    subset: shape ?? 'unknown',
    entitiesCompared: shape === 'parallelizable' ? graph.length : 0,
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
    coverage: ofGraph(subQuestionRecall(question, searchTurns)),
    evidenceSeen: ofGraph(evidenceSeen(graph, trajectory)),
    criticalPathRatio: ofGraph(trajectory.modelCalls / (graphDepth(graph) + 1)),
    responseTokens: written.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0),
    searches: searchTurns.map((queries) => [...queries]),
    answer,
  };
}

/**
 * Questions of like shape side by side, so that rows of a batch end together; a list of
 * places in `questions` each.
 */
export function batchesOf(questions: readonly Question[], batchSize: number): number[][] {
  const sizeOf = ({ metadata }: Question): number => {
    const graph = metadata.graph ?? [];
    return 10 * graphDepth(graph) + graph.length;
  };
  const order = questions
    .map((_, i) => i)
    .sort((a, b) => sizeOf(questions[a]) - sizeOf(questions[b]) || a - b);
  return Array.from({ length: Math.ceil(order.length / batchSize) }, (_, b) =>
    order.slice(b * batchSize, (b + 1) * batchSize),
  );
}

/** Measurements in the order of the questions. */
export const evaluatePolicy = (
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions,
): Promise<Measurement[]> =>
  answerQuestions(policy, retriever, questions, { ...options, keep: measure });

/** What `keep` makes of each trajectory, in the order of the questions. */
export async function answerQuestions<T>(
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  options: EvaluateOptions & { keep: (question: Question, trajectory: Trajectory) => T },
): Promise<T[]> {
  const kept = new Array<T>(questions.length);
  const { batchSize, temperature = 0 } = options;
  const rollout = {
    ...options.rollout,
    temperature,
    cache: new LRUCache<string, RetrievedPassage[]>({ max: 20_000 }),
  };
  const stopped = new AbortController();
  let done = 0;
  const answerBatch = async (batch: readonly number[]): Promise<void> => {
    // Of its own for each: many listeners on one are taken for a leak.
    const signal = AbortSignal.any([stopped.signal, ...(options.signal ? [options.signal] : [])]);
    signal.throwIfAborted();
    const part = batch.map((i) => questions[i]);
    const randoms = part.map((question) => createRandom(question.id));
    const { trajectories } = await rollOut(policy, retriever, part, {
      ...rollout,
      signal,
      randoms,
    });
    policy.release?.();
    batch.forEach((i, j) => (kept[i] = options.keep(questions[i], trajectories[j])));
    await options.onBatch?.((done += batch.length), trajectories);
  };
  // Where calls may overlap, each question goes by itself: one searches while others
  // generate.
  const left = batchesOf(questions, policy.overlaps ? 1 : batchSize).values();
  const answerLeft = async (): Promise<void> => {
    for (const batch of left) await answerBatch(batch);
  };
  const workers = Array.from({ length: policy.overlaps ? batchSize : 1 }, () =>
    // The first failure stops the others.
    answerLeft().catch((error: unknown) => stopped.abort(error)),
  );
  await Promise.all(workers);
  stopped.signal.throwIfAborted();
  return kept;
}
