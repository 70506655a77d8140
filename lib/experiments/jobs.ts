/**
 * The one job runner: does what is not done yet, in processes side by side, and keeps
 * every result.
 */
import { join } from 'node:path';
import { sum } from 'd3-array';
import { provenanceHere } from '../io/provenance.js';
import { openJournal, writeArchives } from '../io/records.js';
import type { BackendReport } from '../tensor/backend.js';
import type { Computation, Experiment, Job } from './experiment.js';
import { NOTE, RECORDED, RESULTS, resultsOf, resultStore, type Done } from './results.js';
import { startJobWorker, type JobWorker, type Reply, type Task } from './worker.js';
import { runConcurrently } from '../io/processes.js';

export interface RunJobsOptions {
  backend: BackendReport;
  /** Where results go; default {@link RESULTS}. */
  folder?: string;
  /** Computes again what is there. */
  force?: boolean;
  /**
   * Seconds after which recorded results stand in for what is not computed yet, where
   * there are any; default Infinity.
   */
  budgetSeconds?: number;
  signal: AbortSignal;
  /** @param fraction of all that is to be done */
  onProgress: (fraction: number, note: string) => void;
  /** Starts a process; tests give their own. */
  start?: () => JobWorker;
}

/**
 * A worker is replaced when its memory has grown: the native backend keeps some for every
 * new shape of tensor. Resident memory, since tensors are not on the heap.
 */
const MOST_BYTES = 3e9;

/** The file in which an unfinished job keeps what it has. */
const journalFile = (folder: string, { key }: Job<unknown>): string =>
  join(folder, `${key}.part.jsonl`);

/**
 * Does the jobs of an experiment that have no result of this machine yet. A stopped
 * call goes on from the jobs, and within them from what they had kept.
 * @throws what a job throws, or the signal's reason
 */
export async function runJobs(experiment: Experiment, options: RunJobsOptions): Promise<void> {
  const { folder = RESULTS, force = false, budgetSeconds = Infinity, signal, onProgress } = options;
  const { computation } = experiment;
  if (!computation) return;
  const start = performance.now();
  const all = await resultsOf(experiment, folder);
  const open = all.filter(({ done }) => force || !done?.isOwn);
  const isBudgeted = open.every(({ done }) => done !== null);
  const fractions = open.map(() => 0);
  const total = Math.max(
    1e-9,
    sum(open, ({ job }) => job.seconds),
  );
  const report = (i: number, fraction: number): void => {
    fractions[i] = fraction;
    onProgress(sum(open, ({ job }, j) => fractions[j] * job.seconds) / total, open[i].job.key);
  };
  const { start: startWorker = () => startJobWorker(computation) } = options;
  await withProcesses({ signal, start: startWorker }, (send) =>
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
        if (value !== undefined) await writeResult(job, value, seconds, options);
        else if (done) await writeMerged(computation, done, folder);
      }
      report(i, 1);
    }),
  );
  signal.throwIfAborted();
}

async function writeResult(
  job: Job<unknown>,
  value: unknown,
  seconds: number,
  options: RunJobsOptions,
): Promise<void> {
  const provenance = {
    ...provenanceHere(),
    backend: options.backend.detail,
    seconds: Math.round(seconds),
  };
  await resultStore(options.folder).write(job.key, { hash: job.hash, provenance, value });
}

/**
 * A recorded result with what was computed anew in it, and a note that says so, where the
 * computation knows how.
 */
async function writeMerged(
  computation: Computation,
  { job, record }: Done<unknown, unknown>,
  folder: string,
): Promise<void> {
  if (!computation.merged) return;
  const { items } = await openJournal<unknown>(journalFile(folder, job), job.hash);
  const { value, note } = computation.merged(record.value, items);
  const provenance = { ...record.provenance, [NOTE]: note };
  await resultStore(folder).write(job.key, { hash: job.hash, provenance, value });
}

type Send = (task: Task, onFraction: (fraction: number) => void) => Promise<Reply>;

/**
 * Lets `work` send tasks to processes, which are started as they are needed, do one task
 * after the other, and stop at the end or the signal.
 */
async function withProcesses(
  { signal, start }: Pick<Required<RunJobsOptions>, 'signal' | 'start'>,
  work: (send: Send) => Promise<void>,
): Promise<void> {
  const started: JobWorker[] = [];
  const idle: JobWorker[] = [];
  const startOne = (): JobWorker => {
    const worker = start();
    started.push(worker);
    return worker;
  };
  const stop = (): void => started.forEach((worker) => worker.stop());
  signal.addEventListener('abort', stop, { once: true });
  try {
    await work(async (task, onFraction) => {
      const worker = idle.pop() ?? startOne();
      const reply = await (await worker.send(task, onFraction)).reply;
      if (reply.residentBytes < MOST_BYTES) idle.push(worker);
      else worker.stop();
      return reply;
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/**
 * Keeps the results of this machine beside the weights; those that are kept there
 * already stay.
 * @throws Error naming a job that has no result
 */
export async function recordResults(
  experiment: Experiment,
  { folder = RESULTS, into = RECORDED } = {},
): Promise<void> {
  const results = await resultsOf(experiment, folder, into);
  const missing = results.find(({ done }) => !done);
  if (missing)
    throw new Error(
      `Expected a result of ${missing.job.key}. Run "npx parallelsearch experiment ${experiment.name}".`,
    );
  const records = results.flatMap(({ job, done }) => {
    const { hash, provenance, value } = done!.record;
    return done!.isOwn ? [[job.key, { hash, provenance, value }] as const] : [];
  });
  await writeArchives(into, experiment.name, new Map(records));
}
