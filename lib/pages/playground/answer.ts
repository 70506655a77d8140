/** One question through the rollout, told event by event. */
import type { RolloutConfig } from '../../rollout/options.js';
import type { Question } from '../../data/question.js';
import type { Policy } from '../../policy/policy.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { rollOut } from '../../rollout/rollout.js';
import type { SearchTurn, SegmentKind, Trajectory } from '../../rollout/trajectory.js';
import type { Tokenizer } from '../../text/tokenizer.js';

/** What happens on the way to an answer; `elapsedMs` is counted from the question. */
export type AnswerEvent = { elapsedMs: number } & (
  | { kind: 'token'; tokenId: number; text: string; probability: number }
  /** A segment is complete; `turn` is what was searched, with an information segment. */
  | { kind: 'segment'; segment: SegmentKind; text: string; turn: SearchTurn | null }
  | { kind: 'end'; trajectory: Trajectory }
);

export interface AskOptions {
  rollout: RolloutConfig;
  /** Milliseconds that every request to the retriever takes longer. */
  delayMs: number;
  /** Most tokens a second; 0 is as many as there are. */
  tokensPerSecond: number;
  signal?: AbortSignal;
}

/** Waits. Rejects with the signal's reason when it is aborted. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/**
 * A retriever whose every request takes `delayMs` longer, as one behind a network does.
 * The sub-queries of a turn travel in one request, so that they wait together.
 */
export const delayRetriever = (retriever: Retriever, delayMs: number): Retriever => ({
  ...retriever,
  retrieve: async (queries, options) => {
    await pause(delayMs, options.signal);
    return retriever.retrieve(queries, options);
  },
});

/** Lets tokens pass at a steady pace, those of a turn that is stopped at once. */
function createPace(tokensPerSecond: number, signal?: AbortSignal): () => Promise<void> {
  let next = 0;
  return async () => {
    if (tokensPerSecond === 0 || signal?.aborted) return;
    const now = performance.now();
    next = Math.max(now, next + 1000 / tokensPerSecond);
    await pause(next - now);
  };
}

/**
 * Text of tokens that come one by one. A character of several tokens comes with its
 * last one; the others give an empty text.
 */
export function createTextStream(tokenizer: Tokenizer): (tokenId: number) => string {
  let pending: number[] = [];
  return (tokenId) => {
    pending.push(tokenId);
    const text = tokenizer.decode(pending);
    if (text.endsWith('\uFFFD')) return ''; // a part of a character
    pending = [];
    return text;
  };
}

/**
 * Answers a question greedily, as the evaluation does, and emits everything as it
 * happens.
 * @throws the signal's reason when it is aborted, after the turn that is under way
 */
export async function answerQuestion(
  question: string,
  { policy, retriever }: { policy: Policy; retriever: Retriever },
  { rollout, delayMs, tokensPerSecond, signal }: AskOptions,
  emit: (event: AnswerEvent) => void,
): Promise<void> {
  const asked: Question = { id: 'playground', question, goldenAnswers: [], metadata: {} };
  const start = performance.now();
  const elapsed = (): number => performance.now() - start;
  const textOf = createTextStream(policy.tokenizer);
  const pace = createPace(tokensPerSecond, signal);
  const { trajectories } = await rollOut(policy, delayRetriever(retriever, delayMs), [asked], {
    ...rollout,
    temperature: 0,
    signal,
    randoms: [createRandom(asked.id)],
    onToken: async ({ tokenId, logProb }) => {
      await pace();
      const text = textOf(tokenId);
      emit({ kind: 'token', tokenId, text, probability: Math.exp(logProb), elapsedMs: elapsed() });
    },
    onSegment: ({ kind, text }, _row, searchTurns) => {
      const turn = kind === 'information' ? searchTurns[searchTurns.length - 1] : null;
      emit({ kind: 'segment', segment: kind, text, turn, elapsedMs: elapsed() });
    },
  });
  emit({ kind: 'end', trajectory: trajectories[0], elapsedMs: elapsed() });
}
