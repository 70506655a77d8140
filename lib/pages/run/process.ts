/** A process that serves a run's page: a step of training keeps its own process busy for seconds. */
import { serve, startWorker, type Worker } from '../../io/worker.js';
import { startWatchServer, type WatchOptions } from './server.js';

/** Where the page is. */
type Url = string;

export function startWatching(): Worker<WatchOptions, Url> {
  return startWorker(import.meta.url);
}

serve<WatchOptions, Url>(import.meta.url, async (options) => (await startWatchServer(options)).url);
