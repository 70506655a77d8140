/** Reports as pages, with their titles, descriptions and figures. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { sort } from 'd3-array';
import type { ExperimentResult } from '../../experiments/experiment.js';
import { EXPERIMENTS } from '../../experiments/list.js';
import { readResult } from '../../experiments/results/result-file.js';
import { writeFileSafely } from '../../io/files.js';
import { isClone } from '../../io/paths.js';
import { runNotebook, type RunOptions } from '../../notebook/runner.js';
import { storeOutputs } from '../../notebook/stored-outputs.js';
import type { Content } from '../../report/markup.js';
import type { Artefact } from '../../report/publication.js';
import { notebookFigures, reportHtml } from './page.js';

/** A page in the index. */
export interface PageInfo {
  /** The page's file without ending. */
  name: string;
  title: string;
  description: string;
  /** A small picture for the index. */
  picture?: Content;
}

/** Stored next to a report's page, for the index and `parallelsearch export`. */
export interface ReportInfo extends PageInfo {
  /** Its charts and tables, in order. */
  figures: Artefact[];
}

const INFO = '.page.json';

/** How to make missing reports; the npm package cannot. */
export const makeReports = (): string =>
  isClone()
    ? 'Run `npm start`, or set --reports.'
    : 'A clone of the repository makes reports (`npm start`): set --reports, or name an executed notebook of yours.';

/** @throws Error for a missing report */
export function readReportInfo(folder: string, name: string): ReportInfo {
  const file = path.join(folder, `${name}${INFO}`);
  if (!existsSync(file))
    throw new Error(`Expected a report ${name} in ${folder}, but there is none. ${makeReports()}`);
  return JSON.parse(readFileSync(file, 'utf8')) as ReportInfo;
}

/** The reports in a folder, in the order of their experiments. */
export function listReports(folder: string): ReportInfo[] {
  const rank = (name: string): number => EXPERIMENTS.findIndex((one) => one.name === name);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const infos = files
    .filter((file) => file.endsWith(INFO))
    .map((file) => readReportInfo(folder, file.slice(0, -INFO.length)));
  return sort(infos, ({ name }) => rank(name) + (rank(name) < 0 ? EXPERIMENTS.length + 1 : 0));
}

interface ExportOptions extends Omit<RunOptions, 'output' | 'keepGoing'> {
  notebook: string;
  /** The report's files without ending, such as `main-results`. */
  name: string;
  outDir: string;
  /** Whether to store the outputs in the notebook, too, if they are not current. */
  store?: boolean;
}

/** A result as notebooks show it: without when and where it was computed. */
export function shownResult(folder: string, name: string): object | undefined {
  const result = readResult(path.join(folder, `${name}.json`));
  if (!result) return undefined;
  const { hash: _, provenance: __, ...shown } = result;
  return shown;
}

/**
 * Runs a notebook in the real kernel, writes its page `NAME.html` into `outDir`, and
 * returns the file name. If a cell fails, it rejects and changes no file.
 */
export async function exportReport(options: ExportOptions): Promise<string> {
  const { notebook: file, name, outDir, store = false, ...runOptions } = options;
  const { notebook } = await runNotebook(file, runOptions);
  const { html, title, description } = await reportHtml(notebook, path.dirname(file));
  const info: ReportInfo = { name, title, description, figures: notebookFigures(notebook) };
  const page = path.join(outDir, `${name}.html`);
  await writeFileSafely(path.join(outDir, `${name}${INFO}`), JSON.stringify(info));
  await writeFileSafely(page, html);
  if (store) await storeOutputs(file, notebook, shownResult(outDir, name));
  return page;
}

/** The results in a folder of reports, by experiment. */
export const readResults = (folder: string): Map<string, ExperimentResult> =>
  new Map(
    EXPERIMENTS.flatMap(({ name }) => {
      const result = readResult(path.join(folder, `${name}.json`));
      return result ? [[name, result] as const] : [];
    }),
  );
