/** Processes that do jobs: tfjs uses one core for a small policy, so each has its own. */
import { serve, startWorker, type Worker } from '../io/worker.js';
import { openJournal } from '../io/records.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { EXPERIMENTS } from './list.js';
import { loadWorld, type World } from './world.js';

/** A job of an experiment, as its process is told. */
export interface Task {
  experiment: string;
  input: unknown;
  hash: string;
  /** Where what is not finished is kept. */
  journal: string;
  backend: BackendName;
  /** Seconds after which what is done is kept and the rest left; absent: all is done. */
  seconds?: number;
}

export interface Reply {
  /** Undefined where time ran out. */
  value: unknown;
  seconds: number;
  /** Resident memory after the job. */
  residentBytes: number;
}

/** Share of a job that is done. */
type Fraction = number;

/**
 * A small policy, which has one thread, is without oneDNN, which prepares and keeps something for every new shape of tensor: a decoder makes
 * some at each token. A language model's products are large, and up to five times faster with it.
 */
const environment = (threads: number) => ({
  TF_NUM_INTRAOP_THREADS: String(threads),
  ...(threads === 1 && { TF_ENABLE_ONEDNN_OPTS: '0' }),
});

export type JobWorker = Worker<Task, Reply, Fraction>;
export const startJobWorker = (threads = 1): JobWorker => startWorker(import.meta.url, environment(threads));

let world: World | null = null;

serve<Task, Reply, Fraction>(import.meta.url, async (task, onFraction) => {
  const { computation } = EXPERIMENTS.find(({ name }) => name === task.experiment)!;
  if (!world) await useBackend(task.backend);
  world ??= await loadWorld();
  const journal = await openJournal<unknown>(task.journal, task.hash);
  const start = performance.now();
  const value = await computation!.work(task.input, {
    ...{
      backend: task.backend,
      world,
      onFraction,
      kept: journal.items,
      keep: (item) => journal.append(item),
    },
    until: start + (task.seconds ?? Infinity) * 1000,
  });
  if (value !== undefined) await journal.close();
  return { value, seconds: (performance.now() - start) / 1000, residentBytes: process.memoryUsage().rss };
});
