import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { serveLocally, type LocalServer } from '../io/local-server.js';
import { retrieveRequestSchema } from './protocol.js';
import type { RetrievedPassage, Retriever } from './retriever.js';
import { requireInteger } from './top-k.js';

export interface RetrievalServerOptions {
  /** 0 (default) takes a free port. */
  port?: number;
  /** Passages for each query where a request doesn't say; default 3. */
  defaultTopK?: number;
  /** Largest `topk` answered; default 100. */
  maxTopK?: number;
  /** Most queries in a request; default 512. */
  maxQueries?: number;
  /** Largest request body, bytes; default 1 MiB. */
  maxBodyBytes?: number;
  /** Artificial waiting time of each request, milliseconds, for experiments on latency; default 0. */
  delayMs?: number;
}

type Settings = Required<Omit<RetrievalServerOptions, 'port'>>;

/** An error that the client caused, with its HTTP status. */
class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Serves a retriever by Search-R1's protocol on 127.0.0.1, for this machine only; `url` is where to post. */
export async function startRetrievalServer(
  retriever: Retriever,
  options: RetrievalServerOptions = {},
): Promise<LocalServer> {
  const { port = 0, ...rest } = options;
  const settings: Settings = {
    ...{ defaultTopK: 3, maxTopK: 100, maxQueries: 512, maxBodyBytes: 1 << 20, delayMs: 0 },
    ...rest,
  };
  for (const [name, value] of Object.entries(settings))
    requireInteger(name, value, name === 'delayMs' ? 0 : 1);
  const server = await serveLocally(port, (request, gone) => answer(retriever, settings, { request, gone }));
  return { ...server, url: `${server.url}retrieve` };
}

/** Answers one request; never rejects. */
async function answer(
  retriever: Retriever,
  settings: Settings,
  { request, gone }: { request: IncomingMessage; gone: AbortSignal },
): Promise<Response> {
  try {
    checkRoute(request);
    const { queries, topk, withScores } = parseBody(await readBody(request, settings.maxBodyBytes), settings);
    if (settings.delayMs > 0) await delay(settings.delayMs, undefined, { signal: gone });
    const lists = await retriever.retrieve(queries, { topK: topk, signal: gone });
    return Response.json({ result: lists.map((list) => list.map((item) => toDocument(item, withScores))) });
  } catch (error) {
    const status = error instanceof RequestError ? error.status : 500;
    const message = error instanceof Error ? error.message : String(error);
    return Response.json({ error: { message, code: status } }, { status });
  }
}

function checkRoute(request: IncomingMessage): void {
  const path = (request.url ?? '').split('?')[0];
  if (path !== '/retrieve') throw new RequestError(404, `Expected the path /retrieve, but got ${path}.`);
  if (request.method !== 'POST') {
    throw new RequestError(405, `Expected the method POST, but got ${request.method}.`);
  }
}

async function readBody(request: IncomingMessage, maxBodyBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early must not destroy the socket: the answer is still to be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBodyBytes) throw new RequestError(413, `Expected a body of at most ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseBody(body: string, { defaultTopK, maxTopK, maxQueries }: Settings) {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw new RequestError(400, 'Expected the body to be JSON.');
  }
  const parsed = retrieveRequestSchema.safeParse(json);
  if (!parsed.success) throw new RequestError(400, z.prettifyError(parsed.error));
  const { queries, topk = defaultTopK, return_scores: withScores = false } = parsed.data;
  if (topk > maxTopK) throw new RequestError(400, `Expected topk to be at most ${maxTopK}, but got ${topk}.`);
  if (queries.length > maxQueries) {
    throw new RequestError(400, `Expected at most ${maxQueries} queries, but got ${queries.length}.`);
  }
  return { queries, topk, withScores };
}

function toDocument({ passage: { id, contents }, score }: RetrievedPassage, withScores: boolean) {
  return withScores ? { document: { id, contents }, score } : { id, contents };
}
