/**
 * A policy behind OpenAI's completions API. vLLM accepts and returns token ids
 * (`return_token_ids`), so nothing is tokenised twice. Other servers (llama.cpp, SGLang,
 * `transformers serve`) receive and return text, which is tokenised here: good for
 * evaluation, not for training.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import { boundedArray } from '../../../io/json.js';
import { readJson } from '../../../io/files.js';
import { splitCredentials } from '../../../io/credentials.js';
import { AnswerError, HttpError, parseAnswer, requestJson } from '../../../io/http.js';
import { closeTag } from '../../../text/messages.js';
import type { FileTokenizer } from '../../../text/tokenizer/tokenizer.js';
import { readTokenizer } from '../../folders/limited-tokenizer.js';
import {
  addRemedy,
  endpointUrl,
  isAboutRequest,
  isCutOff,
  isLimited,
  onlyModel,
  requestLimits,
  trimEndpoint,
  type OpenAiOptions,
} from './server.js';
import {
  maxAnswerBytes,
  type Generation,
  type Policy,
  type SamplingOptions,
} from '../../policy.js';
import { MODEL_CONFIG } from '../../folders/files.js';

const modelsSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      /** vLLM and SGLang: the folder of the model or adapter. */
      root: z.string().nullish(),
      /** vLLM: the base model of an adapter. */
      parent: z.string().nullish(),
      max_model_len: z.int().min(1).nullish(),
      /** llama.cpp's limits. */
      meta: z.object({ n_ctx: z.int().optional(), n_ctx_train: z.int().optional() }).nullish(),
    }),
  ),
});
type ServedModel = z.infer<typeof modelsSchema>['data'][number];

const choiceSchema = z.object({
  text: z.string(),
  finish_reason: z.string().nullish(),
  token_ids: boundedArray(z.int()).nullish(),
  // Other servers have other formats.
  logprobs: z
    .object({ token_logprobs: boundedArray(z.number()) })
    .optional()
    .catch(undefined),
});
type Choice = z.infer<typeof choiceSchema>;
const completionSchema = z.object({
  choices: z.array(choiceSchema).length(1),
  error: z.null().optional(),
});

/** vLLM's parameters: return token ids and their text, ignore generation_config.json. */
const VLLM_PARAMS = {
  return_token_ids: true,
  logprobs: 0,
  skip_special_tokens: false,
  spaces_between_special_tokens: false,
  top_k: -1,
  min_p: 0,
  repetition_penalty: 1,
};

const lengthSchema = z.object({ max_position_embeddings: z.int().optional() });

/** The context length in the model's config.json, if any. */
async function configuredLength(folder: string): Promise<number | undefined> {
  const file = join(folder, MODEL_CONFIG);
  if (!existsSync(file)) return undefined;
  return lengthSchema.safeParse(await readJson(file)).data?.max_position_embeddings;
}

const CHAT_ENDPOINT = /\/chat\/completions\/*(\?|$)/;

/** A model on a server, with its tokenizer. */
interface CompletionsServer {
  /** Address without credentials, for messages. */
  base: string;
  model: string;
  tokenizer: FileTokenizer;
  /** Folder of the tokenizer. */
  folder: string;
  /** Context length in tokens. */
  maxLength: number;
  /** @throws Error if the server refuses the request or ends the text early */
  complete(body: CompletionsBody, signal?: AbortSignal): Promise<Choice>;
}

interface CompletionsBody {
  prompt: string | readonly number[];
  max_tokens: number;
}

/** @throws Error as {@link openCompletionsPolicy} */
async function connect(url: string, options: OpenAiOptions): Promise<CompletionsServer> {
  const address = trimEndpoint(url);
  const base = splitCredentials(address).shown;
  if (CHAT_ENDPOINT.test(url))
    throw new Error(
      `Expected chat:${base} for chat completions, but got ${splitCredentials(url).shown}.`,
    );
  const limits = { ...requestLimits(options), server: "a server with OpenAI's API" };
  const { signal } = options;
  // Servers need not list their models if the model is named.
  const served = await requestJson(endpointUrl(address, '/models'), { ...limits, signal }).then(
    (answer) => parseAnswer(modelsSchema, answer, `a list of models from ${base}`).data,
    (error: unknown) => {
      const isAnswered = error instanceof HttpError && error.status !== undefined;
      if (options.model !== undefined && isAnswered) return [];
      return addRemedy(error);
    },
  );
  const model = options.model ?? onlyModel(base, served);
  const named = served.filter(({ id }) => id === model);
  const parents = served.filter(({ id }) => named.some(({ parent }) => parent === id));
  const cards = [...named, ...parents];
  const folder = options.tokenizer ?? tokenizerFolder(model, cards, base);
  const tokenizer = await readTokenizer(folder);
  const maxLength =
    cards.flatMap(({ max_model_len: length, meta }) => length ?? meta?.n_ctx ?? [])[0] ??
    (await configuredLength(folder));
  if (maxLength === undefined)
    throw new Error(
      `Expected the context length of ${model} from ${base} or from a config.json in ${folder}, but neither has it. Name a folder with both files with --tokenizer.`,
    );

  const complete = async (body: CompletionsBody, signal?: AbortSignal): Promise<Choice> => {
    const maxResponseBytes = maxAnswerBytes(body.max_tokens, body.prompt.length);
    const sent = { ...limits, body: { model, ...body }, signal, maxResponseBytes };
    const answer = await requestJson(endpointUrl(address, '/completions'), sent);
    const expected = `OpenAI's completions from ${base}`;
    const [choice] = parseAnswer(completionSchema, answer, expected).choices;
    const { finish_reason: reason } = choice;
    if (isCutOff(reason))
      throw new AnswerError(
        `Expected a complete answer from ${base}, but the server ended it (finish_reason: ${reason}).`,
      );
    return choice;
  };
  return { base, model, tokenizer, folder, maxLength, complete };
}

/** Continues a context by token ids. */
async function continueIds(
  { base, model, tokenizer, folder, complete }: CompletionsServer,
  context: readonly number[],
  body: Omit<CompletionsBody, 'prompt'>,
  { temperature, maxNewTokens, signal }: SamplingOptions,
): Promise<Generation> {
  const choice = await complete({ ...body, ...VLLM_PARAMS, prompt: context }, signal);
  const { vocabSize } = tokenizer;
  const tokenIds = readIds(choice, { base, maxNewTokens, vocabSize });
  // A stop string cuts the server's text, but not its ids.
  const text = tokenizer.decode(tokenIds);
  if (!text.trimStart().startsWith(choice.text.trimStart()))
    throw new Error(
      `Expected the tokenizer in ${folder} to be that of ${model}, but the server decodes the same ids to ${JSON.stringify(choice.text)}, the tokenizer to ${JSON.stringify(text)}. Name the right one with --tokenizer.`,
    );
  // vLLM returns log-probs of the raw logits: right at temperature 1 and for greedy
  // decoding.
  const isRaw = temperature === 0 || temperature === 1;
  const logProbs = isRaw ? choice.logprobs?.token_logprobs : undefined;
  return { tokenIds, text, finish: finishReason(choice), ...(logProbs && { logProbs }) };
}

/** Continues a context by text, for servers that return no token ids. */
async function continueText(
  { tokenizer, complete }: CompletionsServer,
  context: readonly number[],
  body: Omit<CompletionsBody, 'prompt'>,
  { stop, signal }: SamplingOptions,
): Promise<Generation> {
  // Servers put the begin token before a text themselves.
  const text = tokenizer.decodeForOthers(context);
  const { beginToken = '' } = tokenizer;
  const prompt = text.startsWith(beginToken) ? text.slice(beginToken.length) : text;
  const choice = await complete({ ...body, prompt }, signal);
  const finish = finishReason(choice);
  const written = finish === 'stop' ? closeTag(choice.text, stop) : choice.text;
  return { tokenIds: tokenizer.encode(written), text: written, finish };
}

/**
 * Opens a policy on a server with OpenAI's completions API.
 * @param url such as `http://127.0.0.1:8000/v1`
 * @param options.model needed if the server offers several
 * @param options.tokenizer needed unless the server names a folder on this machine
 * @throws Error if there is no such server or model, or the model's tokenizer or context
 * length is unknown
 */
export async function openCompletionsPolicy(
  url: string,
  options: OpenAiOptions = {},
): Promise<Policy> {
  const server = await connect(url, options);
  const { base, model, tokenizer, maxLength, complete } = server;
  const hasIds = await returnsIds(() =>
    complete({ ...VLLM_PARAMS, prompt: tokenizer.encode('A'), max_tokens: 1 }, options.signal),
  ).catch(addRemedy);
  const continueContext = hasIds ? continueIds : continueText;
  const limit = pLimit(options.maxConcurrency ?? 256);
  return {
    name: model,
    tokenizer,
    maxLength,
    isConcurrent: true,
    note: hasIds
      ? `policy: ${model} at ${base}, by token ids`
      : `policy: ${model} at ${base}, by text only: without token ids its answers can be evaluated and scored, but not trained on`,
    generate: (contexts, sampling) => {
      const { temperature, topP, maxNewTokens, stop, randoms } = sampling;
      const continueRow = (context: readonly number[], row: number): Promise<Generation> => {
        const seed = temperature > 0 && { seed: randoms[row].integer(2 ** 31) };
        const body = { temperature, top_p: topP, max_tokens: maxNewTokens, stop, ...seed };
        return continueContext(server, context, body, sampling);
      };
      return Promise.all(
        contexts.map((context, row) => limit(() => continueRow(context, row)).catch(refuse)),
      );
    },
  };
}

function tokenizerFolder(model: string, cards: readonly ServedModel[], base: string): string {
  const folders = [model, ...cards.flatMap(({ root }) => root ?? [])];
  const folder = folders.find((path) => existsSync(join(path, 'tokenizer.json')));
  if (folder !== undefined) return folder;
  throw new Error(
    `Expected the tokenizer of ${model} on this machine, but it is not in ${folders.join(' or ')}. Name the folder with its tokenizer.json with --tokenizer, or use chat completions, which need none: --policy chat:${base}.`,
  );
}

/** Whether a server accepts and returns token ids; others reject or ignore them. */
const returnsIds = (ask: () => Promise<Choice>): Promise<boolean> =>
  ask().then(
    ({ token_ids: ids }) => Boolean(ids),
    (error: unknown) => {
      if (error instanceof HttpError && [400, 422].includes(error.status!)) return false;
      throw error;
    },
  );

/** Rounding can give a certain token a little more than 0. */
const MAX_LOG_PROB = 0.01;

function readIds(
  { token_ids: ids, logprobs }: Choice,
  { base, maxNewTokens, vocabSize }: { base: string; maxNewTokens: number; vocabSize: number },
): number[] {
  const complain = (wanted: string, got: string): never => {
    throw new AnswerError(`Expected ${wanted}, but ${got}.`);
  };
  if (!ids) return complain(`token ids from ${base}`, 'this answer has none');
  if (ids.length > maxNewTokens)
    complain(`at most ${maxNewTokens} token ids from ${base}`, `got ${ids.length}`);
  const unknown = ids.find((id) => id < 0 || id >= vocabSize);
  if (unknown !== undefined)
    complain(`token ids below ${vocabSize} from ${base}`, `got ${unknown}`);
  const positive = logprobs?.token_logprobs.find((logProb) => logProb > MAX_LOG_PROB);
  if (positive !== undefined)
    complain(`log-probabilities of at most 0 from ${base}`, `got ${positive}`);
  const numLogProbs = logprobs?.token_logprobs.length ?? ids.length;
  if (numLogProbs !== ids.length)
    complain(
      `${ids.length} log-probabilities from ${base}, one per token id`,
      `got ${numLogProbs}`,
    );
  return ids;
}

/** One request that fails must not end the others. */
function refuse(error: unknown): Generation {
  if (!isAboutRequest(error)) throw error;
  return { tokenIds: [], text: '', finish: 'stop', refusal: error.message };
}

const finishReason = ({ finish_reason: reason }: Choice): Generation['finish'] =>
  isLimited(reason) ? 'length' : 'stop';
