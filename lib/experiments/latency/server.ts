/**
 * A process that serves BM25 over the small world, so that asking and searching do not
 * share a thread.
 */
import { startRetrievalServer } from '../../retrieval/server.js';
import { serve, startWorker, type Worker } from '../../io/worker.js';
import { loadWorld, type World } from '../world.js';

/** A server to open beside those that are open already. */
export interface ServerJob {
  /** Artificial waiting time of each request, milliseconds. */
  delayMs: number;
}
/** Where to post. */
type Url = string;

export function startLatencyServer(): Worker<ServerJob, Url> {
  return startWorker(import.meta.url);
}

let world: World | null = null;
serve<ServerJob, Url>(import.meta.url, async ({ delayMs }) => {
  world ??= await loadWorld();
  return (await startRetrievalServer(world.retriever, { delayMs })).url;
});
