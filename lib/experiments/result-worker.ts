/**
 * Computes the result of an experiment in a process of its own: seconds of bootstrap
 * each.
 */
import { serve, startWorker, type Worker } from '../io/processes.js';
import { ensureResult } from './result.js';

/** The name of an experiment. */
type Request = string;

export const startResultWorker = (): Worker<Request, null> =>
  startWorker<Request, null>(import.meta.url);

serve<Request, null>(import.meta.url, async (name) => {
  await ensureResult(name);
  return null;
});
