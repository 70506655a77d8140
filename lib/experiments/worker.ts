/** Processes that do jobs: tfjs uses one core for a small policy, so each has its own. */
import { openJournal } from '../io/records.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import type { Computation } from './experiment.js';
import { EXPERIMENTS } from './list.js';
import { loadWorld, type World } from '../retrieval/world.js';
import { serve, startWorker, type Worker } from '../io/processes.js';

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
 * oneDNN prepares and keeps something for every new shape of tensor, and a decoder
 * makes some at each token: a small policy is slower with it. A language model's products
 * are large, and up to five times faster.
 */
const environment = ({ threads = 1, oneDnn = false }: Pick<Computation, 'threads' | 'oneDnn'>) => ({
  TF_NUM_INTRAOP_THREADS: String(threads),
  ...(!oneDnn && { TF_ENABLE_ONEDNN_OPTS: '0' }),
});

export type JobWorker = Worker<Task, Reply, Fraction>;
export const startJobWorker = (
  computation: Pick<Computation, 'threads' | 'oneDnn'> = {},
): JobWorker => startWorker(import.meta.url, environment(computation));

let world: World | null = null;

serve<Task, Reply, Fraction>(import.meta.url, async (task, onFraction) => {
  const { computation } = EXPERIMENTS.find(({ name }) => name === task.experiment)!;
  if (!world) await useBackend(task.backend);
  world ??= await loadWorld();
  const journal = await openJournal<unknown>(task.journal, task.hash);
  const start = performance.now();
  const value = await computation!.work(task.input, {
    backend: task.backend,
    world,
    onFraction,
    kept: journal.items,
    keep: (item) => journal.append(item),
    until: start + (task.seconds ?? Infinity) * 1000,
  });
  if (value !== undefined) await journal.close();
  return {
    value,
    seconds: (performance.now() - start) / 1000,
    residentBytes: process.memoryUsage().rss,
  };
});
