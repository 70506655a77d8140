/**
 * The main comparison (Table 2): which runs there are, and their evaluation into the folder that the notebook reads. Runs
 * are evaluated from the weights within a time budget; what does not fit is taken from recorded results, which count only
 * when the hash of everything that they depend on is still the same.
 */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { configHash, METHODS, START_NAMES, type MethodName } from '../config.js';
import type { CurvePoint } from '../evaluation/load.js';
import type { QuestionResult } from '../evaluation/result.js';
import { packagePath } from '../paths.js';
import { writeFileSafely } from '../policy/model-folder.js';
import { startProgress } from '../progress.js';
import { describeHardware, type BackendReport } from '../tensor/backend.js';
import { evaluationHash, readRecord, type EvaluationRecord } from './evaluation-run.js';
import { startEvaluationWorker } from './evaluation-worker.js';
import { commitOf } from './provenance.js';
import { adapterFolder, type PolicyRun } from './world.js';

export const SEEDS = [1, 2, 3];
export const RECORDED = packagePath('data', 'results');
const NUM_WORKERS = 2;

/** Every run of the main comparison, the most telling first. An untrained policy answers greedily: one seed says it all. */
export function mainRuns(): PolicyRun[] {
  const order: MethodName[] = ['parallelsearch', 'search-r1', 'r1', 'search-r1-parallel-prompt'];
  const runsOf = (method: MethodName, seed: number): PolicyRun[] =>
    START_NAMES.map((start) => ({ method, start, seed }));
  const trained = order.filter((method) => METHODS[method].trainedBy !== null);
  const untrained = order.filter((method) => METHODS[method].trainedBy === null);
  const [main, rest] = [trained.slice(0, 2), trained.slice(2)];
  const seeded = (methods: MethodName[]): PolicyRun[] =>
    SEEDS.flatMap((seed) => methods.flatMap((method) => runsOf(method, seed)));
  return [...seeded(main), ...untrained.flatMap((method) => runsOf(method, SEEDS[0])), ...seeded(rest)];
}

export interface EvaluateMainOptions {
  backend: BackendReport;
  /** Where records, results, curves and provenance go. */
  folder: string;
  /** Seconds after which no run is started whose recorded result can stand in; Infinity evaluates all. */
  budgetSeconds: number;
}

interface Outcome extends EvaluationRecord {
  isRecorded: boolean;
}

/** Records of all runs, evaluated or recorded, in order. */
async function collectRecords(runs: readonly PolicyRun[], options: EvaluateMainOptions): Promise<Outcome[]> {
  const start = performance.now();
  const outcomes = new Array<Outcome>(runs.length);
  const hashes = await Promise.all(runs.map(evaluationHash));
  const fractions = runs.map(() => 0);
  const progress = startProgress('Evaluating', runs.length * 100);
  const report = (i: number, fraction: number): void => {
    fractions[i] = fraction;
    progress.update(
      Math.floor(100 * fractions.reduce((a, b) => a + b, 0)),
      `${runs[i].method}, ${runs[i].start}`,
    );
  };
  let next = 0;
  const work = async (): Promise<void> => {
    const worker = startEvaluationWorker();
    try {
      for (let i = next++; i < runs.length; i = next++) {
        const known = await knownRecord(runs[i], hashes[i], options, (performance.now() - start) / 1000);
        if (!known) {
          const job = { run: runs[i], folder: options.folder, backend: options.backend.name };
          await (
            await worker.send(job, (fraction) => report(i, fraction))
          ).reply;
        }
        const record = known ?? (await readRecord(options.folder, runs[i], hashes[i]));
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
  options: EvaluateMainOptions,
  elapsedSeconds: number,
): Promise<Outcome | null> {
  const before = await readRecord(options.folder, run, hash);
  if (before) return { ...before, isRecorded: false };
  if (elapsedSeconds < options.budgetSeconds) return null;
  const recorded = await readRecord(RECORDED, run, hash);
  return recorded && { ...recorded, isRecorded: true };
}

const nameOf = ({ method, start, seed }: PolicyRun): string => `${method}, ${start}, seed ${seed}`;

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
async function readCurves(): Promise<CurvePoint[]> {
  const curves: CurvePoint[] = [];
  for (const { method, start, seed } of mainRuns()) {
    const path = join(adapterFolder({ method, start, seed }), 'metrics.jsonl');
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
      curves.push({ method, start, seed, step, ...Object.fromEntries(renamed) });
    }
  }
  return curves;
}

const toLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Evaluates the main comparison and writes `results.jsonl`, `curves.jsonl` and `provenance.json`. */
export async function evaluateMainResults(options: EvaluateMainOptions): Promise<void> {
  const start = performance.now();
  const runs = mainRuns();
  const outcomes = await collectRecords(runs, options);
  const results = outcomes.flatMap(({ run, measurements }): QuestionResult[] =>
    measurements.map((measurement) => ({ ...run, ...measurement })),
  );
  await writeFileSafely(join(options.folder, 'results.jsonl'), toLines(results));
  await writeFileSafely(join(options.folder, 'curves.jsonl'), toLines(await readCurves()));
  const provenance = {
    seeds: SEEDS,
    commit: commitOf(),
    configHash: configHash({ runs: outcomes.map(({ hash }) => hash) }),
    backend: options.backend.detail,
    hardware: describeHardware(),
    node: process.version,
    durationSeconds: Math.round((performance.now() - start) / 1000),
    evaluatedNow: outcomes.filter(({ isRecorded }) => !isRecorded).map(({ run }) => nameOf(run)),
    takenFromRecords: outcomes
      .filter(({ isRecorded }) => isRecorded)
      .map(({ run, backend, hash }) => `${nameOf(run)} (recorded on ${backend}, hash ${hash})`),
  };
  await writeFileSafely(join(options.folder, 'provenance.json'), `${JSON.stringify(provenance, null, 2)}\n`);
}
