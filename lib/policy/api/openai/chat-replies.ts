/** Replies of OpenAI's chat completions API, whole or streamed, as many servers send them. */
import { z } from 'zod';
import { AnswerError, HttpError } from '../../../io/http.js';
import { tryParseJson } from '../../../io/json.js';
import { memoisedByNames } from '../../../memoise.js';
import {
  closeTag,
  isTextCall,
  parseArguments,
  type AssistantMessage,
} from '../../../text/messages.js';
import { nextAction } from '../../../text/tags.js';
import { ReplyError, type Reply, type ReplyOptions } from '../../chat-policy.js';
import { isCutOff, isLimited } from './server.js';

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);

const textChunk = z.object({ type: z.literal('text'), text: z.string() });
const chunksSchema = z.looseObject({
  content: z.array(
    z.discriminatedUnion('type', [
      textChunk,
      z.object({ type: z.literal('thinking'), thinking: z.array(textChunk) }),
      z.object({ type: z.literal('reference') }),
    ]),
  ),
});

/** Joins Mistral's chunks; messages with other kinds are left as they are, and rejected. */
function joinChunks(message: unknown): unknown {
  const { data } = chunksSchema.safeParse(message);
  if (!data) return message;
  const thoughts = data.content.flatMap((chunk) => ('thinking' in chunk ? chunk.thinking : []));
  const texts = data.content.flatMap((chunk) => ('text' in chunk ? chunk : []));
  const join = (chunks: readonly { text: string }[]): string =>
    chunks.map((chunk) => chunk.text).join('');
  return { ...data, content: join(texts), thinking_chunks: join(thoughts) };
}

const messageFields = z.object({
  content: text,
  /** vLLM and DeepSeek; OpenRouter calls it `reasoning`. */
  reasoning_content: text,
  reasoning: text,
  /** Mistral's, by {@link joinChunks}. */
  thinking_chunks: text,
  refusal: text,
  tool_calls: z
    .array(
      z.object({
        index: z.number().optional(),
        id: text,
        function: z.object({
          name: z.string(),
          arguments: z.union([
            z.string(),
            z.looseObject({}).transform((value) => JSON.stringify(value)),
          ]),
        }),
      }),
    )
    .nullish(),
});
export const messageSchema = z.preprocess(joinChunks, messageFields);

/** A part of a stream. Tool calls come in pieces with the index of their call. */
const deltaSchema = z.preprocess(
  joinChunks,
  messageFields.extend({
    tool_calls: z
      .array(
        z.object({
          index: z.int().min(0).max(1000).default(0),
          id: text,
          function: z.object({ name: text, arguments: text }).partial().optional(),
        }),
      )
      .nullish(),
  }),
);

const count = z.int().min(0);
/**
 * Servers that do not count send nothing or zeros. Those of xAI and Gemini leave thoughts
 * out of `completion_tokens`, but not out of `total_tokens` or the bill.
 */
const usageSchema = z
  .object({
    prompt_tokens: count.min(1),
    completion_tokens: count,
    total_tokens: count.nullish().catch(undefined),
  })
  .transform(({ prompt_tokens: read, completion_tokens, total_tokens: total }) => ({
    read,
    written: Math.max(completion_tokens, (total ?? 0) - read),
  }))
  .nullish()
  .catch(undefined);

export const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });
const finishReason = z.string().nullish();
/** OpenRouter's, for a provider that fails while it writes. */
const choiceError = z.object({ message: z.string() }).nullish();
export const completionSchema = z.object({
  model: text.catch(undefined),
  choices: z
    .array(z.object({ message: messageSchema, finish_reason: finishReason, error: choiceError }))
    .length(1),
  usage: usageSchema,
  error: z.null().optional(),
});
const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.literal(0).nullish(),
        /** Missing in the last part of some servers. */
        delta: deltaSchema.nullish(),
        finish_reason: finishReason,
      }),
    )
    .nullish(),
  usage: usageSchema,
  /** Set by servers that fail in the middle of a stream. */
  error: z.null().optional(),
  message: z.undefined().optional(),
  detail: z.undefined().optional(),
});

export function parseChunk(data: string): z.infer<typeof chunkSchema> {
  try {
    return chunkSchema.parse(JSON.parse(data));
  } catch (cause) {
    throw new AnswerError(`Expected a part of a chat completion, but got: ${data.slice(0, 200)}`, {
      cause,
    });
  }
}

/** A reply as the server sends it, whole or assembled from a stream. */
export type RawReply = z.infer<typeof completionSchema>['choices'][number] &
  Pick<Reply, 'usage'> & { model?: string };

const errorSchema = z.object({
  error: z.object({
    message: z.string().default(''),
    param: z.string().nullish(),
    code: z.union([z.string(), z.number()]).nullish(),
  }),
});

export function refusal(error: unknown): Partial<z.infer<typeof errorSchema>['error']> | null {
  if (!(error instanceof HttpError) || ![400, 404, 422, 500, 501].includes(error.status!))
    return null;
  return errorSchema.safeParse(tryParseJson(error.body)).data?.error ?? { message: error.body };
}

/** Names of the field with a message's thoughts, by server. */
export const THOUGHT_FIELDS = ['reasoning_content', 'reasoning', 'thinking_chunks'] as const;
/** The field with the message's thoughts, if it has any. */
export const thoughtField = (message: RawReply['message']) =>
  THOUGHT_FIELDS.find((name) => message[name]);

export function addDelta(message: RawReply['message'], delta: z.infer<typeof deltaSchema>): void {
  for (const key of ['content', ...THOUGHT_FIELDS, 'refusal'] as const)
    if (delta[key]) message[key] = (message[key] ?? '') + delta[key];
  for (const { index, id, function: part } of delta.tool_calls ?? []) {
    const calls = (message.tool_calls ??= []);
    let call = calls.findLast((earlier) => earlier.index === index);
    // Some servers send all calls with index 0, even without ids.
    const isOther =
      id && call?.id
        ? id !== call.id
        : part?.name && part.arguments && tryParseJson(call?.function.arguments ?? '');
    if (!call || isOther) {
      call = { index, id: undefined, function: { name: '', arguments: '' } };
      calls.push(call);
    }
    call.id ||= id;
    // Some servers repeat the name in each part.
    if (part?.name !== call.function.name) call.function.name += part?.name ?? '';
    call.function.arguments += part?.arguments ?? '';
  }
}

const warnOfTextCalls = memoisedByNames(() =>
  console.error(
    'A reply has a tool call in its text, which counts as an invalid action. Give the server the parser of this model’s tool calls (vLLM: --tool-call-parser).',
  ),
);

const warnOfBareThoughts = memoisedByNames((field: string) =>
  console.error(
    `A reply has only thoughts (${field}) and no text, which counts as an invalid action. If the thoughts contain the answer, the server’s reasoning parser does not fit the model (vLLM: --reasoning-parser).`,
  ),
);

/**
 * Converts an answer of the API to the policy's reply.
 * @throws ReplyError if the server withheld the reply or ended it early, or if its tokens
 * reached the limit before any content, or before the end of an answer without tags or of
 * a tool call
 */
export function readReply(
  { message, finish_reason: finish, error, usage }: RawReply,
  { stop, tools }: ReplyOptions,
): Reply {
  if (error) throw new ReplyError(`Expected a complete reply, but got an error: ${error.message}`);
  const { refusal, tool_calls: calls } = message;
  // Servers leave the content of a refusal null or empty.
  const content = message.content || refusal;
  const isHalfAnswer = tools.length > 0 && nextAction(content ?? '').kind === 'invalid';
  if (isHalfAnswer && isTextCall(content ?? '')) warnOfTextCalls();
  const isCut = isLimited(finish);
  const isHalf = calls?.length
    ? calls.some(({ function: called }) => parseArguments(called.arguments) === undefined)
    : !content?.trim() || isHalfAnswer;
  if (isCut && isHalf)
    throw new ReplyError(
      `Expected a whole answer or tool calls, but the token limit was reached first (finish_reason: ${finish}). Allow more, such as --set rollout.maxNewTokens=8000.`,
    );
  if (/tool|function/.test(finish ?? '') && !calls?.length && !content?.trim())
    throw new ReplyError(
      `Expected the tool calls that finish_reason: ${finish} tells of, but the server sent none (tool_calls).`,
    );
  if (isCutOff(finish))
    throw new ReplyError(
      `Expected a complete reply, but the server withheld or ended it (finish_reason: ${finish}).`,
    );
  const thoughts = thoughtField(message);
  if (thoughts && !content?.trim() && !calls?.length) warnOfBareThoughts(thoughts);
  const read: AssistantMessage = {
    role: 'assistant',
    content: content === undefined ? null : isCut ? content : closeTag(content, stop),
    ...(thoughts && { reasoning_content: message[thoughts] }),
    ...(calls?.length && {
      tool_calls: calls.map(({ id, function: called }, i) => ({
        id: id || `call-${i}`,
        type: 'function' as const,
        function: called,
      })),
    }),
  };
  return { message: read, ...(usage && { usage }) };
}
