/**
 * Evaluates runs into a folder that a notebook reads: from the weights within a time budget; what does not fit is taken from
 * recorded results, which count only when the hash of everything that they depend on is still the same.
 */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { configHash } from '../config.js';
import type { CurvePoint } from '../evaluation/load.js';
import type { QuestionResult } from '../evaluation/result.js';
import { packagePath } from '../paths.js';
import { writeFileSafely } from '../policy/model-folder.js';
import { startProgress } from '../progress.js';
import { describeHardware, type BackendReport } from '../tensor/backend.js';
import {
  EVALUATION_BATCH_SIZE,
  evaluationHash,
  type EvaluationRecord,
  readRecord,
  writeRecord,
} from './evaluation-run.js';
import { startEvaluationWorker, type EvaluationJob } from './evaluation-worker.js';
import { commitOf } from './provenance.js';
import { comparableSeconds } from './timing.js';
import { adapterFolder, runName, type PolicyRun } from './world.js';

/** Seeds that every trained method is trained with. */
export const SEEDS = [1, 2, 3];
/** Results that are kept beside the weights, for machines that have not the time. */
export const RECORDED = packagePath('data', 'results');
/** Results of this machine. */
const EVALUATED = packagePath('runs', 'evaluation', 'records');
const NUM_WORKERS = 2;

export interface EvaluateRunsOptions {
  backend: BackendReport;
  /** Where results, curves and provenance go. */
  folder: string;
  /** Where each run's record is kept; experiments that share runs share it. */
  records?: string;
  /** Seconds after which no run is started whose recorded result can stand in; Infinity evaluates all. */
  budgetSeconds: number;
}

interface Outcome extends EvaluationRecord {
  isRecorded: boolean;
}

const MOST_WORKER_BYTES = 3e9;

/** A worker that is replaced when its memory has grown: the native backend keeps some for every new shape of tensor. */
function startRenewedWorker(): {
  evaluate: (job: EvaluationJob, onFraction: (fraction: number) => void) => Promise<void>;
  stop: () => void;
} {
  let worker = startEvaluationWorker();
  return {
    evaluate: async (job, onFraction) => {
      const bytes = await (await worker.send(job, onFraction)).reply;
      if (bytes < MOST_WORKER_BYTES) return;
      worker.stop();
      worker = startEvaluationWorker();
    },
    stop: () => worker.stop(),
  };
}

/** Records of all runs, evaluated or recorded, in order. */
async function collectRecords(
  runs: readonly PolicyRun[],
  options: Required<EvaluateRunsOptions>,
): Promise<Outcome[]> {
  const start = performance.now();
  const outcomes = new Array<Outcome>(runs.length);
  const hashes = await Promise.all(runs.map(evaluationHash));
  const fractions = runs.map(() => 0);
  const progress = startProgress('Evaluating', runs.length * 100);
  const report = (i: number, fraction: number): void => {
    fractions[i] = fraction;
    progress.update(Math.floor(100 * fractions.reduce((a, b) => a + b, 0)), runName(runs[i]));
  };
  let next = 0;
  const work = async (): Promise<void> => {
    const worker = startRenewedWorker();
    try {
      for (let i = next++; i < runs.length; i = next++) {
        const known = await knownRecord(runs[i], hashes[i], options, (performance.now() - start) / 1000);
        if (!known) {
          const job = { run: runs[i], folder: options.records, backend: options.backend.name };
          await worker.evaluate(job, (fraction) => report(i, fraction));
        }
        const record = known ?? (await readRecord(options.records, runs[i], hashes[i]));
        outcomes[i] = { isRecorded: false, ...record! };
        report(i, 1);
      }
    } finally {
      worker.stop();
    }
  };
  await Promise.all(Array.from({ length: NUM_WORKERS }, work));
  progress.stop();
  return outcomes;
}

/** What need not be computed: evaluated before, or recorded when the time is up. */
async function knownRecord(
  run: PolicyRun,
  hash: string,
  options: Required<EvaluateRunsOptions>,
  elapsedSeconds: number,
): Promise<Outcome | null> {
  const before = await readRecord(options.records, run, hash);
  if (before) return { ...before, isRecorded: false };
  if (elapsedSeconds < options.budgetSeconds) return null;
  const recorded = await readRecord(RECORDED, run, hash);
  return recorded && { ...recorded, isRecorded: true };
}

/** What a run's method is called in results and curves. */
type MethodOf = (run: PolicyRun) => string;

/** A training metric's name in TRL's style beside the one that the charts use. */
const CURVE_NAMES: Record<string, string> = {
  'rewards/outcome': 'reward/outcome',
  'rewards/decomposition': 'reward/decomposition',
  'rewards/search_count': 'reward/search_count',
  'rewards/format': 'reward/format',
  'completions/mean_length': 'response_length',
  clip_ratio: 'clip_fraction',
};

/** The training curves of the trained runs. */
async function readCurves(runs: readonly PolicyRun[], methodOf: MethodOf): Promise<CurvePoint[]> {
  const curves: CurvePoint[] = [];
  for (const run of runs) {
    const path = join(adapterFolder(run), 'metrics.jsonl');
    if (!existsSync(path)) continue;
    for await (const line of createInterface({ input: createReadStream(path) })) {
      const {
        step,
        alarms: _,
        ...metrics
      } = JSON.parse(line) as { step: number; alarms: string[] } & Record<string, number>;
      const renamed = Object.entries(metrics).map(
        ([name, value]) => [CURVE_NAMES[name] ?? name, value] as const,
      );
      const { start, seed } = run;
      curves.push({ method: methodOf(run), start, seed, step, ...Object.fromEntries(renamed) });
    }
  }
  return curves;
}

const toLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/**
 * Evaluates runs and writes `results.jsonl`, `curves.jsonl` and `provenance.json`.
 * @param methodOf names the method of a run in results and curves
 */
export async function evaluateRuns(
  runs: readonly PolicyRun[],
  { records = EVALUATED, ...rest }: EvaluateRunsOptions,
  methodOf: MethodOf = ({ method }) => method,
): Promise<void> {
  const options = { records, ...rest };
  const start = performance.now();
  const collected = await collectRecords(runs, options);
  const recordOf = ({ run, hash }: Outcome) => readRecord(RECORDED, run, hash);
  const { runs: outcomes, timing } = await comparableSeconds(collected, recordOf);
  const results = outcomes.flatMap(({ run, measurements }): QuestionResult[] => {
    const { start: startName, seed } = run;
    return measurements.map((measurement) => ({
      method: methodOf(run),
      start: startName,
      seed,
      ...measurement,
    }));
  });
  await writeFileSafely(join(options.folder, 'results.jsonl'), toLines(results));
  await writeFileSafely(join(options.folder, 'curves.jsonl'), toLines(await readCurves(runs, methodOf)));
  const provenance = {
    seeds: SEEDS,
    commit: commitOf(),
    configHash: configHash({ runs: outcomes.map(({ hash }) => hash) }),
    backend: options.backend.detail,
    hardware: describeHardware(),
    node: process.version,
    durationSeconds: Math.round((performance.now() - start) / 1000),
    timing: { ...timing, batchSize: EVALUATION_BATCH_SIZE, processes: NUM_WORKERS },
    evaluatedNow: outcomes.filter(({ isRecorded }) => !isRecorded).map(({ run }) => runName(run)),
    takenFromRecords: outcomes
      .filter(({ isRecorded }) => isRecorded)
      .map(({ run, backend, hash }) => `${runName(run)} (recorded on ${backend}, hash ${hash})`),
  };
  await writeFileSafely(join(options.folder, 'provenance.json'), `${JSON.stringify(provenance, null, 2)}\n`);
}

/** Keeps the records of evaluated runs beside the weights. */
export async function recordRuns(runs: readonly PolicyRun[], records = EVALUATED): Promise<void> {
  for (const run of runs) {
    const found = await readRecord(records, run, await evaluationHash(run));
    if (found) await writeRecord(RECORDED, found);
  }
}
