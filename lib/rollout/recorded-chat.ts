/**
 * Turns recorded chat messages in OpenAI's format into segments. A search turn is all
 * tool calls of one assistant message, or a search in the paper's tags. Serves
 * `recorded.ts` and `interop/verifiers.ts`.
 */
import { z } from 'zod';
import { formatList } from '../text/english.js';
import { isLabelled } from '../text/labelled-information.js';
import {
  closeTag,
  formatTagMessage,
  formatToolMessage,
  openThought,
  parseArguments,
  readToolCall,
  type ToolCall,
} from '../text/messages.js';
import type { TextSegment } from '../text/response.js';
import { nextAction, oneLine, STOP_STRINGS } from '../text/tags.js';

/** Parts for calls, results and thoughts in other APIs, such as Anthropic's. */
const FOREIGN_PART = /tool|function|thinking|reasoning/;

/** Plain text or content parts; only text parts are kept. */
export const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .superRefine((content, context) => {
    const part = Array.isArray(content) && content.find(({ type }) => FOREIGN_PART.test(type));
    if (part)
      context.addIssue(
        `expected parts of OpenAI's messages, but got ${part.type}. Convert calls to tool_calls, results to messages of role tool, and thoughts to reasoning_content`,
      );
  })
  .transform((content) =>
    typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n'),
  );

const argumentsSchema = z.record(z.string(), z.unknown());
const callSchema = z.object({
  id: z.string().optional(),
  function: z.object({
    name: z.string(),
    /** JSON text written by the model, or the parsed value. */
    arguments: z.union([z.string(), argumentsSchema]),
  }),
});

const messageSchema = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer', 'user']), content: contentSchema }),
  z.object({
    role: z.literal('assistant'),
    content: contentSchema.nullish(),
    reasoning_content: z.string().nullish(),
    /** OpenRouter's name, and vLLM's. */
    reasoning: z.string().nullish(),
    tool_calls: z.array(callSchema).nullish(),
    /** OpenAI's earlier form of a single call. */
    function_call: callSchema.shape.function.nullish(),
  }),
  z.object({
    /** A result of an earlier `function_call` has the role `function`. */
    role: z.enum(['tool', 'function']).transform(() => 'tool' as const),
    tool_call_id: z.string().optional(),
    content: contentSchema,
  }),
]);

/** The first message is the prompt, or the start of it. */
export const messagesSchema = z.array(messageSchema).min(1);

type RecordedMessage = z.infer<typeof messageSchema>;
type AssistantReply = Extract<RecordedMessage, { role: 'assistant' }>;

const recordedCalls = ({ tool_calls, function_call: called }: AssistantReply) =>
  tool_calls ?? (called ? [{ function: called }] : []);

/** The argument with a tool's queries, such as `query_list` of verl's. */
const QUERY_ARGUMENT = /^q$|quer(y|ies)/i;

/**
 * The queries among a tool's arguments. Names that end in `query` are preferred to
 * others, such as `query_type`.
 * @throws Error if several arguments may be the queries
 */
function findQueries(given: Readonly<Record<string, unknown>>): unknown {
  const named = Object.entries(given).filter(
    ([name, value]) =>
      QUERY_ARGUMENT.test(name) && (typeof value === 'string' || Array.isArray(value)),
  );
  const ending = named.filter(([name]) => /(^q|quer(y|ies))$/i.test(name));
  const [first, ...others] = ending.length > 0 ? ending : named;
  if (others.length === 0) return first?.[1];
  throw new Error(
    `tool_calls: expected one argument with the queries, but got ${formatList([first, ...others].map(([name]) => name))}. Rename it to queries.`,
  );
}

/** A tool call. Any tool whose name contains `search` or `retriev` counts as `search`. */
function toToolCall({ id = '', function: called }: z.infer<typeof callSchema>): ToolCall {
  const given = called.arguments;
  const json = typeof given === 'string' ? given : JSON.stringify(given);
  const call: ToolCall = { id, type: 'function', function: { name: called.name, arguments: json } };
  if (!/search|retriev/i.test(called.name)) return call;
  call.function.name = 'search';
  if (readToolCall(call) !== null) return call;
  const queries = findQueries(argumentsSchema.safeParse(parseArguments(json)).data ?? {});
  if (queries !== undefined) call.function.arguments = JSON.stringify({ queries });
  return call;
}

/** Formats texts as one information block: tags are escaped, line breaks are kept. */
const inOneBlock = (texts: readonly string[]): string =>
  `<information>${texts
    .flatMap((text) => (INFORMATION.exec(text)?.[1] ?? text).split('\n').map(oneLine))
    .filter(Boolean)
    .join('\n')}</information>`;

/** Matches an information block; a block that was cut has no closing tag. */
const INFORMATION = /^\s*<information>([\s\S]*?)(?:<\/information>\s*)?$/;

/**
 * Splits a conversation into its segments and its question, the last user message before
 * the first assistant message. If any message calls a tool, the first one without calls
 * is the answer. The results of a message's calls become one information block, in the
 * order of the calls.
 * @throws Error naming a tool message that answers no call
 */
export function splitConversation(recorded: readonly RecordedMessage[]): {
  question: string;
  segments: TextSegment[];
} {
  const isReply = (message: RecordedMessage) => message.role === 'assistant';
  const hasCalls = recorded.filter(isReply).some((reply) => recordedCalls(reply).length > 0);
  // APIs leave out the stop string that ended a message.
  const stop = hasCalls ? [] : STOP_STRINGS;
  const messages = recorded.map((message) =>
    isReply(message) ? { ...message, content: closeTag(message.content ?? '', stop) } : message,
  );
  const replies = messages.filter(isReply);
  const hasTags =
    !hasCalls && replies.some(({ content }) => nextAction(content ?? '').kind !== 'invalid');
  const segments: TextSegment[] = [];
  let question = '';
  let calls: ToolCall[] = [];
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    if (message.role === 'assistant') {
      calls = recordedCalls(message).map(toToolCall);
      segments.push({ kind: 'policy', text: formatReply(message, { calls, hasTags }) });
    } else if (message.role === 'tool') {
      const start = i;
      while (messages[i + 1]?.role === 'tool') i++;
      const texts = orderResults(messages.slice(start, i + 1), calls, start);
      // Agents that search in tags record results as a tool's, too.
      const isSearch =
        calls.some((call) => readToolCall(call) !== null) ||
        (hasTags && nextAction(segments.at(-1)?.text ?? '').kind === 'search');
      segments.push(
        isSearch
          ? { kind: 'information', text: inOneBlock(texts) }
          : { kind: 'notice', text: `\n${texts.map(oneLine).join('\n')}\n` },
      );
      calls = [];
    } else if (segments.some(({ kind }) => kind === 'policy')) {
      const information = INFORMATION.exec(message.content)?.[1];
      segments.push(
        information === undefined
          ? { kind: 'notice', text: `\n${oneLine(message.content)}\n` }
          : {
              kind: 'information',
              text: isLabelled(information) ? message.content : inOneBlock([information]),
            },
      );
    } else {
      if (message.role === 'user') question = message.content;
      segments.push({ kind: 'prompt', text: message.content });
    }
  }
  return { question, segments };
}

function formatReply(
  { content, ...reply }: AssistantReply,
  { calls, hasTags }: { calls: readonly ToolCall[]; hasTags: boolean },
): string {
  const text = content ?? '';
  const reasoning_content = reply.reasoning_content || reply.reasoning;
  if (hasTags && !reasoning_content) return openThought(text);
  const message = {
    role: 'assistant' as const,
    content: text,
    ...(reasoning_content && { reasoning_content }),
    ...(calls.length > 0 && { tool_calls: [...calls] }),
  };
  return hasTags ? formatTagMessage(message) : formatToolMessage(message, { splitQueries: true });
}

/** Returns the contents of the tool messages in the order of the calls. */
function orderResults(
  results: readonly RecordedMessage[],
  calls: readonly ToolCall[],
  start: number,
): string[] {
  const ids = calls.map(({ id }) => id);
  const indices = results.map((message, i) => {
    if (message.role !== 'tool' || message.tool_call_id === undefined) return i;
    const index = ids.indexOf(message.tool_call_id);
    if (index >= 0) return index;
    throw new Error(
      `messages.${start + i}.tool_call_id: expected the id of a call in the preceding assistant message, but got ${JSON.stringify(message.tool_call_id)}`,
    );
  });
  return results
    .map((message, i) => ({ text: message.content ?? '', index: indices[i] }))
    .sort((a, b) => a.index - b.index)
    .map(({ text }) => text);
}
