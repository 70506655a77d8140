/** Serves the page of a run during training, to this machine only. */
import { serveLocally, type LocalServer, type ServedRequest } from '../../io/local-server.js';
import { serve, startWorker, type Worker } from '../../io/processes.js';
import { readRun, runVersion } from './folder.js';
import { runContentHtml, runPageHtml, type RunDescription } from './page.js';

export interface WatchOptions extends RunDescription {
  /** The run's folder; need not exist yet. */
  folder: string;
  /** 0 (default) picks a free port. */
  port?: number;
}

/** No other page in the browser may frame or read this one. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Starts listening; rejects if the port is taken. */
export const startWatchServer = (options: WatchOptions): Promise<LocalServer> =>
  serveLocally(options.port ?? 0, (request) =>
    respond(options, request).catch(({ message }: Error) => text(500, message)),
  );

const text = (status: number, body: string | null, headers = {}): Response =>
  new Response(body, { status, headers: { ...HEADERS, ...headers } });
const page = (html: string): Response =>
  text(200, html, { 'content-type': 'text/html; charset=utf-8' });

async function respond(options: WatchOptions, request: ServedRequest): Promise<Response> {
  if (request.method !== 'GET')
    return text(405, `Expected the method GET, but got ${request.method}.`, { allow: 'GET' });
  const [pathname, query] = (request.url ?? '').split('?');
  const { folder } = options;
  if (pathname === '/')
    return page(await runPageHtml(options, await readRun(folder), { isLive: true }));
  if (pathname !== '/content') return text(404, 'Expected the path / or /content.');
  const isCurrent = new URLSearchParams(query).get('version') === (await runVersion(folder));
  return isCurrent ? text(204, null) : page(await runContentHtml(options, await readRun(folder)));
}

/**
 * Starts a process that serves the page and replies with its URL: training blocks its
 * own.
 */
export const startWatching = (): Worker<WatchOptions, string> => startWorker(import.meta.url);

serve<WatchOptions, string>(
  import.meta.url,
  async (options) => (await startWatchServer(options)).url,
);
