/** HTTP servers, by default only for this machine. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const LOCAL_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];
export const isLocalHost = (host: string): boolean => LOCAL_HOSTS.includes(host) || host === '::1';

/** Why a server cannot listen, by Node's error code. */
const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken. Choose another, or 0 for a free one',
  EACCES: 'the port needs administrator rights. Choose one above 1023',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name cannot be resolved. Use an address of this machine',
};

/** Node's default of 511 is too small for a thousand simultaneous clients. */
const BACKLOG = 4096;

/**
 * Longer than clients reuse an idle connection (aiohttp 15 s, Node 4 s): a request that
 * crosses the end of its connection fails.
 */
const KEEP_ALIVE_MS = 75_000;

export interface LocalServer {
  readonly url: string;
  readonly port: number;
  /** Stops listening, gives requests `graceMs` (default 0), and frees the port. */
  close(graceMs?: number): Promise<void>;
}

/** Node's request, declared here so that users of the library need no Node types. */
export interface ServedRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string;
  readonly url?: string;
  readonly headers: {
    host?: string;
    authorization?: string;
    'content-type'?: string;
    'content-encoding'?: string;
  };
  readonly socket: { localPort?: number };
  iterator(options: { destroyOnReturn: boolean }): object;
}

/** Whether Host names this machine (against DNS rebinding); browsers omit port 80. */
export const isLocalRequest = ({
  headers: { host },
  socket,
}: Pick<ServedRequest, 'headers' | 'socket'>): boolean =>
  LOCAL_HOSTS.some(
    (name) => host === `${name}:${socket.localPort}` || (socket.localPort === 80 && host === name),
  );

/**
 * Starts a server; port 0 picks a free one. On local addresses, requests with another
 * host name are refused. Rejects if the port is taken.
 * @param answer must not reject; its signal aborts when the client disconnects
 */
export async function serveLocally(
  port: number,
  answer: (request: ServedRequest, disconnected: AbortSignal) => Promise<Response>,
  givenHost = '127.0.0.1',
): Promise<LocalServer> {
  // An IPv6 address may have the brackets that it has in a URL.
  const host = /^\[(.*)\]$/.exec(givenHost)?.[1] ?? givenHost;
  const server = createServer((request, response) => {
    const disconnected = new AbortController();
    response.on('close', () => response.writableFinished || disconnected.abort());
    const isRefused = isLocalHost(host) && !isLocalRequest(request);
    const refusal = new Response('Expected a request to this machine by its own name.', {
      status: 403,
    });
    void (isRefused ? Promise.resolve(refusal) : answer(request, disconnected.signal)).then(
      async (answered) => {
        // The rest of a rejected body is not read; a closing server keeps no connection.
        if (!request.complete || !server.listening) response.setHeader('connection', 'close');
        // Without the header Keep-Alive, which tells clients how long they may wait.
        else if (response.shouldKeepAlive) response.setHeader('connection', 'keep-alive');
        response
          .writeHead(answered.status, Object.fromEntries(answered.headers))
          .end(await answered.text());
      },
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => {
      const reason = LISTEN_ERRORS[cause.code ?? ''] ?? cause.message;
      reject(
        new Error(`Expected to serve on ${host}, port ${port}, but ${reason} (${cause.code}).`, {
          cause,
        }),
      );
    };
    server.once('error', fail).listen({ port, host, backlog: BACKLOG }, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  const closed = once(server, 'close');
  const close = async (graceMs = 0): Promise<void> => {
    if (server.listening) server.close();
    if (graceMs > 0) await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`, port: bound, close };
}
