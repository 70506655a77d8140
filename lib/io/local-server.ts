/** HTTP servers, by default for this machine only. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Names of this machine that nobody else can reach. */
const LOCAL_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];
export const isLocalHost = (host: string): boolean => LOCAL_HOSTS.includes(host) || host === '::1';

/**
 * Connections that may wait to be taken; Node's 511 are too few for a thousand clients
 * that come at once.
 */
const BACKLOG = 4096;

export interface LocalServer {
  /** Such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops listening, lets what is in flight end for so long (0 by default), cuts it and
   * resolves when the port is free.
   */
  close(graceMs?: number): Promise<void>;
}

/**
 * What is asked, as Node's server gives it: in words of our own, for who uses this
 * library need not have Node's types.
 */
export interface ServedRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string;
  readonly url?: string;
  readonly headers: { host?: string; authorization?: string; 'content-type'?: string };
  readonly socket: { localPort?: number };
  iterator(options: { destroyOnReturn: boolean }): object;
}

/**
 * Whether a request is for a server on this machine's own port. A page elsewhere whose
 * name was made to lead here (DNS rebinding) sends its own name as the host. Port 80 is
 * left out by browsers.
 */
export const isForHere = ({
  headers: { host },
  socket,
}: Pick<ServedRequest, 'headers' | 'socket'>): boolean =>
  LOCAL_HOSTS.some(
    (name) => host === `${name}:${socket.localPort}` || (socket.localPort === 80 && host === name),
  );

/**
 * Serves on 127.0.0.1 or another address, at a free port for 0. On this machine's own
 * addresses, requests under another name are refused. Rejects where the port is taken.
 * @param answer never rejects; its signal is aborted when the client goes before it has
 * its answer
 */
export async function serveLocally(
  port: number,
  answer: (request: ServedRequest, gone: AbortSignal) => Promise<Response>,
  host = '127.0.0.1',
): Promise<LocalServer> {
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.on('close', () => response.writableFinished || gone.abort());
    const isRefused = isLocalHost(host) && !isForHere(request);
    const refusal = new Response('Expected a request to this machine by its own name.', {
      status: 403,
    });
    void (isRefused ? Promise.resolve(refusal) : answer(request, gone.signal)).then(
      async (answered) => {
        // What is left of a rejected body is not read, and a server that is closing keeps
        // no connection.
        if (!request.complete || !server.listening) response.setHeader('connection', 'close');
        response
          .writeHead(answered.status, Object.fromEntries(answered.headers))
          .end(await answered.text());
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ port, host, backlog: BACKLOG }, resolve);
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
