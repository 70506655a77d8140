/** Runs the open jobs of an experiment in worker processes and records their results. */
import { join } from 'node:path';
import { sum } from 'd3-array';
import {
  runConcurrently,
  serve,
  startWorker,
  withWorkers,
  type Worker,
} from '../../io/processes.js';
import { provenanceHere } from '../../io/provenance.js';
import { openJournal, recordStore } from '../../io/records.js';
import { loadWorld, type World } from '../../retrieval/small-world.js';
import { useBackend, type BackendName, type BackendReport } from '../../tensor/backend.js';
import type { Computation, Experiment, Job } from '../experiment.js';
import { EXPERIMENTS } from '../list.js';
import { NOTE, RESULTS, readRecords, type Done } from './records.js';

export interface RunJobsOptions {
  backend: BackendReport;
  /** Folder of the records. Default: {@link RESULTS}. */
  folder?: string;
  force?: boolean;
  /**
   * If every job has a record, re-evaluates for this long and keeps the other records.
   * Default: Infinity.
   */
  budgetSeconds?: number;
  signal: AbortSignal;
  /** @param fraction of all open jobs */
  onProgress: (fraction: number, note: string) => void;
  /** Starts a worker; tests replace it. */
  start?: () => JobWorker;
}

/**
 * A worker with more resident memory is replaced: the native backend keeps some memory
 * for every new tensor shape, outside the heap.
 */
const MAX_RESIDENT_BYTES = 3e9;

const journalFile = (folder: string, { key }: Job<unknown>): string =>
  join(folder, `${key}.part.jsonl`);

/**
 * Runs the jobs without a record of this machine. Resumes if interrupted, even within a
 * job.
 * @returns whether all records are this machine's now
 * @throws what a job throws, or the signal's reason
 */
export async function runJobs(experiment: Experiment, options: RunJobsOptions): Promise<boolean> {
  const { folder = RESULTS, force = false, budgetSeconds = Infinity, signal, onProgress } = options;
  const { computation } = experiment;
  if (!computation) return true;
  const start = performance.now();
  const all = await readRecords(experiment, folder);
  const open = all.filter(({ done }) => force || !done?.isOwn);
  const isBudgeted = open.every(({ done }) => done !== null);
  const fractions = open.map(() => 0);
  let numWhole = 0;
  const total = Math.max(
    1e-9,
    sum(open, ({ job }) => job.seconds),
  );
  const report = (i: number, fraction: number): void => {
    fractions[i] = fraction;
    onProgress(sum(open, ({ job }, j) => fractions[j] * job.seconds) / total, open[i].job.key);
  };
  const { start: startOne = () => startJobWorker(computation) } = options;
  const isReusable = ({ residentBytes }: Reply): boolean => residentBytes < MAX_RESIDENT_BYTES;
  await withWorkers({ signal, start: startOne, isReusable }, (send) =>
    runConcurrently([...open.keys()], computation.processes ?? 2, async (i) => {
      signal.throwIfAborted();
      const { job, done } = open[i];
      const left = isBudgeted ? budgetSeconds - (performance.now() - start) / 1000 : Infinity;
      if (left > 0) {
        const task: Task = {
          experiment: experiment.name,
          input: job.input,
          hash: job.hash,
          journal: journalFile(folder, job),
          backend: options.backend.name,
          ...(Number.isFinite(left) && { seconds: left }),
        };
        const { value, seconds } = await send(task, (fraction) => report(i, fraction));
        if (value !== undefined) {
          await writeResult(job, value, seconds, options);
          numWhole++;
        } else if (done) await writeMerged(computation, done, folder);
      }
      report(i, 1);
    }),
  );
  signal.throwIfAborted();
  return numWhole === open.length;
}

async function writeResult(
  { key, hash }: Job<unknown>,
  value: unknown,
  seconds: number,
  { backend, folder = RESULTS }: RunJobsOptions,
): Promise<void> {
  const timing = { backend: backend.detail, seconds: Math.round(seconds) };
  const provenance = { ...provenanceHere(), ...timing };
  await recordStore(folder).write(key, { hash, provenance, value });
}

/** Merges recomputed answers into a record, with a note, if the computation can merge. */
async function writeMerged(
  computation: Computation,
  { job, record }: Done<unknown, unknown>,
  folder: string,
): Promise<void> {
  if (!computation.merge) return;
  const { items } = await openJournal<unknown>(journalFile(folder, job), job.hash);
  const { value, note } = computation.merge(record.value, items);
  const provenance = { ...record.provenance, [NOTE]: note };
  await recordStore(folder).write(job.key, { hash: job.hash, provenance, value });
}

export interface Task {
  experiment: string;
  input: unknown;
  hash: string;
  /** File that keeps the finished part. */
  journal: string;
  backend: BackendName;
  /** Seconds after which the worker stops and keeps what is done. Default: no limit. */
  seconds?: number;
}

export interface Reply {
  /** Undefined if time ran out. */
  value: unknown;
  seconds: number;
  residentBytes: number;
}

/** A worker process: tfjs uses one core for a small policy. It reports fractions. */
export type JobWorker = Worker<Task, Reply, number>;

const startJobWorker = ({ threads = 1 }: Computation): JobWorker =>
  startWorker(import.meta.url, { TF_NUM_INTRAOP_THREADS: String(threads) });

let world: World | null = null;

serve<Task, Reply, number>(import.meta.url, async (task, onFraction) => {
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
  const seconds = (performance.now() - start) / 1000;
  return { value, seconds, residentBytes: process.memoryUsage().rss };
});
