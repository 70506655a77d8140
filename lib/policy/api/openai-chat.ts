/** Models behind OpenAI's chat completions API, with tool calls or the paper's tags. */
import pLimit from 'p-limit';
import { z } from 'zod';
import { tryParseJson } from '../../io/json.js';
import { splitCredentials } from '../../io/credentials.js';
import {
  AnswerError,
  describeAnswer,
  HttpError,
  requestEvents,
  requestJson,
} from '../../io/http.js';
import { memoisedByNames } from '../../memoise.js';
import {
  isTextCall,
  searchTool,
  type AssistantMessage,
  type Message,
} from '../../text/messages.js';
import type { PromptForm } from '../../text/prompts.js';
import { nextAction } from '../../text/tags.js';
import {
  ContextFullError,
  ReplyError,
  type ChatPolicy,
  type Reply,
  type ReplyOptions,
} from '../chat-policy.js';
import {
  addRemedy,
  closeTag,
  isAboutRequest,
  isCutOff,
  isLimited,
  onlyModel,
  parseModels,
  requestLimits,
  trimEndpoint,
  type OpenAiOptions,
} from './openai-server.js';
import { maxAnswerBytes } from '../policy.js';

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);

const messageSchema = z.object({
  content: text,
  /** vLLM and DeepSeek; OpenRouter calls it `reasoning`. */
  reasoning_content: text,
  reasoning: text,
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

/** A part of a stream. Tool calls come in pieces with the index of their call. */
const deltaSchema = messageSchema.extend({
  tool_calls: z
    .array(
      z.object({
        index: z.int().min(0).max(1000).default(0),
        id: text,
        function: z.object({ name: text, arguments: text }).partial().optional(),
      }),
    )
    .nullish(),
});

/** Servers that do not count send nothing or zeros. */
const usageSchema = z
  .object({ prompt_tokens: z.int().min(1), completion_tokens: z.int().min(0) })
  .transform(({ prompt_tokens: read, completion_tokens: written }) => ({ read, written }))
  .nullish()
  .catch(undefined);

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });
const finishReason = z.string().nullish();
const completionSchema = z.object({
  choices: z.array(z.object({ message: messageSchema, finish_reason: finishReason })).length(1),
  usage: usageSchema,
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
});

function parseChunk(data: string): z.infer<typeof chunkSchema> {
  try {
    return chunkSchema.parse(JSON.parse(data));
  } catch (cause) {
    throw new AnswerError(`Expected a part of a chat completion, but got: ${data.slice(0, 200)}`, {
      cause,
    });
  }
}

/** A reply as the server sends it, whole or assembled from a stream. */
type RawReply = z.infer<typeof completionSchema>['choices'][number] & Pick<Reply, 'usage'>;

const errorSchema = z.object({
  error: z.object({
    message: z.string().default(''),
    param: z.string().nullish(),
    code: z.union([z.string(), z.number()]).nullish(),
  }),
});

function refusal(error: unknown): Partial<z.infer<typeof errorSchema>['error']> | null {
  if (!(error instanceof HttpError) || ![400, 404, 422, 500, 501].includes(error.status!))
    return null;
  return errorSchema.safeParse(tryParseJson(error.body)).data?.error ?? { message: error.body };
}

/** Most servers; then Anthropic, vLLM, TGI, Gemini and Qwen, in this order. */
const CONTEXT_FULL =
  /context ?(length|window|size)|prompt is too long|maximum model length|`inputs` tokens|input token count|range of input length/i;

/**
 * Parameters that some servers reject; the server's defaults then apply. Claude takes
 * either `top_p` or `temperature`, which matters more.
 */
const OPTIONAL_PARAMS = [
  'top_p',
  'temperature',
  'stop',
  'seed',
  'parallel_tool_calls',
  'tool_choice',
];

/** What a server supports, found out by requests at startup. */
interface Capabilities {
  hasTools: boolean;
  /** How the first of these requests demands a call. */
  toolChoice: 'required' | typeof SEARCH_CHOICE;
  /** `max_completion_tokens` for OpenAI's reasoning models. */
  lengthParam: 'max_tokens' | 'max_completion_tokens';
  dropped: Set<string>;
  /** Groq rejects thoughts under another name than its own. */
  thoughtField: 'reasoning_content' | 'reasoning';
}

export interface OpenAiChatOptions extends Omit<OpenAiOptions, 'tokenizer'> {
  /** Default: tools if the server supports them. Forms other than `tools` write tags. */
  promptForm?: PromptForm;
}

/**
 * Opens a policy on a server with OpenAI's chat completions API. Requests at startup
 * check whether the model sees tools and which parameters the server rejects.
 * @param url such as `https://HOST/v1`
 * @param options.model the model's name; needed if the server lists several or none
 * @throws Error if there is no such server or model
 */
export async function openChatPolicy(
  url: string,
  options: OpenAiChatOptions = {},
): Promise<ChatPolicy> {
  const base = trimEndpoint(url);
  const safeUrl = splitCredentials(base).url;
  const { maxConcurrency = 256 } = options;
  const server = "a server with OpenAI's chat completions API";
  const limits = { ...requestLimits(options), server };
  const listModels = async (): Promise<{ id: string }[]> => {
    const answer = await requestJson(`${base}/models`, limits).catch(addRemedy);
    return parseModels(modelsSchema, { base: safeUrl, answer });
  };
  const model = options.model ?? onlyModel(safeUrl, await listModels());

  const capabilities: Capabilities = {
    hasTools: (options.promptForm ?? 'tools') === 'tools',
    toolChoice: 'required',
    lengthParam: 'max_tokens',
    dropped: new Set(),
    thoughtField: 'reasoning_content',
  };
  const createBody = (
    messages: readonly Message[],
    { temperature, topP, maxNewTokens, stop, seed, tools, parallelToolCalls }: ReplyOptions,
  ): object => {
    const body = {
      model,
      messages: messages.map((message) => {
        if (!('reasoning_content' in message)) return message;
        const { reasoning_content: thought, ...rest } = message;
        return { ...rest, [capabilities.thoughtField]: thought };
      }),
      temperature,
      top_p: topP,
      [capabilities.lengthParam]: maxNewTokens,
      ...(stop.length > 0 && { stop }),
      ...(seed !== undefined && { seed }),
      ...(tools.length > 0 && { tools, parallel_tool_calls: parallelToolCalls }),
    };
    return Object.fromEntries(
      Object.entries(body).filter(([key]) => !capabilities.dropped.has(key)),
    );
  };

  interface Sent {
    body: object;
    signal?: AbortSignal;
    maxResponseBytes?: number;
  }

  const post = async (sent: Sent): Promise<RawReply> => {
    const answer = await requestJson(`${base}/chat/completions`, { ...limits, ...sent });
    const { data, error } = completionSchema.safeParse(answer);
    if (data) return { ...data.choices[0], usage: data.usage ?? undefined };
    throw new AnswerError(
      `Expected a chat completion from ${safeUrl}, but ${describeAnswer(answer, error)}`,
    );
  };

  const stream = async (
    sent: Sent,
    onText: NonNullable<ReplyOptions['onText']>,
  ): Promise<RawReply> => {
    const reply: RawReply = { message: messageSchema.parse({}), finish_reason: null };
    let hasBegun = false;
    const onData = async (data: string): Promise<void> => {
      const { choices, usage } = parseChunk(data);
      if (usage) reply.usage = usage;
      for (const choice of choices ?? []) {
        if (choice.finish_reason) reply.finish_reason = choice.finish_reason;
        if (!choice.delta) continue;
        hasBegun = true;
        addDelta(reply.message, choice.delta);
        const part = choice.delta.content || choice.delta.refusal;
        if (part) await onText(part);
      }
    };
    const isDone = await requestEvents(`${base}/chat/completions`, {
      ...limits,
      ...sent,
      body: { ...sent.body, stream: true, stream_options: { include_usage: true } },
      onData,
    }).catch(async (error: unknown) => {
      // Some servers do not stream.
      const whole = error instanceof AnswerError ? tryParseJson(error.body ?? '') : undefined;
      const { data } = completionSchema.safeParse(whole);
      if (!data) throw error;
      Object.assign(reply, data.choices[0], { usage: data.usage ?? undefined });
      await onText(reply.message.content || reply.message.refusal || '');
      return (hasBegun = true);
    });
    const hasEnd = isDone || reply.finish_reason;
    if (hasBegun && hasEnd) return reply;
    throw new AnswerError(
      `Expected a stream of events from ${safeUrl} with ${hasEnd ? 'parts of a reply (delta), but got none' : 'a finish_reason or [DONE], but got no end'}.`,
    );
  };

  await probe(capabilities, {
    isRequired: options.promptForm === 'tools',
    send: ({ hasTools, maxNewTokens, mayAnswer }) => {
      const { toolChoice, dropped } = capabilities;
      const body = createBody(PROBE, {
        temperature: 0,
        topP: 1,
        maxNewTokens,
        stop: ['</answer>'],
        seed: 1,
        tools: hasTools ? [searchTool({ splitQueries: true })] : [],
        parallelToolCalls: true,
      });
      const mustCall = hasTools && !mayAnswer && !dropped.has('tool_choice');
      return post({ body: { ...body, ...(mustCall && { tool_choice: toolChoice }) } });
    },
  }).catch(addRemedy);

  const limit = pLimit(maxConcurrency);
  const reply: ChatPolicy['reply'] = (messages, replyOptions) =>
    limit(async () => {
      const { signal, onText, maxNewTokens } = replyOptions;
      const body = createBody(messages, replyOptions);
      const sent = { body, signal, maxResponseBytes: maxAnswerBytes(maxNewTokens) };
      const raw = await (onText ? stream(sent, onText) : post(sent)).catch((error: unknown) => {
        const { message = '', code } = refusal(error) ?? {};
        if (code === 'context_length_exceeded' || CONTEXT_FULL.test(message))
          throw new ContextFullError(message, { cause: error });
        throw isAboutRequest(error) ? new ReplyError(error.message, { cause: error }) : error;
      });
      const { reasoning, reasoning_content } = raw.message;
      if (reasoning && !reasoning_content) capabilities.thoughtField = 'reasoning';
      return readReply(raw, replyOptions);
    });

  const { hasTools, dropped } = capabilities;
  const form = hasTools ? 'with tool calls' : 'with tags in messages';
  const refused = [...dropped].filter((name) => name !== 'tool_choice');
  const ignored = refused.length > 0 ? `; ${refused.join(', ')} not supported` : '';
  return {
    name: model,
    promptForm: hasTools ? 'tools' : 'chat',
    note: `policy: ${model} at ${safeUrl}, ${form}${ignored}`,
    isConcurrent: true,
    reply,
  };
}

/**
 * For servers that refuse `required`, which is newer. Not tried first: with it,
 * llama-cpp-python forces a call, but ignores tools otherwise.
 */
const SEARCH_CHOICE = { type: 'function', function: { name: 'search' } } as const;
const PROBE: Message[] = [{ role: 'user', content: 'Search for the capital of France.' }];

interface ProbeRequest {
  hasTools: boolean;
  maxNewTokens: number;
  /** Without `tool_choice`, as in all later requests. */
  mayAnswer?: boolean;
}

/**
 * Varies a request until the server accepts it. A server ignores tools if it makes no
 * call where one is required, or if the prompt is as long without them: the model's chat
 * template leaves them out.
 */
async function probe(
  capabilities: Capabilities,
  { send, isRequired }: { send: (request: ProbeRequest) => Promise<RawReply>; isRequired: boolean },
): Promise<void> {
  for (let numTries = 0; numTries < 4 + OPTIONAL_PARAMS.length; numTries++) {
    const { hasTools, dropped, toolChoice } = capabilities;
    try {
      const reply = await send({ hasTools, maxNewTokens: 256 });
      if (!hasTools) return;
      // Without a parser of calls, vLLM accepts tools only if a call is required.
      if (!dropped.has('tool_choice')) await send({ hasTools, maxNewTokens: 256, mayAnswer: true });
      if (isRequired) return;
      const makesNoCall = !reply.message.tool_calls?.length && reply.finish_reason !== 'length';
      if (makesNoCall && !dropped.has('tool_choice')) capabilities.hasTools = false;
      else {
        const bare = await send({ hasTools: false, maxNewTokens: 16 }).catch(() => null);
        if (bare?.usage?.read && bare.usage.read === reply.usage?.read)
          capabilities.hasTools = false;
      }
      return;
    } catch (error) {
      const refused = refusal(error);
      if (!refused) throw error;
      const { message = '', param } = refused;
      const named = OPTIONAL_PARAMS.find(
        (name) =>
          !dropped.has(name) && (param === name || new RegExp(`\\b${name}\\b`).test(message)),
      );
      if (hasTools && toolChoice === 'required') capabilities.toolChoice = SEARCH_CHOICE;
      else if (
        capabilities.lengthParam === 'max_tokens' &&
        message.includes('max_completion_tokens')
      )
        capabilities.lengthParam = 'max_completion_tokens';
      else if (named !== undefined) dropped.add(named);
      else if (hasTools && !isRequired && /tool|function/i.test(`${param} ${message}`))
        capabilities.hasTools = false;
      else throw error;
    }
  }
}

function addDelta(message: RawReply['message'], delta: z.infer<typeof deltaSchema>): void {
  for (const key of ['content', 'reasoning_content', 'reasoning', 'refusal'] as const)
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

/**
 * Converts an answer of the API to the policy's reply.
 * @throws ReplyError if the server withheld the reply or ended it early, or if its tokens
 * reached the limit before any content, or before the end of an answer without tags
 */
function readReply(
  { message, finish_reason: finish, usage }: RawReply,
  { stop, tools }: ReplyOptions,
): Reply {
  const { reasoning_content, reasoning, refusal, tool_calls: calls } = message;
  // Servers leave the content of a refusal null or empty.
  const content = message.content || refusal;
  const isHalfAnswer = tools.length > 0 && nextAction(content ?? '').kind === 'invalid';
  if (isHalfAnswer && isTextCall(content ?? '')) warnOfTextCalls();
  const isCut = isLimited(finish);
  if (isCut && !calls?.length && (!content?.trim() || isHalfAnswer))
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
  const thought = reasoning_content ?? reasoning;
  const read: AssistantMessage = {
    role: 'assistant',
    content: content === undefined ? null : isCut ? content : closeTag(content, stop),
    ...(thought !== undefined && { reasoning_content: thought }),
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
