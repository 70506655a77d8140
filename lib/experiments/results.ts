/** Where results of experiments lie, and how reports read them. */
import { packagePath } from '../io/paths.js';
import { type Provenance, configHash } from '../io/provenance.js';
import { recordStore, type RecordStore, type ResultRecord } from '../io/records.js';
import type { Experiment, Job } from './experiment.js';

/** Results of this machine. */
export const RESULTS = packagePath('runs', 'results');
/**
 * Results that are kept beside the weights in archives, for machines that have not the
 * time.
 */
export const RECORDED = packagePath('data', 'results');

/** A note in the provenance of a result that was not computed here, or not all of it. */
export const NOTE = 'recorded';

/** Results of this machine, then recorded ones. */
export const resultStore = (folder = RESULTS, archives = RECORDED): RecordStore =>
  recordStore(folder, archives);

/** A job with its result. */
export interface Done<Input, Value> {
  job: Job<Input>;
  record: ResultRecord<Value>;
  /** Whether all of it was computed on this machine. */
  isOwn: boolean;
}

/** A job's result, or null where there is none. */
export async function readResult<Input, Value>(
  job: Job<Input>,
  folder = RESULTS,
  archives = RECORDED,
): Promise<Done<Input, Value> | null> {
  const record = await resultStore(folder, archives).read<Value>(job.key, job.hash);
  return record && { job, record, isOwn: record.folder === folder && !(NOTE in record.provenance) };
}

/** The jobs of an experiment with what is known of each. */
export async function resultsOf(
  { computation }: Experiment,
  folder = RESULTS,
  archives = RECORDED,
): Promise<{ job: Job<unknown>; done: Done<unknown, unknown> | null }[]> {
  const jobs = (await computation?.jobs()) ?? [];
  return Promise.all(
    jobs.map(async (job) => ({ job, done: await readResult(job, folder, archives) })),
  );
}

/**
 * The results of all jobs, in their order.
 * @throws Error naming the command that computes them, where one is missing
 */
export async function requireResults<Input, Value>(
  experiment: Experiment,
  folder = RESULTS,
  archives = RECORDED,
): Promise<Done<Input, Value>[]> {
  const results = await resultsOf(experiment, folder, archives);
  // Without jobs, nothing of it has been trained.
  const missing =
    results.length === 0 ? experiment.name : results.find(({ done }) => done === null)?.job.key;
  if (missing) {
    throw new Error(
      `Expected results of ${experiment.name}, but ${missing} has not been computed with these weights and data. Run "npx parallelsearch experiment ${experiment.name}".`,
    );
  }
  return results.map(({ done }) => done as Done<Input, Value>);
}

const distinct = (values: readonly unknown[]): unknown => {
  const all = [...new Set(values.filter((value) => value !== undefined).map(String))];
  return all.length > 1 ? all : all[0];
};

/** Where the numbers of several results come from, as one note. */
export function provenanceOf(
  done: readonly Done<unknown, unknown>[],
  more: Provenance = {},
): Provenance {
  const of = (name: string): unknown => distinct(done.map(({ record }) => record.provenance[name]));
  const recorded = done.filter(({ isOwn }) => !isOwn);
  const seconds = done.reduce((sum, { record }) => sum + Number(record.provenance.seconds ?? 0), 0);
  return {
    ...more,
    commit: of('commit'),
    configHash: configHash({ jobs: done.map(({ job }) => job.hash) }),
    backend: of('backend'),
    hardware: of('hardware'),
    node: of('node'),
    durationSeconds: Math.round(seconds),
    computedHere: done.filter(({ isOwn }) => isOwn).map(({ job }) => job.key),
    takenFromRecords: recorded.map(({ job, record }) => {
      const note = record.provenance[NOTE];
      return typeof note === 'string' ? `${job.key} (${note})` : job.key;
    }),
  };
}
