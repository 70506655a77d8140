/** JSON and event streams over HTTP with retries. */
import { maxHeaderSize } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { splitCredentials } from './credentials.js';
import { describeFaults, parseJson } from './json.js';
import { printable } from './system-errors.js';

export interface JsonRequest {
  /** Posted as JSON. Default: a GET request without body. */
  body?: object;
  /** Sent as `Authorization: Bearer TOKEN`. */
  token?: string;
  /** Further attempts if the server is busy, late or unreachable. */
  retries: number;
  /** Wait before the first retry; doubles each time, up to {@link MAX_WAIT_MS}. */
  backOffMs: number;
  /** Timeout of one attempt. */
  timeoutMs?: number;
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** Describes the server in errors, such as `a retrieval server`. */
  server: string;
}

export class HttpError extends Error {
  /** Undefined without a response. */
  readonly status: number | undefined;
  readonly waitMs: number;
  readonly body: string;

  constructor(message: string, { status, waitMs = 0, body = '', cause }: Partial<HttpError>) {
    super(message, { cause });
    this.status = status;
    this.waitMs = waitMs;
    this.body = body;
  }
}

const messageSchema = z.string().min(1);
const errorSchema = z.union([
  z.object({ error: z.object({ message: messageSchema }) }).transform(({ error }) => error.message),
  z.object({ error: messageSchema }).transform(({ error }) => error),
  z.object({ message: messageSchema }).transform(({ message }) => message),
  z.object({ detail: messageSchema }).transform(({ detail }) => detail),
]);

/** An answer arrived but is unusable; another one may not be. */
export class AnswerError extends Error {
  /** What came in place of a stream of events. */
  body?: string;
}

/**
 * Validates the JSON of an answer.
 * @throws AnswerError with the first faults, or the error that the server sent with
 * status 200
 */
export function parseAnswer<S extends z.ZodType>(
  schema: S,
  answer: unknown,
  expected: string,
): z.output<S> {
  const { data, error, success } = schema.safeParse(answer);
  if (success) return data;
  const { data: sent } = errorSchema.safeParse(answer);
  const reason = sent ? `got an error: ${sent.slice(0, 200)}` : describeFaults(error);
  throw new AnswerError(`Expected ${expected}, but ${reason}`);
}

/** Statuses of busy servers and of proxies (up to 529); undefined if unreachable. */
const isRetried = (status: number | undefined): boolean =>
  status === undefined || status === 408 || status === 429 || (status >= 500 && status !== 501);
/** Status 500 is often a fault of the request, so its retries are few. */
const MAX_RETRIES_OF_500 = 2;
const MAX_WAIT_MS = 60_000;
/** A server that asks for a longer wait counts as failed. */
const MAX_RETRY_AFTER_MS = 300_000;
/** Shorter waits are not logged. */
const MIN_LOGGED_WAIT_MS = 1000;
const announced = new Set<string>();
/** Nothing listens there, or it can't be found. */
const ABSENT = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|UND_ERR_CONNECT_TIMEOUT)$/;
/** Origins of servers that answered: if one is absent later, it may come back. */
const answered = new Set<string>();

/**
 * Returns the JSON of a response with status 200.
 * @throws HttpError for another status, a timeout or a server that went away in the last
 * attempt; AnswerError for a response that is too long or not JSON; Error at once for a
 * server that never answered, an untrusted certificate or endless redirects; the signal's
 * reason
 */
export async function requestJson(url: string, request: JsonRequest): Promise<unknown> {
  const { shown } = splitCredentials(url);
  return retry(shown, request, async () => {
    const chunks: Uint8Array[] = [];
    const source = await requestBytes(url, request, (bytes) => void chunks.push(bytes));
    return parseBody(source, Buffer.concat(chunks));
  });
}

/**
 * Posts a request that is answered with server-sent events. Does not retry once an event
 * has arrived.
 * @param onData called with the data of each event, except the end mark `[DONE]`; awaited
 * in order
 * @returns whether the end mark arrived
 * @throws as {@link requestJson}, whatever `onData` throws, and AnswerError if no event
 * arrived
 */
export async function requestEvents(
  url: string,
  request: JsonRequest & { onData: (data: string) => unknown },
): Promise<boolean> {
  const { shown } = splitCredentials(url);
  let hasBegun = false;
  let isDone = false;
  let body = '';
  let work = Promise.resolve<unknown>(undefined);
  let failure: { error: unknown } | undefined;
  const attempt = async (): Promise<void> => {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const decode = (bytes: Uint8Array): string => {
      try {
        return decoder.decode(bytes, { stream: true });
      } catch (cause) {
        const message = `Expected a stream of events in UTF-8 from ${shown}, but got other bytes.`;
        throw new AnswerError(message, { cause });
      }
    };
    const parser = createParser({
      onEvent({ data }) {
        if (isDone) return;
        hasBegun = true;
        if (data.trim() === '[DONE]') isDone = true;
        else work = work.then(() => request.onData(data));
        work.catch((error: unknown) => (failure ??= { error }));
      },
    });
    await requestBytes(url, request, (bytes) => {
      if (failure) throw failure.error;
      const text = decode(bytes);
      if (!hasBegun) body += text;
      parser.feed(text);
      return isDone; // some servers keep the connection open
    });
    // Some servers leave out the empty line after the last event.
    if (!isDone) parser.feed('\n\n');
    await work;
    if (!hasBegun)
      throw Object.assign(
        new AnswerError(`Expected a stream of events from ${shown}, but got: ${excerpt(body)}`),
        { body },
      );
  };
  await retry(shown, request, attempt, () => !hasBegun);
  return isDone;
}

async function retry<T>(
  url: string,
  { retries, backOffMs, signal }: JsonRequest,
  attempt: () => Promise<T>,
  mayRepeat = (): boolean => true,
): Promise<T> {
  for (let numTries = 0; ; numTries++) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (
        !(error instanceof HttpError) ||
        !isRetried(error.status) ||
        numTries >= (error.status === 500 ? Math.min(retries, MAX_RETRIES_OF_500) : retries) ||
        !mayRepeat()
      )
        throw error;
      const { message, status, body, waitMs: askedMs } = error;
      if (askedMs > MAX_RETRY_AFTER_MS)
        throw new HttpError(
          `${message} It asks to wait ${Math.round(askedMs / 1000)} s (Retry-After), longer than ${MAX_RETRY_AFTER_MS / 1000} s.`,
          { status, body, waitMs: askedMs, cause: error },
        );
      const waitMs = Math.max(Math.min(backOffMs * 2 ** numTries, MAX_WAIT_MS), askedMs);
      if (waitMs >= MIN_LOGGED_WAIT_MS && !announced.has(url)) {
        announced.add(url);
        console.error(
          `Waiting ${Math.round(waitMs / 1000)} s before try ${numTries + 2} of ${retries + 1}: ${message}`,
        );
      }
      await delay(waitMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

/**
 * Reads the bytes of a response with status 200, as they arrive, until `onBytes` returns
 * true.
 * @returns their source, for messages: a redirected POST becomes a GET
 */
async function requestBytes(
  address: string,
  { body, token, timeoutMs, maxResponseBytes, signal, server }: JsonRequest,
  onBytes: (bytes: Uint8Array) => boolean | void,
): Promise<string> {
  const { url, shown, authorization } = splitCredentials(address);
  if (!URL.canParse(address))
    throw new TypeError(
      `Expected the address of ${server}, but got ${shown}. In a password, write / as %2F, ? as %3F and # as %23.`,
    );
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const fail = (cause: Error): never => {
    const reason = cause.cause as NodeJS.ErrnoException | undefined;
    // zlib's codes, and brotli's.
    if (/^(Z_|ERR__ERROR)/.test(reason?.code ?? ''))
      throw new AnswerError(
        `Expected an answer from ${shown} that can be decompressed, but ${reason!.message}.`,
      );
    const isAbsent = ABSENT.test(reason?.code ?? '') && !answered.has(new URL(url).origin);
    const flaw = isAbsent ? passingFault(reason!.code) : permanentFlaw(reason);
    if (flaw) throw new Error(`Expected ${server} at ${shown}, but ${flaw}`, { cause });
    // Without naming the cause, which repeats the token.
    if (token && cause instanceof TypeError && !reason)
      throw new Error(
        `Expected a key for ${shown} that fits into a header, but it has a line break or a character beyond Latin-1.`,
      );
    const message = timeout?.aborted
      ? `Expected an answer from ${shown} within ${timeoutMs} ms.`
      : `Expected ${server} at ${shown}, but ${passingFault(reason?.code)}`;
    throw new HttpError(message, { cause });
  };
  const response = await fetch(url, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(authorization && { authorization }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    signal: AbortSignal.any([signal, timeout].filter((given) => given !== undefined)),
  }).catch(fail);
  answered.add(new URL(url).origin);
  const { status, headers, redirected } = response;
  const source = redirected
    ? `${shown}, which redirects to ${splitCredentials(response.url).shown}`
    : shown;
  const rejection: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  try {
    for (let read; (read = await reader?.read().catch(fail)) && !read.done; ) {
      if ((size += read.value.byteLength) > maxResponseBytes)
        throw new AnswerError(
          `Expected an answer of at most ${maxResponseBytes} bytes from ${shown}. Ask for less at a time.`,
        );
      if (status !== 200) rejection.push(read.value);
      else if (onBytes(read.value)) break;
    }
  } finally {
    // Hangs up, unless the body was read to its end.
    reader?.cancel().catch(() => undefined);
  }
  if (status === 200) {
    const encoding = headers.get('content-encoding');
    if (size > 0 || encoding === null) return source;
    throw new AnswerError(
      `Expected an answer from ${shown} that can be decompressed, but its content-encoding ${encoding} yields nothing.`,
    );
  }
  const text = Buffer.concat(rejection).toString('utf8');
  const waitMs = retryAfterMs(headers.get('retry-after'));
  const message = `Expected status 200 from ${source}, but got ${status}: ${excerpt(text)}`;
  throw new HttpError(message, { status, waitMs, body: text });
}

/** Describes a server fault that a retry may resolve. */
function passingFault(code = ''): string {
  if (code === 'ENOTFOUND') return 'there is no host of this name. Check the address.';
  if (/RESET|EPIPE|UND_ERR_SOCKET|LENGTH_MISMATCH/.test(code))
    return 'it closed the connection before the end of its answer.';
  return "it can't be reached. Is it running?";
}

/** Describes a server fault that no retry resolves. */
function permanentFlaw({ code = '', message = '', cause }: Partial<NodeJS.ErrnoException> = {}) {
  if (String(cause).includes('Proxy response (407)'))
    return 'the proxy asks for a login. Put it into the address of the proxy: http://USER:PASSWORD@HOST.';
  if (/EXPIRED|NOT_YET_VALID|ALTNAME/.test(code))
    return `its certificate is not valid (${message}). Renew it, use a host that it names, or set this machine's clock.`;
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
    return `its certificate is not trusted (${message}). If it is your own, set NODE_EXTRA_CA_CERTS to its file.`;
  if (/SSL|TLS|EPROTO/.test(code)) return `it does not speak https (${code}). Try http.`;
  if (message.includes('redirect')) return 'it redirects without end.';
  if (message.includes('scheme')) return 'it redirects to an address that is not http.';
  if (message === 'bad port') return 'its port is reserved for another protocol. Serve at another.';
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return `the headers of its answer have more than ${maxHeaderSize} bytes. Allow more: NODE_OPTIONS=--max-http-header-size=${4 * maxHeaderSize}`;
  if (code.startsWith('HPE_')) return `it does not speak HTTP (${message}).`;
  return undefined;
}

/** `Retry-After` contains seconds or a date. */
function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  const seconds = Number(header);
  const waitMs = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : 1000 * seconds;
  return Math.max(0, waitMs || 0);
}

function parseBody(source: string, bytes: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const isOther = cause instanceof SyntaxError || cause instanceof TypeError;
    const reason = isOther
      ? `got: ${excerpt(Buffer.from(bytes).toString())}`
      : (cause as Error).message;
    throw new AnswerError(`Expected JSON in UTF-8 from ${source}, but ${reason}`, { cause });
  }
}

const MAX_EXCERPT = 200;
const excerpt = (text: string): string =>
  printable(text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}...` : text);
