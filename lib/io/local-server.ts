/** HTTP servers for this machine only. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

export interface LocalServer {
  /** Such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening, cuts what is in flight and resolves when the port is free. */
  close(): Promise<void>;
}

/**
 * Serves on 127.0.0.1, at a free port for 0. Rejects where the port is taken.
 * @param answer never rejects; its signal is aborted when nobody waits any more
 */
export async function serveLocally(
  port: number,
  answer: (request: IncomingMessage, gone: AbortSignal) => Promise<Response>,
): Promise<LocalServer> {
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    void answer(request, gone.signal).then(async (answered) => {
      // What is left of a rejected body is not read.
      if (!request.complete) response.setHeader('connection', 'close');
      response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text());
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  const close = async (): Promise<void> => {
    const closed = promisify(server.close.bind(server))();
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${bound}/`, port: bound, close };
}
