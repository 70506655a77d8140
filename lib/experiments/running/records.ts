/** The records of jobs: where they are stored, and how experiments read them. */
import { sum } from 'd3-array';
import type { Measurement } from '../../evaluation/measurement.js';
import { packagePath } from '../../io/paths.js';
import { configHash, type Provenance } from '../../io/provenance.js';
import { recordStore, type ResultRecord } from '../../io/records.js';
import { readDraw } from '../../retrieval/small-world.js';
import type { Experiment, Job } from '../experiment.js';
import type { PolicyRun } from './policy-runs.js';

/** Records of this machine. */
export const RESULTS = packagePath('runs', 'results');
/** Records in the repository, for machines without the time to compute them. */
export const RECORDED = packagePath('data', 'results');

/** Provenance key of a record that was not, or only partly, computed here. */
export const NOTE = 'recorded';

export interface Done<Input, Value> {
  job: Job<Input>;
  record: ResultRecord<Value>;
  /** Whether all of it was computed on this machine. */
  isOwn: boolean;
}

/** The jobs of an experiment, each with its record, if any. */
export async function readRecords(
  { computation }: Experiment,
  folder = RESULTS,
  archives = RECORDED,
): Promise<{ job: Job<unknown>; done: Done<unknown, unknown> | null }[]> {
  const store = recordStore(folder, archives);
  const jobs = (await computation?.jobs()) ?? [];
  return Promise.all(
    jobs.map(async (job) => {
      const record = await store.read<unknown>(job.key, job.hash);
      if (!record) return { job, done: null };
      const isOwn = record.folder === folder && !(NOTE in record.provenance);
      return { job, done: { job, record, isOwn } };
    }),
  );
}

/** Whether every job of an experiment has a record; null without jobs. */
export async function hasRecords({ computation }: Experiment): Promise<boolean | null> {
  const store = recordStore(RESULTS, RECORDED);
  const jobs = (await computation?.jobs()) ?? [];
  const exist = await Promise.all(jobs.map(({ key, hash }) => store.has(key, hash)));
  return exist.length === 0 ? null : exist.every(Boolean);
}

/** The records of all jobs; null if one is missing, or without jobs. */
export async function findResults<Input, Value>(
  experiment: Experiment,
  folder?: string,
): Promise<Done<Input, Value>[] | null> {
  const records = await readRecords(experiment, folder);
  const done = records.flatMap((one) => (one.done ? [one.done as Done<Input, Value>] : []));
  return done.length > 0 && done.length === records.length ? done : null;
}

/** The records of all jobs. @throws Error with the command that computes missing ones */
export async function requireResults<Input, Value>(
  experiment: Experiment,
  folder = RESULTS,
  archives = RECORDED,
): Promise<Done<Input, Value>[]> {
  const records = await readRecords(experiment, folder, archives);
  // Without jobs, none of the runs has been trained.
  const missing =
    records.length === 0 ? experiment.name : records.find(({ done }) => done === null)?.job.key;
  if (missing)
    throw new Error(
      `Expected results of ${experiment.name}, but ${missing} has not been computed with these weights and data. Run "npx parallelsearch experiment ${experiment.name}".`,
    );
  return records.map(({ done }) => done as Done<Input, Value>);
}

/** What most jobs record. */
export interface Recorded<Answer = Measurement> {
  answers: Answer[];
}

/** Rows with `initSeed`, which early records call `warmUp`. */
export const withInitSeeds = <Row extends { initSeed?: number }>(
  rows: readonly (Row & { warmUp?: number })[],
): Row[] =>
  rows.map(
    ({ warmUp, ...row }) => ({ ...row, initSeed: row.initSeed ?? warmUp }) as unknown as Row,
  );

/** The single value of a provenance field, or all values if records differ. */
const distinct = (values: readonly unknown[]): unknown => {
  const all = [...new Set(values.filter((value) => value !== undefined).map(String))];
  return all.length > 1 ? all : all[0];
};

export function mergeProvenance(
  done: readonly Done<unknown, unknown>[],
  more: Provenance = {},
): Provenance {
  const field = (name: string): unknown =>
    distinct(done.map(({ record }) => record.provenance[name]));
  const seconds = sum(done, ({ record }) => Number(record.provenance.seconds ?? 0));
  return {
    ...more,
    commit: field('commit'),
    configHash: configHash({ jobs: done.map(({ job }) => job.hash) }),
    backend: field('backend'),
    hardware: field('hardware'),
    node: field('node'),
    durationSeconds: Math.round(seconds),
    computedHere: done.filter(({ isOwn }) => isOwn).map(({ job }) => job.key),
    takenFromRecords: done
      .filter(({ isOwn }) => !isOwn)
      .map(({ job, record }) => {
        const note = record.provenance[NOTE];
        return typeof note === 'string' ? `${job.key} (${note})` : job.key;
      }),
  };
}

/** Seeds of the initial models and of RL, for the provenance. */
export const listSeeds = (runs: readonly PolicyRun[]): Provenance => ({
  warmUps: [...new Set(runs.map(({ initSeed }) => initSeed))].sort(),
  seeds: [...new Set(runs.map(({ seed }) => seed))].sort(),
});

export async function readQuestionProvenance(): Promise<Provenance> {
  const draw = await readDraw();
  return draw === null
    ? { questions: 'dev, some of which selected the adapters: no test is drawn for these weights' }
    : { questions: 'test', testDrawnFrom: draw.commit };
}
