/** Serves the pages of a folder of runs, to this machine only. */
import type { LocalServer } from '../../io/local-server.js';
import { markup, markupHtml } from '../../report/markup.js';
import { compareHtml, readComparison } from './comparison-page.js';
import { withNavigation } from '../page.js';
import { readDescription, readRun } from '../../training/run-folder.js';
import { runPageHtml } from './run-page.js';
import { contentRoute, rolloutsRoute, servePages } from './run-server.js';
import { findRuns, runsContent, runsPageHtml, runsVersion } from './runs-page.js';

/** Adds a link to the page of all runs. */
const withLink = (html: string): string =>
  withNavigation(html, markup('a', { href: './' }, 'All runs'));

/**
 * Starts listening on a port (0: a free one). Runs that start later are shown, too.
 * @throws Error if there is no run yet, or if the port is taken
 */
export async function startRunsServer(root: string, port = 0): Promise<LocalServer> {
  findRuns(root);
  /** The folder of the run that a request names, and its page's query prefix. */
  const find = (query: URLSearchParams) => {
    const name = query.get('run') ?? '';
    const folder = findRuns(root).get(name);
    return folder === undefined ? null : { folder, requests: `run=${encodeURIComponent(name)}&` };
  };
  return servePages(port, {
    '/': () => runsPageHtml(root, { isLive: true }),
    '/content': async (query) => {
      const run = find(query);
      const description = run && (await readDescription(run.folder));
      if (run && description) return contentRoute(description, run.folder, run.requests)(query);
      if (query.has('run')) return undefined;
      const isCurrent = query.get('version') === (await runsVersion(findRuns(root)));
      return isCurrent ? null : markupHtml(await runsContent(root, { isLive: true }));
    },
    '/run': async (query) => {
      const run = find(query);
      const description = run && (await readDescription(run.folder));
      if (!run || !description) return undefined;
      const live = { isLive: true, query: run.requests };
      return withLink(await runPageHtml(description, await readRun(run.folder), live));
    },
    '/rollouts': async (query) => {
      const run = find(query);
      return run ? rolloutsRoute(run.folder)(query) : undefined;
    },
    '/compare': async (query) => {
      const folders = findRuns(root);
      const sources = query.getAll('run').flatMap((name) => {
        const path = folders.get(name);
        return path === undefined ? [] : { name, path };
      });
      if (sources.length === 0) return undefined;
      const { runs, ...asked } = await readComparison(sources);
      return withLink(await compareHtml(runs, asked));
    },
  });
}
