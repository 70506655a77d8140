/** A server that answers like vLLM, with a local policy. */
import { json } from 'node:stream/consumers';
import { serveLocally } from '../../../lib/io/local-server.js';
import type { Policy } from '../../../lib/policy/policy.js';
import { createRandom } from '../../../lib/random.js';

export interface CompletionRequest {
  model: string;
  prompt: number[] | string;
  max_tokens: number;
  temperature?: number;
  top_p?: number;
  stop?: string[];
  seed?: number;
  return_token_ids?: boolean;
}

interface StandInOptions {
  /** The model's name on the server. */
  model: string;
  /** The model's folder. */
  root?: string;
  /** Text only: like `transformers serve` (keeps stop texts) or llama.cpp (cuts them). */
  isTextOnly?: 'keeps stop' | 'cuts stop';
  /** Returns a response in place of a completion, or undefined. */
  instead?: (request: CompletionRequest) => Response | Promise<Response | undefined> | undefined;
}

const failure = (status: number, message: string, type: string): Response =>
  Response.json({ error: { message, type, param: null, code: status } }, { status });

/** Serves a policy one request at a time, in order. */
export async function startVllmStandIn(
  policy: Policy,
  { model, root = model, isTextOnly, instead }: StandInOptions,
) {
  const requests: CompletionRequest[] = [];
  let turn: Promise<unknown> = Promise.resolve();
  let [numActive, most] = [0, 0];
  const { tokenizer, maxLength } = policy;

  const complete = async (request: CompletionRequest): Promise<Response> => {
    const { prompt, temperature = 1, top_p: topP = 1, stop = [] } = request;
    const context = typeof prompt === 'string' ? tokenizer.encode(prompt) : prompt;
    const maxNewTokens = Math.min(request.max_tokens, maxLength - context.length);
    const sampling = { temperature, topP, stop, maxNewTokens };
    const randoms = [createRandom(request.seed ?? 0)];
    const [generation] = await policy.generate([context], { ...sampling, randoms });
    const { tokenIds, text, logProbs, finish } = generation;
    policy.release?.();
    const stopText = stop.find((stopText) => text.includes(stopText));
    const end = stopText === undefined ? text.length : text.indexOf(stopText);
    const hasIds = request.return_token_ids && !isTextOnly;
    const choice = {
      index: 0,
      text: isTextOnly === 'keeps stop' ? text : text.slice(0, end),
      finish_reason: finish,
      ...(!isTextOnly && { stop_reason: stopText ?? null, token_ids: hasIds ? tokenIds : null }),
      logprobs: hasIds ? { token_logprobs: logProbs } : null,
    };
    const envelope = { id: 'cmpl-1', object: 'text_completion', created: 0, model };
    return Response.json({ ...envelope, choices: [choice] });
  };

  const answer = async (url: string, read: () => Promise<CompletionRequest>): Promise<Response> => {
    const details = { root, parent: null, max_model_len: maxLength };
    const card = { id: model, object: 'model', ...(!isTextOnly && details) };
    if (url === '/v1/models') return Response.json({ object: 'list', data: [card] });
    if (url !== '/v1/completions') return new Response('Not Found', { status: 404 });
    const request = await read();
    requests.push(request);
    const { prompt } = request;
    const other = await instead?.(request);
    if (other) return other;
    if (request.model !== model)
      return failure(404, `The model \`${request.model}\` does not exist.`, 'NotFoundError');
    if (isTextOnly === 'keeps stop' && typeof prompt !== 'string')
      return Response.json({ detail: 'prompt must be a string.' }, { status: 400 });
    if (prompt.length >= maxLength && typeof prompt !== 'string')
      return failure(400, `Maximum context length: ${maxLength} tokens.`, 'BadRequestError');
    const done = turn.then(() => complete(request));
    turn = done;
    return done;
  };

  const server = await serveLocally(0, async (request) => {
    most = Math.max(most, ++numActive);
    const read = () => json(request as never) as Promise<CompletionRequest>;
    return answer(request.url!, read).finally(() => numActive--);
  });
  return { ...server, api: `${server.url}v1`, requests, mostAtATime: () => most };
}
