/**
 * The result of an experiment: one JSON file, read by notebooks, reports, index and
 * README. It is recomputed when recorded answers or the code change.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { completeMeasures } from '../../evaluation/metrics.js';
import {
  parseMeasurement,
  type Measurement,
  answersInCommon,
} from '../../evaluation/measurement.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { summariseResults, type SummaryOptions } from '../../evaluation/table.js';
import { jsonLine, readJsonLines, writeFileSafely } from '../../io/files.js';
import { packagePath, shortPath } from '../../io/paths.js';
import { runConcurrently, serve, startWorker, withWorkers } from '../../io/processes.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { recordFiles } from '../../io/records.js';
import { createResults, type ReportResults } from '../../report/display.js';
import type { ExperimentResult } from '../experiment.js';
import { EXPERIMENTS } from '../list.js';
import { RECORDED, RESULTS } from '../running/records.js';

const REPORTS = packagePath('reports');

/** The file of an experiment's result, computed from the records in `folder`. */
export const resultFile = (name: string, folder = RESULTS): string =>
  path.join(path.resolve(folder) === path.resolve(RESULTS) ? REPORTS : folder, `${name}.json`);

/**
 * Covers all recorded answers and the library's source. Weights need not be hashed,
 * because records are only read if the hash of their weights and data matches.
 */
async function resultHash(folder: string): Promise<string> {
  const stamp = packagePath('dist', '.source-hash');
  const code = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  const files = [...recordFiles(folder), ...recordFiles(RECORDED)];
  return configHash({ code, answers: await contentHash(files), files: files.length });
}

/** The result in a file, or null if there is none. */
export const readResult = (file: string): ExperimentResult | null =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ExperimentResult) : null;

/**
 * Computes the result of an experiment unless its file is up to date.
 * @param folder of this machine's records; the repository's records fill gaps
 * @throws RangeError for an unknown experiment, Error with the command that computes
 * missing answers
 */
export async function ensureResult(name: string, folder = RESULTS): Promise<ExperimentResult> {
  const experiment = EXPERIMENTS.find((one) => one.name === name && one.result);
  if (!experiment)
    throw new RangeError(
      `Expected an experiment with a result (${EXPERIMENTS.filter(({ result }) => result)
        .map((one) => one.name)
        .join(', ')}), but got ${name}.`,
    );
  const file = resultFile(name, folder);
  const hash = await resultHash(folder);
  const kept = readResult(file);
  if (kept?.hash === hash) return kept;
  const parts = await experiment.result!(folder);
  const result = { predictions: [], frames: {}, figures: {}, card: {}, ...parts, name, hash };
  await writeFileSafely(file, jsonLine(result));
  return result;
}

/**
 * Loads an experiment's result for notebooks: data frames (danfo.js), charts and tables.
 * Computes it first if it is missing or out of date.
 */
export const loadResult = async (name: string, folder = RESULTS): Promise<ReportResults> =>
  createResults(await ensureResult(name, folder));

async function readAnswers(file: string): Promise<Measurement[]> {
  const answers: Measurement[] = [];
  const expected = 'answers, as in a file of `evaluate --out`';
  for await (const answer of readJsonLines(file, parseMeasurement, expected)) answers.push(answer);
  return answers;
}

/**
 * The paper's tables for your own answers: figures with intervals per benchmark, subset
 * and metric over the questions that every file answers, and differences from the first
 * file. Metrics that need a dependency graph are left out if a question has none.
 *
 *   const files = { api: 'answers.jsonl', here: 'others.jsonl' };
 *   const { rows, contrasts } = await loadAnswerFiles(files);
 *
 * @throws Error naming the line that is not an answer, or if no question is answered by
 * all
 */
export async function loadAnswerFiles(
  files: Readonly<Record<string, string>>,
  options: SummaryOptions = {},
): Promise<ReportResults> {
  const names = Object.keys(files);
  const runs: Record<string, Measurement[]> = {};
  for (const name of names) runs[name] = await readAnswers(files[name]);
  const results = answersInCommon(runs);
  if (results.length === 0) {
    const counts = names
      .map((name) => `${shortPath(files[name])} has ${runs[name].length}`)
      .join(', ');
    throw new Error(`Expected a question that every file answers, but there is none (${counts}).`);
  }
  const benchmarks = new Set(results.map(({ benchmark }) => benchmark));
  const hasAll = Object.keys(BENCHMARK_TITLES).every((name) => benchmarks.has(name));
  const tidy = summariseResults(results, {
    measures: completeMeasures(results),
    // The average needs all seven benchmarks.
    filter: ({ benchmark }) => benchmark !== 'average' || hasAll,
    pairs: names.slice(1).map((name) => [name, names[0]] as const),
    ...options,
  });
  const summary = `${results.length} answers of ${names.join(', ')} to the same ${results.length / names.length} questions.`;
  return createResults({ ...tidy, finding: '', summary });
}

serve<string, null>(import.meta.url, async (name) => {
  await ensureResult(name);
  return null;
});

/**
 * Computes results of experiments in processes of their own, `width` at a time, because
 * bootstraps take seconds. A process keeps the records it has read.
 */
export function computeResults(
  names: readonly string[],
  options: { width: number; signal: AbortSignal; onResult: (name: string) => void },
): Promise<void> {
  const { width, signal, onResult } = options;
  // Rows are many short-lived objects: takes a quarter less time than Node's 16 MB.
  const heap = '--max-semi-space-size=64';
  const NODE_OPTIONS = [process.env.NODE_OPTIONS, heap].filter(Boolean).join(' ');
  const start = () => startWorker<string, null>(import.meta.url, { NODE_OPTIONS });
  return withWorkers({ signal, start }, (send) =>
    runConcurrently(names, width, async (name) => {
      signal.throwIfAborted();
      await send(name);
      onResult(name);
    }),
  );
}
