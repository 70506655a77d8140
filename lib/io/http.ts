/** JSON over HTTP from servers that may be busy, late or away. */
import { setTimeout as delay } from 'node:timers/promises';

export interface JsonRequest {
  /** What is posted as JSON; without it the address is only read. */
  body?: object;
  /** Goes along as `Authorization: Bearer TOKEN`. */
  token?: string;
  /** How often it is tried again where the server is busy, late or can't be reached. */
  retries: number;
  /**
   * Wait before the first retry, milliseconds, twice as long before each other and
   * {@link LONGEST_WAIT_MS} at most; a server may ask for more.
   */
  backOffMs: number;
  /**
   * Longest wait for the answer to one try, milliseconds; as long as the signal lets by
   * default.
   */
  timeoutMs?: number;
  /** Largest answer that is read, bytes. */
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** What is to be found there, for errors: `a retrieval server`. */
  server: string;
}

/** A server did not answer as it should. */
export class HttpError extends Error {
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** What the server asks to wait, milliseconds. */
  readonly waitMs: number;

  constructor(message: string, { status, waitMs = 0, cause }: Partial<HttpError>) {
    super(message, { cause });
    this.status = status;
    this.waitMs = waitMs;
  }
}

/**
 * Of a server that has too much to do, or of what stands before one that is not there.
 */
const PASSING: readonly (number | undefined)[] = [undefined, 408, 429, 502, 503, 504];
const LONGEST_WAIT_MS = 60_000;

/**
 * What a server answers with status 200.
 * @throws HttpError for another status, or where the server is late or can't be reached
 * in the last try too; Error for an answer that is too long or no JSON; the signal's
 * reason
 */
export async function requestJson(url: string, request: JsonRequest): Promise<unknown> {
  const { retries, backOffMs, signal } = request;
  for (let tried = 0; ; tried++) {
    try {
      return parseJson(url, await requestText(url, request));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof HttpError) || !PASSING.includes(error.status) || tried >= retries)
        throw error;
      const waitMs = Math.max(backOffMs * 2 ** tried, error.waitMs);
      await delay(Math.min(waitMs, LONGEST_WAIT_MS), undefined, { signal }).catch(() =>
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
    signal: AbortSignal.any([signal, timeout].filter((one) => one !== undefined)),
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
