/** Shared by the policies for OpenAI's completions and chat completions. */
import { AnswerError, HttpError, type JsonRequest } from '../../../io/http.js';
import type { PromptForm } from '../../../text/prompts.js';

export interface RemoteOptions {
  model?: string;
  /** Folder with the model's tokenizer; chat policies need none. */
  tokenizer?: string;
  /** For chat policies. Default: tools if the server supports them. */
  promptForm?: PromptForm;
  /** Stops the requests that open the policy. */
  signal?: AbortSignal;
}

/**
 * Defaults of a request: `timeoutMs` 240,000 (Node's limit is 300,000), `retries` 6,
 * `backOffMs` 500.
 */
export interface OpenAiOptions
  extends
    RemoteOptions,
    Partial<Pick<JsonRequest, 'token' | 'timeoutMs' | 'retries' | 'backOffMs'>> {
  /** Maximum number of concurrent requests. Default: 256. */
  maxConcurrency?: number;
}

/** The API's address without paths such as `/chat/completions`; a query stays. */
export function trimEndpoint(url: string): string {
  const [, path, query] = /^([^?]*)(.*)$/s.exec(url)!;
  return path.replace(/\/+$/, '').replace(/\/((chat\/)?completions|models)$/, '') + query;
}

/** The address of a path of the API, which comes before the query. */
export const endpointUrl = (base: string, path: string): string => base.replace(/(?=\?|$)/, path);

export const requestLimits = ({
  token,
  timeoutMs = 240_000,
  retries = 6,
  backOffMs = 500,
}: OpenAiOptions) => ({ token, timeoutMs, retries, backOffMs, maxResponseBytes: 1 << 26 });

/**
 * Whether an error of a server that accepted earlier requests concerns this one only:
 * filtered content, or a prompt on which the server fails.
 */
export const isAboutRequest = (error: unknown): error is Error =>
  error instanceof AnswerError ||
  (error instanceof HttpError && [400, 413, 422, 500].includes(error.status!));

/** @throws the error, saying what to do about its status */
export function addRemedy(error: unknown): never {
  const status = error instanceof HttpError && error.status;
  if (status === 401 || status === 403)
    (error as Error).message += ' Set POLICY_TOKEN to the key of this server.';
  if (status === 404)
    (error as Error).message +=
      ' Check the address, which usually ends with /v1, and name the model with --model.';
  throw error;
}

/** @throws Error listing the models unless there is exactly one */
export function onlyModel(base: string, served: readonly { id: string }[]): string {
  if (served.length === 1) return served[0].id;
  const names = served.map(({ id }) => id).join(', ');
  throw new Error(
    `Expected one model at ${base}, but there ${served.length === 0 ? 'is none' : `are ${names}`}. Choose one with --model.`,
  );
}

type FinishReason = string | null | undefined;

/** Whether the token limit ended an answer; Mistral writes `model_length`. */
export const isLimited = (reason: FinishReason): boolean =>
  /length|max_?tokens/i.test(reason ?? '');

/** Whether an answer ended before the model did, other than by its limit. */
export const isCutOff = (reason: FinishReason): boolean =>
  !isLimited(reason) && !/^($|complete|end|eos|function|stop|tool)/i.test(reason ?? '');
