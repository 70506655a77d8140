/** JSON over HTTP with retries. */
import { setTimeout as delay } from 'node:timers/promises';

export interface JsonRequest {
  /** Posted as JSON; without it the request is a GET. */
  body?: object;
  /** Sent as `Authorization: Bearer TOKEN`. */
  token?: string;
  /** Retries if the server is busy, slow or unreachable. */
  retries: number;
  /** Wait before the first retry; doubles each time, up to {@link MAX_WAIT_MS}. */
  backOffMs: number;
  /** Timeout of one try. Default: none. */
  timeoutMs?: number;
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** Describes the server in errors, such as `a retrieval server`. */
  server: string;
}

export class HttpError extends Error {
  /** Undefined without a response. */
  readonly status: number | undefined;
  /** From `Retry-After`. */
  readonly waitMs: number;

  constructor(message: string, { status, waitMs = 0, cause }: Partial<HttpError>) {
    super(message, { cause });
    this.status = status;
    this.waitMs = waitMs;
  }
}

/** Statuses of busy servers and of proxies; undefined if unreachable. */
const RETRIED_STATUSES: readonly (number | undefined)[] = [undefined, 408, 429, 502, 503, 504];
const MAX_WAIT_MS = 60_000;

/**
 * The JSON of a response with status 200.
 * @throws HttpError for another status, a timeout or an unreachable server in the last
 * try; Error for a response that is too long or not JSON; the signal's reason
 */
export async function requestJson(url: string, request: JsonRequest): Promise<unknown> {
  const { retries, backOffMs, signal } = request;
  for (let numTries = 0; ; numTries++) {
    try {
      return parseJson(url, await requestText(url, request));
    } catch (error) {
      signal?.throwIfAborted();
      if (
        !(error instanceof HttpError) ||
        !RETRIED_STATUSES.includes(error.status) ||
        numTries >= retries
      )
        throw error;
      const waitMs = Math.max(backOffMs * 2 ** numTries, error.waitMs);
      await delay(Math.min(waitMs, MAX_WAIT_MS), undefined, { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

async function requestText(
  url: string,
  { body, token, timeoutMs, maxResponseBytes, signal, server }: JsonRequest,
): Promise<string> {
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const fail = (cause: unknown): never => {
    const message = timeout?.aborted
      ? `Expected an answer from ${url} within ${timeoutMs} ms.`
      : `Expected ${server} at ${url}, but it can't be reached. Is it running?`;
    throw new HttpError(message, { cause });
  };
  const response = await fetch(url, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    signal: AbortSignal.any([signal, timeout].filter((given) => given !== undefined)),
  }).catch(fail);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let read; (read = await reader?.read().catch(fail)) && !read.done;) {
    chunks.push(read.value);
    if ((size += read.value.byteLength) <= maxResponseBytes) continue;
    void reader!.cancel();
    throw new Error(
      `Expected an answer of at most ${maxResponseBytes} bytes from ${url}. Ask for less at a time.`,
    );
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const { status, headers } = response;
  if (status === 200) return text;
  const waitMs = 1000 * (Number(headers.get('retry-after')) || 0);
  const message = `Expected status 200 from ${url}, but got ${status}: ${excerpt(text)}`;
  throw new HttpError(message, { status, waitMs });
}

function parseJson(url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`Expected JSON from ${url}, but got: ${excerpt(text)}`, { cause });
  }
}

const excerpt = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}...` : text);
