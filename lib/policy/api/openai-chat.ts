/** Models behind OpenAI's chat completions API, with tool calls or the paper's tags. */
import pLimit from 'p-limit';
import { splitCredentials } from '../../io/credentials.js';
import { AnswerError, describeAnswer, requestEvents, requestJson } from '../../io/http.js';
import { tryParseJson } from '../../io/json.js';
import { searchTool, type Message } from '../../text/messages.js';
import type { PromptForm } from '../../text/prompts.js';
import {
  ContextFullError,
  ReplyError,
  type ChatPolicy,
  type ReplyOptions,
} from '../chat-policy.js';
import { maxAnswerBytes } from '../policy.js';
import { probe, PROBE, type Capabilities } from './chat-probe.js';
import {
  addDelta,
  completionSchema,
  messageSchema,
  modelsSchema,
  parseChunk,
  readReply,
  refusal,
  type RawReply,
} from './chat-reply.js';
import {
  addRemedy,
  isAboutRequest,
  onlyModel,
  parseModels,
  requestLimits,
  trimEndpoint,
  type OpenAiOptions,
} from './openai-server.js';

/** Most servers; then Anthropic, vLLM, TGI, Gemini and Qwen, in this order. */
const CONTEXT_FULL =
  /context ?(length|window|size)|prompt is too long|maximum model length|`inputs` tokens|input token count|range of input length/i;

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

  // llama.cpp and LM Studio answer with the model that is loaded, whatever is asked for.
  let answering: string | undefined;
  const post = async (sent: Sent): Promise<RawReply> => {
    const answer = await requestJson(`${base}/chat/completions`, { ...limits, ...sent });
    const { data, error } = completionSchema.safeParse(answer);
    if (data) {
      answering = data.model;
      return { ...data.choices[0], usage: data.usage ?? undefined };
    }
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
  const other = answering && answering !== model ? ` (its answers name ${answering})` : '';
  const form = hasTools ? 'with tool calls' : 'with tags in messages';
  const refused = [...dropped].filter((name) => name !== 'tool_choice');
  const ignored = refused.length > 0 ? `; ${refused.join(', ')} not supported` : '';
  return {
    name: model,
    promptForm: hasTools ? 'tools' : 'chat',
    note: `policy: ${model}${other} at ${safeUrl}, ${form}${ignored}`,
    isConcurrent: true,
    reply,
  };
}
