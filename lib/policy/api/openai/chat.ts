/**
 * Models behind OpenAI's chat completions API, with tool calls or the paper's tags.
 * {@link openChatPolicy} first asks what the server supports (`chat-probe.ts`). A reply:
 * its request is written here and sent by `chat-requests.ts`; `chat-replies.ts` reads the
 * answer, whole or streamed. `server.ts` is shared with `completions.ts`.
 */
import pLimit from 'p-limit';
import { splitCredentials } from '../../../io/credentials.js';
import { parseAnswer, requestJson } from '../../../io/http.js';
import { searchTool, type AssistantMessage, type Message } from '../../../text/messages.js';
import type { PromptForm } from '../../../text/prompts.js';
import {
  ContextFullError,
  ReplyError,
  type ChatPolicy,
  type ReplyOptions,
} from '../../chat-policy.js';
import { maxAnswerBytes } from '../../policy.js';
import { probe, PROBE, type Capabilities } from './chat-probe.js';
import { modelsSchema, readReply, refusal, thoughtField } from './chat-replies.js';
import { createChatEndpoint } from './chat-requests.js';
import {
  addRemedy,
  endpointUrl,
  isAboutRequest,
  onlyModel,
  requestLimits,
  trimEndpoint,
  type OpenAiOptions,
} from './server.js';

/** Most servers; then Anthropic, vLLM, TGI, Gemini and Qwen, in this order. */
const CONTEXT_FULL =
  /context ?(length|window|size)|prompt is too long|maximum model length|`inputs` tokens|input token count|range of input length/i;

export interface OpenAiChatOptions extends Omit<OpenAiOptions, 'tokenizer'> {
  /** Default: tools if the server supports them. Forms other than `tools` write tags. */
  promptForm?: PromptForm;
}

/** A message in Mistral's form, which has thoughts in the content. */
const withChunks = (message: Omit<AssistantMessage, 'reasoning_content'>, thought: string) => ({
  ...message,
  content: [
    { type: 'thinking', thinking: [{ type: 'text', text: thought }] },
    ...(message.content ? [{ type: 'text', text: message.content }] : []),
  ],
});

/** A request's body, without what the server rejects. */
function createBody(
  messages: readonly Message[],
  { temperature, topP, maxNewTokens, stop, seed, tools, parallelToolCalls }: ReplyOptions,
  { model, capabilities }: { model: string; capabilities: Capabilities },
): object {
  const body = {
    model,
    messages: messages.map((message) => {
      if (!('reasoning_content' in message)) return message;
      const { reasoning_content: thought = '', ...rest } = message;
      const { thoughtField: field } = capabilities;
      return field === 'thinking_chunks'
        ? withChunks(rest, thought)
        : { ...rest, [field]: thought };
    }),
    temperature,
    top_p: topP,
    [capabilities.lengthParam]: maxNewTokens,
    ...(stop.length > 0 && { stop }),
    ...(seed !== undefined && { seed }),
    ...(tools.length > 0 && { tools, parallel_tool_calls: parallelToolCalls }),
  };
  return Object.fromEntries(Object.entries(body).filter(([key]) => !capabilities.dropped.has(key)));
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
  const safeUrl = splitCredentials(base).shown;
  const { maxConcurrency = 256, signal } = options;
  const server = "a server with OpenAI's chat completions API";
  const limits = { ...requestLimits(options), server };
  const listModels = async (): Promise<{ id: string }[]> => {
    const answer = await requestJson(endpointUrl(base, '/models'), { ...limits, signal }).catch(
      addRemedy,
    );
    return parseAnswer(modelsSchema, answer, `a list of models from ${safeUrl}`).data;
  };
  const model = options.model ?? onlyModel(safeUrl, await listModels());

  const capabilities: Capabilities = {
    hasTools: (options.promptForm ?? 'tools') === 'tools',
    toolChoice: 'required',
    lengthParam: 'max_tokens',
    dropped: new Set(),
    thoughtField: 'reasoning_content',
  };
  const endpoint = createChatEndpoint(base, limits);
  // llama.cpp and LM Studio answer with the model that is loaded, whatever is asked for.
  let answering: string | undefined;
  await probe(capabilities, {
    isRequired: options.promptForm === 'tools',
    send: async ({ hasTools, maxNewTokens, mayAnswer }) => {
      const { toolChoice, dropped } = capabilities;
      const tools = hasTools ? [searchTool({ splitQueries: true })] : [];
      const greedy = { temperature: 0, topP: 1, seed: 1, parallelToolCalls: true };
      const options = { ...greedy, maxNewTokens, stop: ['</answer>'], tools };
      const body = createBody(PROBE, options, { model, capabilities });
      const mustCall = hasTools && !mayAnswer && !dropped.has('tool_choice');
      const sent = { ...body, ...(mustCall && { tool_choice: toolChoice }) };
      const raw = await endpoint.post({ body: sent, signal });
      answering = raw.model;
      return raw;
    },
  }).catch(addRemedy);

  const limit = pLimit(maxConcurrency);
  const reply: ChatPolicy['reply'] = (messages, replyOptions) =>
    limit(async () => {
      const { signal, onText, maxNewTokens } = replyOptions;
      const body = createBody(messages, replyOptions, { model, capabilities });
      const sent = { body, signal, maxResponseBytes: maxAnswerBytes(maxNewTokens) };
      const answer = onText ? endpoint.stream(sent, onText) : endpoint.post(sent);
      const raw = await answer.catch((error: unknown) => {
        const { message = '', code } = refusal(error) ?? {};
        if (code === 'context_length_exceeded' || CONTEXT_FULL.test(message))
          throw new ContextFullError(message, { cause: error });
        throw isAboutRequest(error) ? new ReplyError(error.message, { cause: error }) : error;
      });
      capabilities.thoughtField = thoughtField(raw.message) ?? capabilities.thoughtField;
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
