/** Serves the page of a run while it goes on: to this machine only, and nothing but that page. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listenLocally } from '../../io/local-server.js';
import { serve, startWorker, type Worker } from '../../io/worker.js';
import { runContentHtml, runPageHtml, type RunDescription } from './html.js';
import { readRun, runVersion } from './run-folder.js';

export interface WatchOptions extends RunDescription {
  /** The run's folder; it need not exist yet. */
  folder: string;
  /** 0 (default) takes a free port. */
  port?: number;
}

interface Answer {
  status: number;
  body?: string;
  type?: 'text/html' | 'text/plain';
}

/** Against other pages in the same browser, which must neither frame nor read this one. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Starts to listen on 127.0.0.1; `url` is where the page is, such as `http://127.0.0.1:8000/`. Rejects where the port is taken. */
export async function startWatchServer(options: WatchOptions) {
  const server = createServer((request, response) => {
    const failed = ({ message }: Error): Answer => ({ status: 500, body: message });
    void answer(options, request)
      .catch(failed)
      .then((answered) => send(response, answered));
  });
  const port = await listenLocally(server, options.port ?? 0);
  return { url: `http://127.0.0.1:${port}/`, close: () => closeServer(server) };
}

function send(response: ServerResponse, { status, body, type = 'text/plain' }: Answer): void {
  const allow = status === 405 ? { allow: 'GET' } : {};
  response.writeHead(status, { ...HEADERS, ...allow, 'content-type': `${type}; charset=utf-8` });
  response.end(body);
}

/** A page elsewhere whose name was made to lead here (DNS rebinding) sends its own name as the host. */
function isForHere({ headers, socket }: IncomingMessage): boolean {
  return ['127.0.0.1', 'localhost'].some((name) => headers.host === `${name}:${socket.localPort}`);
}

async function answer(options: WatchOptions, request: IncomingMessage): Promise<Answer> {
  if (!isForHere(request))
    return { status: 403, body: 'Expected a request to this machine by its own name.' };
  if (request.method !== 'GET')
    return { status: 405, body: `Expected the method GET, but got ${request.method}.` };
  const [pathname, query] = (request.url ?? '').split('?');
  const { folder } = options;
  if (pathname === '/') {
    const body = await runPageHtml(options, await readRun(folder), { isLive: true });
    return { status: 200, type: 'text/html', body };
  }
  if (pathname !== '/content') return { status: 404, body: `Expected the path / or /content.` };
  if (new URLSearchParams(query).get('version') === (await runVersion(folder))) return { status: 204 };
  return { status: 200, type: 'text/html', body: await runContentHtml(options, await readRun(folder)) };
}

/** A process that serves a run's page, and replies where it is: a step of training keeps its own process busy for seconds. */
export const startWatching = (): Worker<WatchOptions, string> => startWorker(import.meta.url);

serve<WatchOptions, string>(import.meta.url, async (options) => (await startWatchServer(options)).url);
