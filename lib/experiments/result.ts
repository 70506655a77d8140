/**
 * The result of an experiment: one JSON file that notebooks, reports, index and README
 * read. It is recomputed when recorded answers or the code change.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { configHash, contentHash } from '../io/provenance.js';
import { packagePath } from '../io/paths.js';
import { recordFiles } from '../io/records.js';
import { serve, startWorker } from '../io/processes.js';
import { createResults, type ReportResults } from '../report/display.js';
import type { ExperimentResult } from './experiment.js';
import { EXPERIMENTS } from './list.js';
import { RECORDED, RESULTS } from './records.js';

const REPORTS = packagePath('reports');

/** The file of an experiment's result, computed from the records of `folder`. */
export const resultFile = (name: string, folder = RESULTS): string =>
  path.join(path.resolve(folder) === path.resolve(RESULTS) ? REPORTS : folder, `${name}.json`);

/**
 * Changes with any recorded answer and with the library's source. Weights need not be
 * hashed: records are only read if the hash of their weights and data matches.
 */
async function resultHash(folder: string): Promise<string> {
  const stamp = packagePath('dist', '.source-hash');
  const code = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  const files = [...recordFiles(folder), ...recordFiles(RECORDED)];
  return configHash({ code, answers: await contentHash(files), files: files.length });
}

/** JSON with one row per line: compact, with readable diffs. */
function printResult({ rows, contrasts, frames, ...rest }: ExperimentResult): string {
  const lines = (items: readonly object[]): string =>
    `[${items.map((item) => `\n${JSON.stringify(item)}`).join(',')}\n]`;
  const named = Object.entries(frames).map(
    ([name, items]) => `${JSON.stringify(name)}: ${lines(items)}`,
  );
  const head = JSON.stringify(rest, null, 1).slice(0, -2);
  return `${head},\n"rows": ${lines(rows)},\n"contrasts": ${lines(contrasts)},\n"frames": {${named.join(',\n')}}}\n`;
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
  const result = { predictions: [], frames: {}, figures: {}, ...parts, name, hash };
  await writeFileSafely(file, printResult(result));
  return result;
}

/**
 * The result of an experiment for notebooks: data frames (danfo.js), charts and tables.
 * Computes it first if it is missing or out of date.
 */
export const loadResult = async (name: string, folder = RESULTS): Promise<ReportResults> =>
  createResults(await ensureResult(name, folder));

serve<string, null>(import.meta.url, async (name) => {
  await ensureResult(name);
  return null;
});

/** Computes the result of an experiment in a new process: bootstraps take seconds. */
export async function computeResult(name: string): Promise<void> {
  const worker = startWorker<string, null>(import.meta.url);
  await (await worker.send(name)).reply.finally(() => worker.stop());
}
