/**
 * How a rollout and its policy exchange segments. A policy reads either token ids, which
 * are written once and never re-encoded, or chat messages. Segments keep both, so the
 * context of a turn is the concatenation of the segments before it.
 */
import { memoisedByNames } from '../memoise.js';
import {
  ContextFullError,
  ReplyError,
  isChatPolicy,
  type AnyPolicy,
  type ChatPolicy,
  type Reply,
} from '../policy/chat-policy.js';
import type { Generation, Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import {
  formatTagMessage,
  formatToolMessage,
  readToolCall,
  searchTool,
  type AssistantMessage,
  type Message,
} from '../text/messages.js';
import { buildPrompt, encodePrompt } from '../text/prompts.js';
import {
  INVALID_ACTION_MESSAGE,
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  escapeTags,
  nextAction,
  STOP_STRINGS,
  wrapResults,
} from '../text/tags.js';
import { transcriptSeparator, type RolloutOptions } from './options.js';
import { tokenIds, type Segment, type Trajectory } from './trajectory.js';

export interface Row {
  index: number;
  random: Random;
  trajectory: Trajectory;
}

interface Refused {
  refusal: string;
}

/** Makes and cuts the segments of a rollout, in the form its policy reads. */
export interface Dialogue {
  startPrompt(question: string): Segment;
  /**
   * Generates the next segment of each row: null if the context is full, or the reason if
   * the policy's answer was unusable.
   */
  generate(rows: readonly Row[]): Promise<(Segment | Refused | null)[]>;
  /** The information segment with the results of a search, one text per query. */
  formatResults(row: Row, queries: readonly string[], texts: readonly string[]): Segment;
  /** What the policy reads after an invalid action. */
  formatNotice(row: Row): Segment;
  /** The number of tokens in a segment; estimated for chat messages. */
  countTokens(segment: Segment): number;
  /** The first `maxTokens` tokens of a text. */
  cutText(text: string, maxTokens: number): string;
  /**
   * The first `maxTokens` tokens of an information segment, without repairing its tags.
   */
  cutSegment(segment: Segment, maxTokens: number): Segment;
  /** How many tokens of information fit and leave room for the next generation. */
  roomForInformation(row: Row): number;
}

export const createDialogue = (policy: AnyPolicy, options: RolloutOptions): Dialogue =>
  isChatPolicy(policy) ? chatDialogue(policy, options) : tokenDialogue(policy, options);

function tokenDialogue(policy: Policy, options: RolloutOptions): Dialogue {
  const { tokenizer, maxLength } = policy;
  const { promptForm: form, maxNewTokens, maxInformationTokens, onToken } = options;
  const { informationForm } = options;
  if (form === 'tools')
    throw new Error(
      `Expected a prompt form other than tools, because ${policy.name} can't call tools. Use --prompt-form chat or full.`,
    );
  const encode = (kind: Segment['kind'], text: string): Segment => ({
    kind,
    tokenIds: tokenizer.encode(text),
    text,
  });
  const hasRoom = ({ trajectory }: Row): boolean =>
    tokenIds(trajectory).length + maxNewTokens < maxLength;
  return {
    startPrompt(question) {
      const separator = transcriptSeparator(options);
      const text = buildPrompt(options.prompt, question, { form, separator });
      return { kind: 'prompt', ...encodePrompt(text, { form, tokenizer }) };
    },
    async generate(rows) {
      const ready = rows.filter(hasRoom);
      if (ready.length === 0) return rows.map(() => null);
      const generations = await policy.generate(
        ready.map(({ trajectory }) => tokenIds(trajectory)),
        {
          temperature: options.temperature,
          topP: options.topP,
          maxNewTokens,
          stop: STOP_STRINGS,
          randoms: ready.map((row) => row.random),
          signal: options.signal,
          onToken: onToken && (({ row, ...token }) => onToken({ row: ready[row].index, ...token })),
        },
      );
      requireGenerations(generations, ready.length, policy);
      const segments = new Map(
        ready.map((row, i): [Row, Segment | Refused] => {
          const { tokenIds, text, logProbs, refusal } = generations[i];
          if (refusal !== undefined) return [row, { refusal }];
          return [row, { kind: 'policy', tokenIds, text, ...(logProbs && { logProbs }) }];
        }),
      );
      return rows.map((row) => segments.get(row) ?? null);
    },
    formatResults: (_row, queries, texts) =>
      encode('information', wrapResults(texts, { form: informationForm, queries })),
    // The short form suits the small policy, the full form real language models.
    formatNotice: () =>
      encode('notice', form === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL),
    countTokens: (segment) => segment.tokenIds.length,
    cutText(text, maxTokens) {
      const ids = tokenizer.encode(text);
      // Decoding with a normalising tokenizer could produce a tag.
      return ids.length <= maxTokens ? text : escapeTags(tokenizer.decode(ids.slice(0, maxTokens)));
    },
    cutSegment({ kind, tokenIds }, maxTokens) {
      const ids = tokenIds.slice(0, maxTokens);
      return { kind, tokenIds: ids, text: tokenizer.decode(ids) };
    },
    roomForInformation({ trajectory }) {
      const { reservePerTurn } = options;
      if (reservePerTurn === undefined) return maxInformationTokens;
      const turnsLeft = options.maxSearchTurns - trajectory.modelCalls;
      const reserved = maxNewTokens + turnsLeft * reservePerTurn;
      return Math.min(maxInformationTokens, maxLength - 1 - tokenIds(trajectory).length - reserved);
    },
  };
}

/** @throws Error naming what a policy of the caller returned instead of generations */
function requireGenerations(
  generations: readonly Partial<Generation>[],
  numRows: number,
  { name, tokenizer }: Policy,
): void {
  const count = Array.isArray(generations) ? generations.length : JSON.stringify(generations);
  if (count !== numRows)
    throw new Error(`Expected ${numRows} generations from ${name}, but got ${count}.`);
  for (const { tokenIds, text, refusal } of generations) {
    if (refusal !== undefined) continue;
    if (!Array.isArray(tokenIds) || typeof text !== 'string')
      throw new Error(
        `Expected generations such as { tokenIds: [5, 7], text, finish } from ${name}, but got tokenIds ${typeof tokenIds} and text ${typeof text}.`,
      );
    // The token that completes a stop string may hold more, which is not an action.
    const rest = text.slice(nextAction(text).end);
    if (rest.length > tokenizer.decode(tokenIds.slice(-1)).length)
      throw new Error(
        `Expected ${name} to stop after ${STOP_STRINGS.join(' or ')}, but it continued with ${JSON.stringify(rest.slice(0, 60))}. Pass options.stop to the model.`,
      );
  }
}

/** Typical of English text. */
const CHARACTERS_PER_TOKEN = 4;
const cutCharacters = (text: string, maxTokens: number): string =>
  text.slice(0, maxTokens * CHARACTERS_PER_TOKEN);

function chatDialogue(policy: ChatPolicy, options: RolloutOptions): Dialogue {
  const hasTools = options.promptForm === 'tools';
  const { temperature, topP, maxNewTokens, maxInformationTokens, splitQueries, onText } = options;
  const { informationForm } = options;
  if (hasTools && options.informationCut === 'raw')
    throw new Error(
      'Expected informationCut passage or query for a model that calls tools, whose results are messages of their own, but got raw. Use --prompt-form chat.',
    );
  const wrap = (texts: readonly string[], queries: readonly string[]): string =>
    wrapResults(texts, { form: informationForm, queries });
  const chatSegment = (kind: Segment['kind'], text: string, messages: Message[]): Segment => ({
    kind,
    text,
    tokenIds: [],
    messages,
  });
  const reply = async ({ index, random, trajectory }: Row): Promise<Segment | Refused | null> => {
    const messages = trajectory.segments.flatMap((segment) => segment.messages ?? []);
    const answer = await policy
      .reply(messages, {
        temperature,
        topP,
        maxNewTokens,
        stop: hasTools ? STOP_STRINGS.slice(-1) : STOP_STRINGS,
        tools: hasTools && options.maxSearchTurns > 0 ? [searchTool({ splitQueries })] : [],
        parallelToolCalls: splitQueries,
        ...(temperature > 0 && { seed: random.integer(2 ** 31) }),
        signal: options.signal,
        onText: onText && ((text) => onText({ row: index, text })),
      })
      .catch((error: unknown): Reply | Refused | null => {
        if (error instanceof ContextFullError) return null;
        if (error instanceof ReplyError) return { refusal: error.message };
        throw error;
      });
    if (!answer || 'refusal' in answer) return answer;
    const { message, usage } = answer;
    const earlier = trajectory.segments.findLast((segment) => segment.usage)?.usage;
    if (usage && earlier && usage.read < earlier.read) warnOfCuts();
    const text = hasTools
      ? formatToolMessage(message, { splitQueries })
      : formatTagMessage(message);
    const read: AssistantMessage = hasTools ? message : { role: 'assistant', content: text };
    return { ...chatSegment('policy', text, [read]), ...(usage && { usage }) };
  };
  return {
    startPrompt(question) {
      const form = options.promptForm;
      const separator = transcriptSeparator(options);
      const text = buildPrompt(options.prompt, question, { form, separator });
      return chatSegment('prompt', text, [{ role: 'user', content: text }]);
    },
    generate: (rows) => Promise.all(rows.map(reply)),
    formatResults(row, queries, texts) {
      const text = wrap(texts, queries);
      const calls = lastCalls(row);
      if (calls.length === 0)
        return chatSegment('information', text, [{ role: 'user', content: text }]);
      // Calls can repeat or mix queries: each gets the results of its own queries.
      const shown = new Map(queries.map((query, i) => [query, texts[i]]));
      const messages = calls.map((call): Message => {
        const asked = readToolCall(call);
        const content = asked
          ?.map((query) => {
            const result = shown.get(query);
            return `${query}\n${result === undefined ? NOT_RUN : wrap([result], [query])}`;
          })
          .join('\n\n');
        return { role: 'tool', tool_call_id: call.id, content: content ?? INVALID_CALL };
      });
      return chatSegment('information', text, messages);
    },
    formatNotice(row) {
      const calls = lastCalls(row);
      const messages = calls.map(
        ({ id }): Message => ({ role: 'tool', tool_call_id: id, content: INVALID_CALL }),
      );
      const content = hasTools ? ACT : INVALID_ACTION_MESSAGE;
      const notice: Message[] = messages.length > 0 ? messages : [{ role: 'user', content }];
      return chatSegment('notice', INVALID_ACTION_NOTICE_FULL, notice);
    },
    countTokens: ({ text }) => Math.ceil(text.length / CHARACTERS_PER_TOKEN),
    cutText: cutCharacters,
    cutSegment(segment, maxTokens) {
      // With tools, each call has its own message, so the segment cannot be cut as one.
      if (hasTools) return segment;
      const content = cutCharacters(segment.text, maxTokens);
      return chatSegment(segment.kind, content, [{ role: 'user', content }]);
    },
    roomForInformation: () => maxInformationTokens,
  };
}

const NOT_RUN = "Not searched: this turn's query limit is reached.";
const INVALID_CALL =
  'Invalid call. Call `search` with its arguments as a JSON object, as in its description.';
const ACT = 'Call the tool `search`, or give the final answer between <answer> and </answer>.';

/** Ollama reports no error and counts only what is left of the conversation. */
const warnOfCuts = memoisedByNames(() =>
  console.error(
    'The server counts fewer tokens in a conversation that grew: it probably drops what exceeds its context length. Raise that (Ollama: OLLAMA_CONTEXT_LENGTH=32768).',
  ),
);

/** The tool calls of the policy's last message. */
function lastCalls({ trajectory }: Row): NonNullable<AssistantMessage['tool_calls']> {
  const message = trajectory.segments.at(-1)?.messages?.at(-1);
  return message?.role === 'assistant' ? (message.tool_calls ?? []) : [];
}
