/** Answers one question, reporting every token, search and segment as it happens. */
import type { Question } from '../data/question.js';
import { isChatPolicy, type AnyPolicy } from '../policy/chat-policy.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';
import type { RolloutConfig } from './options.js';
import { parseQueries, rollOut } from './rollout.js';
import type { SearchTurn, SegmentKind, Trajectory } from './trajectory.js';

export type AnswerEvent =
  /** Text as the policy writes it. Chat models stream no tokens and no tool calls. */
  | { type: 'text'; text: string; token?: { id: number; probability: number } }
  /**
   * A finished segment. `queries`: the sub-queries, if a policy segment searches; `turn`:
   * the search that produced an information segment.
   */
  | {
      type: 'segment';
      segment: SegmentKind;
      text: string;
      queries: string[] | null;
      turn: SearchTurn | null;
    };

interface AskOptions {
  rollout: RolloutConfig;
  signal?: AbortSignal;
  onEvent?: (event: AnswerEvent) => void;
}

/** Decodes token by token; a split character is emitted with the last of its tokens. */
export function createTextStream(tokenizer: Tokenizer): (tokenId: number) => string {
  // Decoded again with what follows: Llama 2's decoder drops the first token's space.
  let emitted: number[] = [];
  let pending: number[] = [];
  return (tokenId) => {
    pending.push(tokenId);
    const text = tokenizer.decode([...emitted, ...pending]);
    if (text.endsWith('\uFFFD')) return ''; // the character is still incomplete
    const { length } = tokenizer.decode(emitted);
    [emitted, pending] = [pending, []];
    return text.slice(length);
  };
}

/**
 * Answers a question with greedy decoding, as evaluation does.
 * @throws the signal's reason when aborted
 */
export async function answerQuestion(
  text: string,
  { policy, retriever }: { policy: AnyPolicy; retriever: Retriever },
  { rollout, signal, onEvent }: AskOptions,
): Promise<Trajectory> {
  const question: Question = { id: 'question', question: text, goldenAnswers: [], metadata: {} };
  const decode = isChatPolicy(policy) ? null : createTextStream(policy.tokenizer);
  const { trajectories } = await rollOut(policy, retriever, [question], {
    ...rollout,
    temperature: 0,
    signal,
    randoms: [createRandom(question.id)],
    onToken: ({ tokenId, logProb }) => {
      const token = { id: tokenId, probability: Math.exp(logProb) };
      onEvent?.({ type: 'text', text: decode!(tokenId), token });
    },
    onText: (part) => onEvent?.({ type: 'text', text: part.text }),
    onSegment: ({ kind, text: written }, _row, searchTurns) => {
      const queries = kind === 'policy' ? parseQueries(written, rollout) : null;
      const turn = kind === 'information' ? searchTurns[searchTurns.length - 1] : null;
      onEvent?.({ type: 'segment', segment: kind, text: written, queries, turn });
    },
  });
  return trajectories[0];
}
