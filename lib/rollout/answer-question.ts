/** Answers one question and reports every token, search and segment as it happens. */
import type { Question } from '../data/question.js';
import { isChatPolicy, type AnyPolicy } from '../policy/chat-policy.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { formatList } from '../text/format-list.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { foldText } from '../text/words.js';
import type { RolloutConfig } from './options.js';
import { parseQueries, rollOut } from './rollout.js';
import type { SearchTurn, SegmentKind, Trajectory } from './trajectory.js';

/** An event on the way to an answer; `elapsedMs` counts from the question. */
export type AnswerEvent = { elapsedMs: number } & (
  | { kind: 'token'; tokenId: number; text: string; probability: number }
  /** Text of a chat model as it streams, without tool calls. */
  | { kind: 'text'; text: string }
  /**
   * A finished segment: `queries` are the sub-queries of a policy segment that searches,
   * `turn` is the search behind an information segment.
   */
  | {
      kind: 'segment';
      segment: SegmentKind;
      text: string;
      queries: string[] | null;
      turn: SearchTurn | null;
    }
  | { kind: 'end'; trajectory: Trajectory }
);

export interface AskOptions {
  rollout: RolloutConfig;
  /** Extra milliseconds per retrieval request; default 0. */
  delayMs?: number;
  /** Maximum tokens per second; default 0, unlimited. */
  tokensPerSecond?: number;
  signal?: AbortSignal;
}

/**
 * Runs of capitalised words, except at the start of a sentence. Unlike `findNames`, never
 * joins two names (`Paris in France`): no passage might contain both together.
 */
const NAMES = /(?<=\S\s+)\p{Lu}[\p{L}\d]+(?: \p{Lu}[\p{L}\d]+)*/gu;

/** Warns about names in a question that occur in no passage; empty if all do. */
export function unknownNamesWarning(question: string, passages: readonly string[]): string {
  const occurs = (name: string): boolean =>
    passages.some((passage) => foldText(passage).includes(foldText(name)));
  const names = [...new Set(question.match(NAMES))].filter((name) => !occurs(name));
  if (names.length === 0) return '';
  return `No passage mentions ${formatList(names.map((name) => `“${name}”`))}: the answer will be a guess.`;
}

/** Waits. Rejects with the signal's reason when aborted. */
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

/** Adds `delayMs` to every request, which a turn's sub-queries share. */
export const delayRetriever = (retriever: Retriever, delayMs: number): Retriever => ({
  ...retriever,
  retrieve: async (queries, options) => {
    await pause(delayMs, options.signal);
    return retriever.retrieve(queries, options);
  },
});

/** Spaces tokens evenly in time; stops waiting once aborted. */
function createPace(tokensPerSecond: number, signal?: AbortSignal): () => Promise<void> {
  let next = 0;
  return async () => {
    if (tokensPerSecond === 0 || signal?.aborted) return;
    const now = performance.now();
    next = Math.max(now, next + 1000 / tokensPerSecond);
    await pause(next - now);
  };
}

/** Decodes token by token; a split character comes with the last of its tokens. */
export function createTextStream(tokenizer: Tokenizer): (tokenId: number) => string {
  let pending: number[] = [];
  return (tokenId) => {
    pending.push(tokenId);
    const text = tokenizer.decode(pending);
    if (text.endsWith('\uFFFD')) return ''; // an incomplete character
    pending = [];
    return text;
  };
}

/**
 * Answers a question greedily, as evaluation does.
 * @throws the signal's reason when aborted
 */
export async function answerQuestion(
  text: string,
  { policy, retriever }: { policy: AnyPolicy; retriever: Retriever },
  { rollout, delayMs = 0, tokensPerSecond = 0, signal }: AskOptions,
  emit: (event: AnswerEvent) => void,
): Promise<void> {
  const question: Question = { id: 'playground', question: text, goldenAnswers: [], metadata: {} };
  const start = performance.now();
  const elapsed = (): number => performance.now() - start;
  const decode = isChatPolicy(policy) ? null : createTextStream(policy.tokenizer);
  const pace = createPace(tokensPerSecond, signal);
  const { trajectories } = await rollOut(policy, delayRetriever(retriever, delayMs), [question], {
    ...rollout,
    temperature: 0,
    signal,
    randoms: [createRandom(question.id)],
    onToken: async ({ tokenId, logProb }) => {
      await pace();
      const probability = Math.exp(logProb);
      emit({ kind: 'token', tokenId, text: decode!(tokenId), probability, elapsedMs: elapsed() });
    },
    onText: ({ text }) => emit({ kind: 'text', text, elapsedMs: elapsed() }),
    onSegment: ({ kind, text }, _row, searchTurns) => {
      const queries = kind === 'policy' ? parseQueries(text, rollout) : null;
      const turn = kind === 'information' ? searchTurns[searchTurns.length - 1] : null;
      emit({ kind: 'segment', segment: kind, text, queries, turn, elapsedMs: elapsed() });
    },
  });
  emit({ kind: 'end', trajectory: trajectories[0], elapsedMs: elapsed() });
}
