/**
 * The result of an experiment: one JSON file, read by notebooks, reports, index and
 * README. It is recomputed when recorded answers or the code change.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { jsonLine, writeFileSafely } from '../../io/files.js';
import { packagePath } from '../../io/paths.js';
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
async function ensureResult(name: string, folder = RESULTS): Promise<ExperimentResult> {
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
