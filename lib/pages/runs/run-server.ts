/** Serves the page of a run during training, to this machine only. */
import { serveLocally, type LocalServer, type ServedRequest } from '../../io/local-server.js';
import { serve, startWorker, type Worker } from '../../io/processes.js';
import { ownValue } from '../../own-value.js';
import { markupHtml } from '../../report/markup.js';
import type { RunDescription } from '../../training/run.js';
import { readRollouts, readRun, runVersion } from '../../training/run-folder.js';
import { runContent, runPageHtml } from './run-page.js';
import { stepRollouts } from './rollouts.js';

interface WatchOptions extends RunDescription {
  /** The run's folder, which need not exist yet. */
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

/** The HTML of a path; null if the reader's version is current, undefined if absent. */
type Route = (query: URLSearchParams) => Promise<string | null | undefined>;

/** Serves pages to this machine; port 0 picks a free one. Rejects if it is taken. */
export const servePages = (
  port: number,
  routes: Readonly<Record<string, Route>>,
): Promise<LocalServer> =>
  serveLocally(port, (request) =>
    respond(routes, request).catch(({ message }: Error) => text(500, message)),
  );

const text = (status: number, body: string | null, headers = {}): Response =>
  new Response(body, { status, headers: { ...HEADERS, ...headers } });

async function respond(
  routes: Readonly<Record<string, Route>>,
  request: ServedRequest,
): Promise<Response> {
  if (request.method !== 'GET')
    return text(405, `Expected the method GET, but got ${request.method}.`, { allow: 'GET' });
  const [pathname, query] = (request.url ?? '').split('?');
  const route = ownValue(routes, pathname);
  const html = await route?.(new URLSearchParams(query));
  if (html === undefined)
    return text(
      404,
      route
        ? 'Expected a run of this folder, with the run.json that `train` writes.'
        : `Expected one of the paths ${Object.keys(routes).join(', ')}.`,
    );
  if (html === null) return text(204, null);
  return text(200, html, { 'content-type': 'text/html; charset=utf-8' });
}

/** The content of a run's page, unless the reader has it. */
export const contentRoute =
  (run: RunDescription, folder: string, requests = ''): Route =>
  async (query) =>
    query.get('version') === (await runVersion(folder))
      ? null
      : markupHtml(await runContent(run, await readRun(folder), { isLive: true, query: requests }));

export const rolloutsRoute =
  (folder: string): Route =>
  async (query) => {
    const step = Number(query.get('step'));
    return markupHtml(stepRollouts((await readRollouts(folder, [step])).get(step) ?? []));
  };

export const startWatchServer = ({
  folder,
  port = 0,
  ...run
}: WatchOptions): Promise<LocalServer> =>
  servePages(port, {
    '/': async () => runPageHtml(run, await readRun(folder), { isLive: true }),
    '/content': contentRoute(run, folder),
    '/rollouts': rolloutsRoute(folder),
  });

/** Serves the page from a separate process, because training blocks this one. */
export const startWatching = (): Worker<WatchOptions, string> => startWorker(import.meta.url);

serve<WatchOptions, string>(
  import.meta.url,
  async (options) => (await startWatchServer(options)).url,
);
