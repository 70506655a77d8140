/** Reports as files: the page, its numbers beside it, and the index of all of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { TidyTable } from '../evaluation/table.js';
import { writeFileSafely } from '../io/files.js';
import { runNotebook, type RunOptions } from '../notebook/runner.js';
import { escapeHtml } from '../html/markup.js';
import { reportHtml } from '../report/html.js';
import { claimsHtml, CLAIMS_STYLES } from './claims-page.js';
import { pageHtml } from '../html/page.js';
import { EXPERIMENTS } from './list.js';
import type { Prediction } from './report.js';
import { judgeClaims } from './verdicts.js';

export interface ExportOptions extends Omit<RunOptions, 'output' | 'keepGoing'> {
  /** The notebook to run. */
  notebook: string;
  /** The files' name without ending, such as `main-results`. */
  name: string;
  outDir: string;
  /** Where the executed notebook goes, if anywhere. */
  executed?: string;
}

export interface ExportedReport {
  html: string;
  /** The tidy numbers, or null when the notebook has shown none. */
  json: string | null;
  index: string;
  elapsedMs: number;
}

/**
 * Runs a notebook through the real kernel and writes `NAME.html`, `NAME.json` (the tidy table that it has shown) and
 * `index.html` into `outDir`. When a cell fails it rejects and leaves all files as they were.
 */
export async function exportReport(options: ExportOptions): Promise<ExportedReport> {
  const { notebook: file, name, outDir, executed, ...runOptions } = options;
  const { notebook, elapsedMs } = await runNotebook(file, { ...runOptions, output: executed });
  const report = await reportHtml(notebook);
  const html = path.join(outDir, `${name}.html`);
  const json = path.join(outDir, `${name}.json`);
  if (report.tidy) await writeFileSafely(json, tidyJson(report.tidy));
  await writeFileSafely(html, report.html);
  return { html, json: report.tidy ? json : null, index: await writeIndex(outDir), elapsedMs };
}

/** JSON with one row a line: small, and readable in a comparison of two versions. */
export function tidyJson(tidy: TidyTable): string {
  const lines = (items: readonly object[]): string =>
    items.map((item) => `\n${JSON.stringify(item)}`).join(',');
  const provenance = JSON.stringify(tidy.provenance, null, 1);
  return `{"rows": [${lines(tidy.rows)}\n],\n"contrasts": [${lines(tidy.contrasts)}\n],\n"provenance": ${provenance}}\n`;
}

/**
 * Writes `index.html`: the paper's claims, judged by the numbers beside the reports, and every report of the folder with
 * its predictions; and `index.json`, the judged claims. Returns the page's name.
 */
export async function writeIndex(outDir: string): Promise<string> {
  const names = readdirSync(outDir)
    .filter((name) => name.endsWith('.html') && name !== 'index.html')
    .map((name) => name.slice(0, -'.html'.length))
    .sort();
  const items = names.map((name) => reportItem(outDir, name)).join('\n');
  const title = 'ParallelSearch: reports';
  const intro =
    'Each report is one file that works offline; its numbers are in the JSON file of the same name. All figures are of this project’s embedded scale, a small world of real facts, and not comparable in level with the paper’s. The test questions were not unseen: names that earlier policies missed on them were analysed, the warm-up was changed for that, and all policies were trained anew.';
  const claims = judgeClaims(EXPERIMENTS, outDir);
  const reports = `<h2 id="reports">Reports</h2><ul class="reports">${items}</ul>`;
  const body = `<div class="layout"><main id="content"><h1>${title}</h1><p>${intro}</p>${claimsHtml(claims)}${reports}</main></div>`;
  const file = path.join(outDir, 'index.html');
  await writeFileSafely(path.join(outDir, 'index.json'), `${JSON.stringify({ claims }, null, 1)}\n`);
  await writeFileSafely(file, pageHtml({ title, description: intro, body, styles: CLAIMS_STYLES }));
  return file;
}

function reportItem(outDir: string, name: string): string {
  const html = readFileSync(path.join(outDir, `${name}.html`), 'utf8');
  const title = /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? escapeHtml(name);
  const description = /<meta name="description" content="([^"]*)">/.exec(html)?.[1] ?? '';
  const json = existsSync(path.join(outDir, `${name}.json`));
  const link = `<h3><a href="${encodeURIComponent(name)}.html">${title}</a></h3><p>${description}</p>`;
  const numbers = json ? `<p><a href="${encodeURIComponent(name)}.json">Numbers as JSON</a></p>` : '';
  return `<li>${link}${predictionsHtml(outDir, name)}${numbers}</li>`;
}

function predictionsHtml(outDir: string, name: string): string {
  const file = path.join(outDir, `${name}.json`);
  if (!existsSync(file)) return '';
  const { provenance } = JSON.parse(readFileSync(file, 'utf8')) as {
    provenance?: { predictions?: Prediction[] };
  };
  const lines = (provenance?.predictions ?? []).map(
    ({ prediction, found, holds }) =>
      `<li>${escapeHtml(prediction)}: <strong>${holds ? 'yes' : 'no'}</strong>, ${escapeHtml(found)}</li>`,
  );
  return lines.length > 0 ? `<ul>${lines.join('')}</ul>` : '';
}
