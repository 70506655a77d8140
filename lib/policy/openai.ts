/**
 * Policies on servers with OpenAI's completions API. vLLM takes and tells token ids
 * (`return_token_ids`), so that none is ever encoded again. Servers that tell none, such
 * as llama.cpp's, SGLang's and `transformers serve`, are asked in text: what they write
 * is encoded here, which is good for counting and of no use for training.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import { readJson } from '../io/files.js';
import { HttpError, requestJson } from '../io/http.js';
import { openTag } from '../text/tags.js';
import { createTokenizer } from '../text/tokenizer.js';
import { readTokenizerConfig } from './model-folder.js';
import type { Generation, Policy, SamplingOptions } from './policy.js';

export interface OpenAiOptions {
  /** The model's name there; needed where the server offers several. */
  model?: string;
  /**
   * Folder with the model's tokenizer.json; needed where the server does not name a
   * folder of this machine.
   */
  tokenizer?: string;
  /** What a server that asks for one gets as `Authorization: Bearer TOKEN`. */
  token?: string;
  /** Most requests in flight at a time; default 256. */
  maxConcurrency?: number;
  /**
   * Longest wait for the answer to one request, milliseconds; default 240,000, and Node
   * ends waiting after 300,000.
   */
  timeoutMs?: number;
  /**
   * How often a request is tried again where the server is busy, late or can't be
   * reached; default 6.
   */
  retries?: number;
  /**
   * Wait before the first retry, milliseconds, twice as long before each other; default
   * 500.
   */
  backOffMs?: number;
}

const modelsSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      /** vLLM and SGLang: where its files are; of an adapter, where that is. */
      root: z.string().nullish(),
      /** vLLM: the model that an adapter goes onto. */
      parent: z.string().nullish(),
      max_model_len: z.int().nullish(),
      /** llama.cpp. */
      meta: z.object({ n_ctx: z.int().optional(), n_ctx_train: z.int().optional() }).nullish(),
    }),
  ),
});
type ServedModel = z.infer<typeof modelsSchema>['data'][number];

const completionSchema = z.object({
  choices: z
    .array(
      z.object({
        text: z.string(),
        finish_reason: z.string().nullish(),
        token_ids: z.array(z.int()).nullish(),
        // Other servers have other forms.
        logprobs: z
          .object({ token_logprobs: z.array(z.number()) })
          .optional()
          .catch(undefined),
      }),
    )
    .min(1),
});
type Choice = z.infer<typeof completionSchema>['choices'][number];

/**
 * What vLLM is asked for besides what all servers know: ids, text that says the same, and
 * nothing of what generation_config.json may set.
 */
const BY_IDS = {
  return_token_ids: true,
  logprobs: 0,
  skip_special_tokens: false,
  spaces_between_special_tokens: false,
  top_k: -1,
  min_p: 0,
  repetition_penalty: 1,
};

const lengthSchema = z.object({ max_position_embeddings: z.int().optional() });

/** The longest context that a model's own config.json allows. */
async function configuredLength(folder: string): Promise<number | undefined> {
  const file = join(folder, 'config.json');
  if (!existsSync(file)) return undefined;
  return lengthSchema.safeParse(await readJson(file)).data?.max_position_embeddings;
}

/**
 * A policy on a server.
 * @param url such as `http://127.0.0.1:8000/v1`
 * @throws Error where there is no such server or model, or the model's tokenizer or
 * longest context is not known
 */
export async function openOpenAiPolicy(url: string, options: OpenAiOptions = {}): Promise<Policy> {
  const base = url.replace(/\/+$/, '');
  const {
    token,
    maxConcurrency = 256,
    timeoutMs = 240_000,
    retries = 6,
    backOffMs = 500,
  } = options;
  const limits = { timeoutMs, retries, backOffMs, maxResponseBytes: 1 << 26, token };
  const request = (path: string, body?: object, signal?: AbortSignal): Promise<unknown> =>
    requestJson(`${base}/${path}`, {
      ...limits,
      body,
      signal,
      server: "a server with OpenAI's API",
    });

  // Where the model is named, a server need not have a list.
  const served = await request('models').then(
    (answer) => modelsSchema.parse(answer).data,
    (error: unknown) => {
      if (options.model !== undefined && error instanceof HttpError && error.status !== undefined)
        return [];
      throw error;
    },
  );
  const model = options.model ?? onlyModel(base, served);
  const known = served.filter(({ id }) => id === model);
  const parents = served.filter(({ id }) => known.some(({ parent }) => parent === id));
  const cards = [...known, ...parents];
  const folder = options.tokenizer ?? tokenizerFolder(model, cards);
  const tokenizer = createTokenizer(
    (await readJson(join(folder, 'tokenizer.json'))) as object,
    await readTokenizerConfig(folder),
  );
  const maxLength =
    cards.flatMap(({ max_model_len: length, meta }) => length ?? meta?.n_ctx ?? [])[0] ??
    (await configuredLength(folder));
  if (maxLength === undefined)
    throw new Error(
      `Expected ${base} to tell the longest context of ${model}, or a config.json in ${folder}, but there is neither. Name a folder with both by --tokenizer.`,
    );

  const complete = async (body: object, signal?: AbortSignal): Promise<Choice> => {
    const answer = completionSchema.safeParse(
      await request('completions', { model, ...body }, signal),
    );
    if (answer.success) return answer.data.choices[0];
    throw new Error(
      `Expected OpenAI's completions from ${base}, but ${z.prettifyError(answer.error)}`,
    );
  };
  const hasIds = await tellsIds(() =>
    complete({ ...BY_IDS, prompt: tokenizer.encode('A'), max_tokens: 1 }),
  );
  const limit = pLimit(maxConcurrency);

  const continueRow = async (
    context: readonly number[],
    row: number,
    { temperature, topP, maxNewTokens, stop, randoms, signal }: SamplingOptions,
  ): Promise<Generation> => {
    const body = {
      temperature,
      top_p: topP,
      max_tokens: maxNewTokens,
      stop,
      ...(temperature > 0 && { seed: randoms[row].integer(2 ** 31) }),
    };
    if (!hasIds) {
      const choice = await complete(
        { ...body, prompt: tokenizer.decodeForOthers(context) },
        signal,
      );
      const text = withStop(choice, stop);
      return { tokenIds: tokenizer.encode(text), text, finish: finishOf(choice) };
    }
    const choice = await complete({ ...body, ...BY_IDS, prompt: context }, signal);
    const { token_ids: tokenIds, logprobs } = choice;
    if (!tokenIds) throw new Error(`Expected token ids from ${base}, but this time it tells none.`);
    // The server's text is cut at a stop text, the ids are not.
    const text = tokenizer.decode(tokenIds);
    if (!text.trimStart().startsWith(choice.text.trimStart()))
      throw new Error(
        `Expected the tokenizer in ${folder} to be that of ${model}, but ids that are ${JSON.stringify(choice.text)} there are ${JSON.stringify(text)} here. Name the right one by --tokenizer.`,
      );
    // vLLM's are of the raw logits, which are those of the temperature where that is 1
    // and, greedily, what we go by.
    const isOfTemperature = temperature === 0 || temperature === 1;
    return {
      tokenIds,
      text,
      finish: finishOf(choice),
      ...(isOfTemperature && logprobs && { logProbs: logprobs.token_logprobs }),
    };
  };
  return {
    name: model,
    tokenizer,
    maxLength,
    overlaps: true,
    note: hasIds
      ? `policy: ${model} at ${base}, by token ids`
      : `policy: ${model} at ${base}, by text only: it tells no token ids, so that its answers can be evaluated and scored, but not trained on`,
    generate: (contexts, sampling) =>
      Promise.all(contexts.map((context, row) => limit(() => continueRow(context, row, sampling)))),
  };
}

function onlyModel(base: string, served: readonly ServedModel[]): string {
  if (served.length === 1) return served[0].id;
  const names = served.map(({ id }) => id).join(', ');
  throw new Error(
    `Expected one model at ${base}, but there ${served.length === 0 ? 'is none' : `are ${names}`}. Name one by --model.`,
  );
}

/** A folder that the server names, where it is on this machine. */
function tokenizerFolder(model: string, cards: readonly ServedModel[]): string {
  const folders = [model, ...cards.flatMap(({ root }) => root ?? [])];
  const folder = folders.find((one) => existsSync(join(one, 'tokenizer.json')));
  if (folder !== undefined) return folder;
  throw new Error(
    `Expected the tokenizer of ${model} on this machine, but it is not in ${folders.join(' or ')}. Name the folder with its tokenizer.json by --tokenizer.`,
  );
}

/**
 * Whether a server takes ids and tells them: one that does not refuses them, or says
 * nothing of them.
 */
const tellsIds = (ask: () => Promise<Choice>): Promise<boolean> =>
  ask().then(
    ({ token_ids: ids }) => Boolean(ids),
    (error: unknown) => {
      if (error instanceof HttpError && [400, 422].includes(error.status!)) return false;
      throw error;
    },
  );

const finishOf = ({ finish_reason: reason }: Choice): Generation['finish'] =>
  reason === 'length' ? 'length' : 'stop';

/**
 * The text with the stop text that the API cuts away: that of the block which it stands
 * in. Where the end token came in a block, nobody can tell it apart.
 */
function withStop(choice: Choice, stop: readonly string[]): string {
  const tag = openTag(choice.text);
  const cut = stop.find((text) => text === `</${tag}>`);
  return finishOf(choice) === 'stop' && cut !== undefined ? choice.text + cut : choice.text;
}
