/**
 * A search agent to embed in your own program: takes a question, streams events and the
 * answer. The command line calls `answerQuestion` directly.
 */
import pLimit from 'p-limit';
import type { AnyPolicy } from '../policy/chat-policy.js';
import type { Retriever } from '../retrieval/retriever.js';
import { parseBlocks } from '../text/tags.js';
import { answerQuestion, type AnswerEvent } from './answer-question.js';
import { modelLimits, rolloutSchema, type RolloutConfig } from './options.js';
import { shownTexts, type Trajectory } from './trajectory.js';

interface ShownPassage {
  id: string;
  title: string;
  text: string;
  score: number;
}

export type AgentEvent =
  /** Streamed policy text; absent if the policy does not stream. */
  | { type: 'text'; text: string }
  | { type: 'thought'; text: string }
  /** The sub-queries of a turn, which run concurrently. */
  | { type: 'search'; queries: string[] }
  /** One event per sub-query, in order; `error` is set if its search failed. */
  | { type: 'passages'; query: string; passages: ShownPassage[]; error?: string }
  /** The last event; `answer` is null if the policy ran out of turns or context. */
  | { type: 'answer'; answer: string | null; trajectory: Trajectory };

interface SearchAgentOptions {
  policy: AnyPolicy;
  retriever: Retriever;
  /** Whether a turn may have several sub-queries. Default: true. */
  isParallel?: boolean;
  /**
   * Overrides of rollout settings, such as `topK` and `maxSearchTurns`. A model of the
   * small world needs its short prompt, as in `resolveRollout(METHOD, 'small-world')`.
   */
  rollout?: Partial<RolloutConfig>;
  /** Maximum questions in flight; the rest wait. Default: 8, or 1 for a local model. */
  maxConcurrency?: number;
}

export interface SearchAgent {
  /** Leaving the loop stops the agent. @throws as the policy, or the signal's reason */
  ask: (question: string, options?: { signal?: AbortSignal }) => AsyncIterable<AgentEvent>;
}

/** Creates an agent that answers with any policy from any retriever. */
export function createSearchAgent({
  policy,
  retriever,
  isParallel = true,
  rollout: changes,
  maxConcurrency = policy.isConcurrent ? 8 : 1,
}: SearchAgentOptions): SearchAgent {
  const rollout = rolloutSchema.parse({
    ...modelLimits(policy),
    prompt: isParallel ? 'parallel' : 'search-r1',
    splitQueries: isParallel,
    ...changes,
  });
  const limit = pLimit(maxConcurrency);
  return {
    async *ask(question, { signal } = {}) {
      const consumerGone = new AbortController();
      const options = {
        rollout,
        signal: signal ? AbortSignal.any([signal, consumerGone.signal]) : consumerGone.signal,
      };
      const events = new ReadableStream<AgentEvent>({
        async start(controller) {
          const show = (event: AgentEvent): void => {
            if (!consumerGone.signal.aborted) controller.enqueue(event);
          };
          const onEvent = (event: AnswerEvent): void => agentEvents(event).forEach(show);
          const trajectory = await limit(() =>
            answerQuestion(question, { policy, retriever }, { ...options, onEvent }),
          );
          show({ type: 'answer', answer: trajectory.answer, trajectory });
          controller.close();
        },
      }).getReader();
      try {
        for (let read; !(read = await events.read()).done; ) yield read.value;
      } finally {
        consumerGone.abort();
      }
    },
  };
}

function agentEvents(event: AnswerEvent): AgentEvent[] {
  if (event.type === 'text') return [{ type: 'text', text: event.text }];
  const { segment, text, queries, turn } = event;
  if (segment === 'policy') {
    const thoughts = parseBlocks(text).filter(({ tag, body }) => tag === 'think' && body.trim());
    return [
      ...thoughts.map(({ body }): AgentEvent => ({ type: 'thought', text: body.trim() })),
      ...(queries ? [{ type: 'search' as const, queries }] : []),
    ];
  }
  if (!turn) return [];
  const texts = shownTexts(turn.results, text);
  return turn.queries.map((query, i) => {
    const result = turn.results[i];
    if (result.status === 'failed')
      return { type: 'passages', query, passages: [], error: result.detail ?? result.reason };
    const passages = result.passages.map((passage, j) => ({ ...passage, text: texts[i][j] }));
    return { type: 'passages', query, passages };
  });
}
