/** A worker that is replaced when its memory has grown: the native backend keeps some for every new shape of tensor. */
import type { Worker } from '../io/worker.js';

/** What every job says of the process that did it. */
export interface WorkerMemory {
  /** Resident memory after the job. */
  residentBytes: number;
}

export interface RenewedWorker<Job, Reply> {
  /** One job at a time. Rejects when the worker is stopped. */
  work: (job: Job, onFraction?: (fraction: number) => void) => Promise<Reply>;
  stop: () => void;
}

const MOST_BYTES = 3e9;

/** Keeps one worker at a time; `start` makes the first and every later one. */
export function startRenewedWorker<Job, Reply extends WorkerMemory>(
  start: () => Worker<Job, Reply, number>,
): RenewedWorker<Job, Reply> {
  let worker = start();
  return {
    work: async (job, onFraction) => {
      const reply = await (await worker.send(job, onFraction)).reply;
      if (reply.residentBytes >= MOST_BYTES) {
        worker.stop();
        worker = start();
      }
      return reply;
    },
    stop: () => worker.stop(),
  };
}

/**
 * Does jobs side by side, each worker one after another, and stops the workers at the end.
 * @param work one job, by its place in the list; it asks the worker for what is not known yet
 * @throws what a job throws, or the signal's reason
 */
export async function workSideBySide<Job, Reply extends WorkerMemory>(
  start: () => Worker<Job, Reply, number>,
  { numJobs, numWorkers, signal }: { numJobs: number; numWorkers: number; signal?: AbortSignal },
  work: (i: number, worker: RenewedWorker<Job, Reply>) => Promise<void>,
): Promise<void> {
  let next = 0;
  const goThrough = async (): Promise<void> => {
    const worker = startRenewedWorker(start);
    signal?.addEventListener('abort', worker.stop, { once: true });
    try {
      for (let i = next++; i < numJobs; i = next++) {
        signal?.throwIfAborted();
        await work(i, worker);
      }
    } catch (error) {
      next = numJobs;
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', worker.stop);
      worker.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(numWorkers, numJobs) }, goThrough));
}

/**
 * Adds up how far jobs side by side have come.
 * @param weights what share each has in the whole, in any unit
 * @param onProgress gets the share that is done, and the place of the job that went on
 * @returns to be told of each job how much of it is done
 */
export function addUp(
  weights: readonly number[],
  onProgress: (fraction: number, i: number) => void,
): (i: number, fraction: number) => void {
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const done = weights.map(() => 0);
  return (i, fraction) => {
    done[i] = fraction * weights[i];
    onProgress(sum(done) / sum(weights), i);
  };
}
