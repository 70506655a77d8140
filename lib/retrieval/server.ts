import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { max } from 'd3-array';
import { describeFaults } from '../io/json.js';
import {
  isLocalHost,
  serveLocally,
  type LocalServer,
  type ServedRequest,
} from '../io/local-server.js';
import { retrieveRequestSchema } from './remote.js';
import { type RetrievedPassage, type Retriever, requireInteger } from './retriever.js';

export interface RetrievalServerOptions extends Partial<typeof LIMITS> {
  /** 0 (default) picks a free port. */
  port?: number;
  /** Address to listen on. Default: 127.0.0.1. A public address needs a token. */
  host?: string;
  /** Requests must send `Authorization: Bearer TOKEN`. Default: no token. */
  token?: string;
  /** Whether SIGINT and SIGTERM stop the server after the requests in flight. */
  stopOnSignals?: boolean;
}

const LIMITS = {
  /** Passages per query if a request has no `topk`. */
  defaultTopK: 3,
  maxTopK: 100,
  /** Queries per request. */
  maxQueries: 512,
  /** Passages per response: queries times `topk`. */
  maxPassages: 10_000,
  /** In characters. */
  maxQueryLength: 10_000,
  maxBodyBytes: 1 << 20,
  /** Concurrent requests; further ones get status 429 unread. */
  maxConcurrency: 64,
  timeoutMs: 30_000,
  /** Artificial latency of each request. */
  delayMs: 0,
};

class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const failure = (status: number, message: string): Response =>
  Response.json({ error: { message, code: status } }, { status });

/**
 * Serves a retriever over Search-R1's protocol at the returned `url`.
 * @throws RangeError for a limit out of range, or a public host without a token
 */
export async function startRetrievalServer(
  retriever: Retriever,
  options: RetrievalServerOptions = {},
): Promise<LocalServer> {
  const { port = 0, host = '127.0.0.1', token, stopOnSignals = false, ...rest } = options;
  const limits = { ...LIMITS, ...rest };
  for (const [name, value] of Object.entries(limits))
    requireInteger(name, value, name === 'delayMs' ? 0 : 1);
  if (limits.defaultTopK > limits.maxTopK)
    throw new RangeError(
      `Expected defaultTopK (--top-k) to be at most ${limits.maxTopK}, but got ${limits.defaultTopK}.`,
    );
  if (!token && !isLocalHost(host))
    throw new RangeError(
      `Expected a token for a server at ${host}, which others can reach. Pass { token }, or set RETRIEVAL_TOKEN on the command line.`,
    );
  let numActive = 0;
  const server = await serveLocally(
    port,
    async (request, gone) => {
      if (token && !isSame(request.headers.authorization ?? '', `Bearer ${token}`))
        return failure(401, 'Expected the token of this server as "Authorization: Bearer TOKEN".');
      if (numActive >= limits.maxConcurrency)
        return failure(
          429,
          `Expected at most ${limits.maxConcurrency} requests at a time. Try again.`,
        );
      numActive++;
      // Not AbortSignal.any, which leaks if a retriever leaves a listener on it.
      const controller = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<Response>((resolve) => {
        const giveUp = (status: number, message: string): void => {
          resolve(failure(status, message));
          controller.abort();
        };
        gone.addEventListener('abort', () => giveUp(499, 'The client disconnected.'));
        timer = setTimeout(
          () =>
            giveUp(503, `Expected an answer within ${limits.timeoutMs} ms, but it took longer.`),
          limits.timeoutMs,
        );
      });
      // A retriever that ignores its signal still counts, because it still uses memory.
      const done = answer(retriever, limits, { request, signal: controller.signal }).finally(
        () => numActive--,
      );
      return Promise.race([done, late]).finally(() => clearTimeout(timer));
    },
    host,
  );
  const stop = (): void => void server.close(limits.timeoutMs);
  if (stopOnSignals) process.once('SIGINT', stop).once('SIGTERM', stop);
  const close = (graceMs?: number): Promise<void> => {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    return server.close(graceMs);
  };
  return { ...server, close, url: `${server.url}retrieve` };
}

const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Answers one request; never rejects. */
async function answer(
  retriever: Retriever,
  limits: typeof LIMITS,
  { request, signal }: { request: ServedRequest; signal: AbortSignal },
): Promise<Response> {
  try {
    checkRoute(request);
    // A client that never ends its body must not occupy its place.
    const body = await Promise.race([readBody(request, limits.maxBodyBytes), rejectOn(signal)]);
    const { queries, topk, withScores } = parseBody(body, limits);
    if (limits.delayMs > 0) await delay(limits.delayMs, undefined, { signal });
    const lists = await retriever.retrieve(queries, { topK: topk, signal });
    return Response.json({
      result: lists.map((list) => list.map((item) => toDocument(item, withScores))),
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return failure(error instanceof RequestError ? error.status : 500, message);
  }
}

const rejectOn = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );

function checkRoute(request: ServedRequest): void {
  const path = (request.url ?? '').split('?')[0];
  if (path !== '/retrieve')
    throw new RequestError(404, `Expected the path /retrieve, but got ${path}.`);
  if (request.method !== 'POST') {
    throw new RequestError(405, `Expected the method POST, but got ${request.method}.`);
  }
  // Any web page can post text to this machine; JSON needs the server's consent (CORS).
  const type = request.headers['content-type']?.split(';')[0].trim().toLowerCase();
  if (type !== 'application/json')
    throw new RequestError(
      415,
      `Expected the content type application/json, but got ${type ?? 'none'}.`,
    );
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new RequestError(415, `Expected a body without content encoding, but got ${encoding}.`);
}

async function readBody(request: ServedRequest, maxBodyBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early must not destroy the socket: the response is still to be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBodyBytes)
      throw new RequestError(413, `Expected a body of at most ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseBody(body: Uint8Array, limits: typeof LIMITS) {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new RequestError(400, 'Expected the body to be JSON in UTF-8.');
  }
  const parsed = retrieveRequestSchema.safeParse(json);
  if (!parsed.success) throw new RequestError(400, describeFaults(parsed.error));
  const { queries } = parsed.data;
  const topk = parsed.data.topk ?? limits.defaultTopK;
  const withScores = parsed.data.return_scores ?? false;
  const longest = max(queries, (query) => query.length)!;
  const limited: [what: string, most: number, value: number][] = [
    ['topk to be', limits.maxTopK, topk],
    ['the number of queries to be', limits.maxQueries, queries.length],
    ['queries times topk to be', limits.maxPassages, queries.length * topk],
    ['characters of a query to be', limits.maxQueryLength, longest],
  ];
  for (const [what, most, value] of limited)
    if (value > most)
      throw new RequestError(400, `Expected ${what} at most ${most}, but got ${value}.`);
  return { queries, topk, withScores };
}

function toDocument({ passage: { id, contents }, score }: RetrievedPassage, withScores: boolean) {
  return withScores ? { document: { id, contents }, score } : { id, contents };
}
