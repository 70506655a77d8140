/**
 * Evaluates runs into a folder that a notebook reads: from the weights within a time budget; what does not fit is taken from
 * recorded results, which count only when the hash of everything that they depend on is still the same.
 */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { configHash } from '../io/hash.js';
import type { CurvePoint } from '../evaluation/load.js';
import type { Measurement, QuestionResult } from '../evaluation/result.js';
import { packagePath } from '../io/paths.js';
import { writeFileSafely } from '../io/files.js';
import { startProgress, type Progress } from '../io/progress.js';
import { describeHardware, type BackendReport } from '../tensor/backend.js';
import {
  evaluationHash,
  type EvaluationRecord,
  readPart,
  readRecord,
  writeRecord,
} from './evaluation-run.js';
import { startEvaluationWorker } from './evaluation-worker.js';
import { commitOf } from '../io/provenance.js';
import { addUp, workSideBySide } from './renewed-worker.js';
import { adapterFolder, runName, type PolicyRun } from './runs.js';

/** Seeds that every trained method is trained with. */
export const SEEDS = [1, 2, 3];
/** Results that are kept beside the weights, for machines that have not the time. */
export const RECORDED = packagePath('data', 'results');
/** Results of this machine. */
export const EVALUATED = packagePath('runs', 'evaluation', 'records');
const NUM_WORKERS = 2;

export interface EvaluateRunsOptions {
  backend: BackendReport;
  /** Where results, curves and provenance go. */
  folder: string;
  /** Where each run's record is kept; experiments that share runs share it. */
  records?: string;
  /** Seconds after which recorded results stand in for what is not answered yet; Infinity evaluates all. */
  budgetSeconds: number;
  signal?: AbortSignal;
  /** Instead of a bar on stderr. @param fraction of all that is done */
  onProgress?: (fraction: number, note: string) => void;
}

type CollectOptions = EvaluateRunsOptions & Required<Pick<EvaluateRunsOptions, 'records'>>;

interface Outcome extends EvaluationRecord {
  isRecorded: boolean;
  /** Where a part was answered now: how many questions, and how many of them just as recorded. */
  answeredNow?: { numQuestions: number; numAsRecorded: number };
}

/** A bar on stderr: of what is to be answered, or of the budget where recorded results stand in for the rest. */
function startBar(
  numRuns: number,
  budgetSeconds: number,
): Progress & { report: (fraction: number, note: string) => void } {
  const start = performance.now();
  const total = Number.isFinite(budgetSeconds) ? Math.ceil(budgetSeconds) : 100 * numRuns;
  const bar = startProgress('Evaluating', total);
  const share = (fraction: number): number => {
    if (fraction === 1 || budgetSeconds === Infinity) return fraction;
    return Math.min(1, (performance.now() - start) / 1000 / budgetSeconds);
  };
  const report = (fraction: number, note: string): void =>
    bar.update(Math.floor(share(fraction) * total), note);
  return { ...bar, report };
}

/** Records of all runs, evaluated or recorded, in order. */
async function collectRecords(runs: readonly PolicyRun[], options: CollectOptions): Promise<Outcome[]> {
  const start = performance.now();
  const outcomes = new Array<Outcome>(runs.length);
  const hashes = await Promise.all(runs.map(evaluationHash));
  const recordedRuns = await Promise.all(runs.map((run, i) => readRecord(RECORDED, run, hashes[i])));
  const isComplete = recordedRuns.every((record) => record !== null);
  const bar = options.onProgress
    ? null
    : startBar(runs.length, isComplete ? options.budgetSeconds : Infinity);
  const report = addUp(
    runs.map(() => 1),
    (fraction, i) => (options.onProgress ?? bar!.report)(fraction, runName(runs[i])),
  );
  const pool = { numJobs: runs.length, numWorkers: NUM_WORKERS, signal: options.signal };
  await workSideBySide(startEvaluationWorker, pool, async (i, worker) => {
    const [run, hash, recorded] = [runs[i], hashes[i], recordedRuns[i]];
    const evaluated = (): Promise<EvaluationRecord | null> => readRecord(options.records, run, hash);
    const secondsLeft = options.budgetSeconds - (performance.now() - start) / 1000;
    if (!(await evaluated()) && (!recorded || secondsLeft > 0)) {
      const seconds = recorded && Number.isFinite(secondsLeft) ? secondsLeft : undefined;
      const job = { run, folder: options.records, backend: options.backend.name, seconds };
      await worker.work(job, (fraction) => report(i, fraction));
    }
    const record = await evaluated();
    outcomes[i] = record
      ? { ...record, isRecorded: false }
      : completed(recorded!, await readPart(options.records, run, hash));
    report(i, 1);
  }).finally(() => bar?.stop());
  return outcomes;
}

const isAlike = (a: Measurement, b: Measurement): boolean =>
  a.answer === b.answer && JSON.stringify(a.searches) === JSON.stringify(b.searches);

/** A recorded run with the answers of now where there are any. */
function completed(recorded: EvaluationRecord, part: readonly { measurements: Measurement[] }[]): Outcome {
  const now = new Map(part.flatMap(({ measurements }) => measurements.map((m) => [m.questionId, m])));
  const numAsRecorded = recorded.measurements.filter((m) => {
    const own = now.get(m.questionId);
    return own && isAlike(own, m);
  }).length;
  const measurements = recorded.measurements.map((m) => now.get(m.questionId) ?? m);
  const answeredNow = now.size > 0 ? { numQuestions: now.size, numAsRecorded } : undefined;
  return { ...recorded, measurements, isRecorded: true, answeredNow };
}

function describeRecorded({ run, backend, hash, measurements, answeredNow }: Outcome): string {
  const source = `${runName(run)} (recorded on ${backend}, hash ${hash}`;
  if (!answeredNow) return `${source})`;
  const { numQuestions, numAsRecorded } = answeredNow;
  return `${source}; ${numQuestions} of ${measurements.length} questions answered now, ${numAsRecorded} of them as recorded)`;
}

/** What a run's method is called in results and curves. */
type MethodOf = (run: PolicyRun) => string;

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
      const { model, seed } = run;
      curves.push({ method: methodOf(run), model, seed, step, ...metrics });
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
  const outcomes = await collectRecords(runs, options);
  const results = outcomes.flatMap(({ run, measurements }): QuestionResult[] => {
    const { model: startName, seed } = run;
    return measurements.map((measurement) => ({
      method: methodOf(run),
      model: startName,
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
    evaluatedNow: outcomes.filter(({ isRecorded }) => !isRecorded).map(({ run }) => runName(run)),
    takenFromRecords: outcomes.filter(({ isRecorded }) => isRecorded).map(describeRecorded),
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
