/** Reports as files: the page, its numbers beside it, and the index of all of them. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { sort } from 'd3-array';
import type { TidyTable } from '../evaluation/table.js';
import { writeFileSafely } from '../io/files.js';
import { runNotebook, type RunOptions } from '../notebook/runner.js';
import { escapeHtml } from '../html/markup.js';
import { reportHtml } from '../report/html.js';
import { askedText } from '../report/opening.js';
import { pageHtml } from '../html/page.js';
import { EXPERIMENTS } from './list.js';
import type { Prediction } from './report.js';
import { VERDICT_RULE, judgeClaims, type JudgedClaim, type Verdict } from './verdicts.js';

export interface ExportOptions extends Omit<RunOptions, 'output' | 'keepGoing'> {
  /** The notebook to run. */
  notebook: string;
  /** The files' name without ending, such as `main-results`. */
  name: string;
  outDir: string;
}

export interface ExportedReport {
  html: string;
  /** The tidy numbers, or null when the notebook has shown none. */
  json: string | null;
  index: string;
}

/**
 * Runs a notebook through the real kernel and writes `NAME.html`, `NAME.json` (the tidy table that it has shown) and
 * `index.html` into `outDir`. When a cell fails it rejects and leaves all files as they were.
 */
export async function exportReport(options: ExportOptions): Promise<ExportedReport> {
  const { notebook: file, name, outDir, ...runOptions } = options;
  const { notebook } = await runNotebook(file, runOptions);
  const report = await reportHtml(notebook);
  const html = path.join(outDir, `${name}.html`);
  const json = path.join(outDir, `${name}.json`);
  if (report.tidy) await writeFileSafely(json, tidyJson(report.tidy));
  await writeFileSafely(html, report.html);
  return { html, json: report.tidy ? json : null, index: await writeIndex(outDir) };
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
  const intro = [INTRO, askedIn(outDir)].filter(Boolean).join(' ');
  const claims = judgeClaims(EXPERIMENTS, outDir);
  const reports = `<h2 id="reports">Reports</h2><ul class="reports">${items}</ul>`;
  const body = `<div class="layout"><main id="content"><h1>${title}</h1><p>${intro}</p>${claimsHtml(claims)}${reports}</main></div>`;
  const file = path.join(outDir, 'index.html');
  await writeFileSafely(path.join(outDir, 'index.json'), `${JSON.stringify({ claims }, null, 1)}\n`);
  await writeFileSafely(file, pageHtml({ title, description: intro, body, styles: CLAIMS_STYLES }));
  return file;
}

const INTRO =
  'Each report is one file that works offline; its numbers are in the JSON file of the same name. All figures are of this project’s embedded scale, small transformers in a small world of invented things, and not comparable in level with the paper’s. First the weights are frozen in a commit, then the hash of that commit draws the test questions, then the policies answer them: nobody can have seen them before. Until then reports show dev questions, by which training was chosen.';

/** Which questions were asked, by the first report that says so. */
export function askedIn(outDir: string): string {
  const texts = EXPERIMENTS.map(({ name }) => path.join(outDir, `${name}.json`))
    .filter((file) => existsSync(file))
    .map((file) => askedText((JSON.parse(readFileSync(file, 'utf8')) as TidyTable).provenance ?? {}));
  return texts.find(Boolean) ?? '';
}

function reportItem(outDir: string, name: string): string {
  const html = readFileSync(path.join(outDir, `${name}.html`), 'utf8');
  const title = /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? escapeHtml(name);
  const description = /<meta name="description" content="([^"]*)">/.exec(html)?.[1] ?? '';
  const address = encodeURIComponent(name);
  const link = `<h3><a href="${address}.html">${title}</a></h3><p>${description}</p>`;
  const json = path.join(outDir, `${name}.json`);
  if (!existsSync(json)) return `<li>${link}</li>`;
  const numbers = `<p><a href="${address}.json">Numbers as JSON</a></p>`;
  return `<li>${link}${predictionsHtml(readFileSync(json, 'utf8'))}${numbers}</li>`;
}

/** What was predicted, out of the JSON file of a report. */
function predictionsHtml(json: string): string {
  const { provenance } = JSON.parse(json) as { provenance?: { predictions?: Prediction[] } };
  // Those that do not hold come first.
  const predictions = sort(provenance?.predictions ?? [], ({ holds }) => Number(holds));
  const lines = predictions.map(
    ({ prediction, found, holds }) =>
      `<li>${escapeHtml(prediction)}: <strong>${holds ? 'yes' : 'no'}</strong>, ${escapeHtml(found)}</li>`,
  );
  return lines.length > 0 ? `<ul>${lines.join('')}</ul>` : '';
}

const SIGNS: Readonly<Record<Verdict, string>> = {
  shown: '✓',
  'not shown': '○',
  contradicted: '✗',
  'not testable': '–',
  'not computed yet': '…',
};

/** Styles of the table of claims. */
export const CLAIMS_STYLES = `
table.claims { font-size: .86rem; }
table.claims td, table.claims th { white-space: normal; min-width: 8rem; }
table.claims .verdict { font-weight: 600; }
table.claims small { display: block; color: var(--soft); font-size: .8rem; }
`;

/** A section with the rule, a count of the verdicts, and a row for each claim. */
export function claimsHtml(claims: readonly JudgedClaim[]): string {
  const heads = [
    'Claim of the paper',
    'The paper’s figure',
    'What its own tables give',
    'Found here, small world [95 %]',
    'Verdict',
  ];
  const caption = 'The paper’s claims, what its tables bear out, and what was found here.';
  return [
    '<section aria-labelledby="claims"><h2 id="claims">The paper’s claims</h2>',
    `<p>${escapeHtml(countText(claims))} ${escapeHtml(VERDICT_RULE)} The numbers are in <a href="index.json">index.json</a>.</p>`,
    `<div class="scroll" role="group" aria-label="The paper’s claims" tabindex="0"><table class="claims"><caption>${caption}</caption>`,
    `<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>`,
    `<tbody>${claims.map(claimRow).join('\n')}</tbody></table></div></section>`,
  ].join('\n');
}

function claimRow({ id, claim, paper, tables, rule, found, verdict, link }: JudgedClaim): string {
  const sign = `<span aria-hidden="true">${SIGNS[verdict]}</span> ${escapeHtml(verdict)}`;
  const linked = link ? `<small><a href="${escapeHtml(link)}">where it is computed</a></small>` : '';
  return [
    `<tr id="claim-${escapeHtml(id)}"><th scope="row">${escapeHtml(claim)}</th>`,
    ...[paper, tables].map((text) => `<td>${escapeHtml(text)}</td>`),
    `<td>${escapeHtml(found)}<small>${escapeHtml(rule)}</small></td>`,
    `<td><span class="verdict">${sign}</span>${linked}</td></tr>`,
  ].join('');
}

/** `16 claims: 9 shown, 2 not shown, ...` */
function countText(claims: readonly JudgedClaim[]): string {
  const counts = (Object.keys(SIGNS) as Verdict[])
    .map((verdict) => [verdict, claims.filter((claim) => claim.verdict === verdict).length] as const)
    .filter(([, count]) => count > 0);
  return `${claims.length} claims: ${counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ')}.`;
}
