/**
 * The result of an experiment: one JSON file that notebook, report, index, README and
 * tests read. It is computed once from recorded answers and kept while those and the code
 * are the same.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { configHash, contentHash } from '../io/provenance.js';
import { packagePath } from '../io/paths.js';
import { recordFiles } from '../io/records.js';
import type { ReportResults } from '../report/display.js';
import { frameOf } from '../report/frame.js';
import type { ExperimentResult } from './experiment.js';
import { EXPERIMENTS } from './list.js';
import { RECORDED, RESULTS } from './results.js';

const REPORTS = packagePath('reports');

/** Where the result of an experiment with the records of `folder` is kept. */
export const resultFile = (name: string, folder = RESULTS): string =>
  path.join(path.resolve(folder) === path.resolve(RESULTS) ? REPORTS : folder, `${name}.json`);

/**
 * Changes with any recorded answer and with the library's source. Weights are left out:
 * answers are only taken while the hash of their weights and data is the same.
 */
async function resultHash(folder: string): Promise<string> {
  const stamp = packagePath('dist', '.source-hash');
  const code = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  const files = [...recordFiles(folder), ...recordFiles(RECORDED)];
  return configHash({ code, answers: await contentHash(files), files: files.length });
}

/** One row per line: small, and readable in a diff. */
function printResult({ rows, contrasts, frames, ...rest }: ExperimentResult): string {
  const lines = (items: readonly object[]): string =>
    `[${items.map((item) => `\n${JSON.stringify(item)}`).join(',')}\n]`;
  const named = Object.entries(frames).map(
    ([name, items]) => `${JSON.stringify(name)}: ${lines(items)}`,
  );
  const head = JSON.stringify(rest, null, 1).slice(0, -2);
  return `${head},\n"rows": ${lines(rows)},\n"contrasts": ${lines(contrasts)},\n"frames": {${named.join(',\n')}}}\n`;
}

/** The result in a file; null without one. */
export const readResult = (file: string): ExperimentResult | null =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ExperimentResult) : null;

/**
 * Computes the result of an experiment, unless its file is of the same answers and code.
 * @param folder of this machine's records; recorded answers of the repository fill gaps
 * @throws RangeError for an unknown experiment, Error naming the command that computes
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
 * The result of an experiment as notebooks use it: data frames (danfo.js), charts and
 * tables. Computes it first where it is missing or out of date.
 */
export async function loadResult(name: string, folder = RESULTS): Promise<ReportResults> {
  const { rows, contrasts, frames, figures, ...about } = await ensureResult(name, folder);
  const { finding, summary, predictions } = about;
  const provenance = { ...about.provenance, finding, summary, predictions };
  return {
    kind: 'results',
    summary,
    rows: frameOf(rows),
    contrasts: frameOf(contrasts),
    frames: Object.fromEntries(Object.entries(frames).map(([key, items]) => [key, frameOf(items)])),
    figures,
    tidy: { rows: [], contrasts: [], provenance },
  };
}
