/** How a rollout and a chat model exchange segments, with tags or tool calls. */
import { memoisedByNames } from '../memoise.js';
import {
  ContextFullError,
  ReplyError,
  type ChatPolicy,
  type Reply,
} from '../policy/chat-policy.js';
import {
  formatTagMessage,
  formatToolMessage,
  readToolCall,
  searchTool,
  type AssistantMessage,
  type Message,
} from '../text/messages.js';
import { buildPrompt } from '../text/prompts.js';
import {
  INVALID_ACTION_MESSAGE,
  INVALID_ACTION_NOTICE_FULL,
  STOP_STRINGS,
  wrapResults,
} from '../text/tags.js';
import type { Dialogue, Refused, Row } from './dialogue.js';
import { transcriptSeparator, type RolloutOptions } from './options.js';
import type { Segment } from './trajectory.js';

/** Typical of English text. */
const CHARACTERS_PER_TOKEN = 4;
const cutCharacters = (text: string, maxTokens: number): string =>
  text.slice(0, maxTokens * CHARACTERS_PER_TOKEN);

const chatSegment = (kind: Segment['kind'], text: string, messages: Message[]): Segment => ({
  kind,
  text,
  tokenIds: [],
  messages,
});

/** Asks for the next message of a rollout; null if the context is full. */
async function nextSegment(
  policy: ChatPolicy,
  options: RolloutOptions,
  { index, random, trajectory }: Row,
): Promise<Segment | Refused | null> {
  const { temperature, topP, maxNewTokens, maxSearchTurns, splitQueries, onText } = options;
  const hasTools = options.promptForm === 'tools';
  const messages = trajectory.segments.flatMap((segment) => segment.messages ?? []);
  const answer = await policy
    .reply(messages, {
      temperature,
      topP,
      maxNewTokens,
      stop: hasTools ? STOP_STRINGS.slice(-1) : STOP_STRINGS,
      tools: hasTools && maxSearchTurns > 0 ? [searchTool({ splitQueries })] : [],
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
  const text = hasTools ? formatToolMessage(message, { splitQueries }) : formatTagMessage(message);
  const read: AssistantMessage = hasTools ? message : { role: 'assistant', content: text };
  return { ...chatSegment('policy', text, [read]), ...(usage && { usage }) };
}

export function chatDialogue(policy: ChatPolicy, options: RolloutOptions): Dialogue {
  const hasTools = options.promptForm === 'tools';
  const { informationForm, maxInformationTokens } = options;
  if (hasTools && options.informationCut === 'raw')
    throw new Error(
      'Expected informationCut passage or query for a model that calls tools, whose results are messages of their own, but got raw. Use --prompt-form chat.',
    );
  const wrap = (texts: readonly string[], queries: readonly string[]): string =>
    wrapResults(texts, { form: informationForm, queries });
  return {
    startPrompt(question) {
      const form = options.promptForm;
      const separator = transcriptSeparator(options);
      const text = buildPrompt(options.prompt, question, { form, separator });
      return chatSegment('prompt', text, [{ role: 'user', content: text }]);
    },
    generate: (rows) => Promise.all(rows.map((row) => nextSegment(policy, options, row))),
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
