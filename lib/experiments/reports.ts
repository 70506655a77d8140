/** Reports as files: the page, its numbers beside it, and the index of all of them. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { sort } from 'd3-array';
import type { TidyTable } from '../evaluation/table.js';
import { writeFileSafely } from '../io/files.js';
import { runNotebook, type RunOptions } from '../notebook/runner.js';
import { escapeHtml, markup, markupHtml, type Markup } from '../html/markup.js';
import { reportHtml } from '../report/html.js';
import { askedText, findingOf } from '../report/opening.js';
import { readArtefacts } from '../report/publication.js';
import { thumbnailSvg } from '../report/thumbnail.js';
import { pageHtml } from '../html/page.js';
import { EXPERIMENTS } from './list.js';
import { readResult } from './result.js';
import type { Prediction } from '../report/opening.js';
import {
  decidedFirst,
  VERDICT_RULE,
  judgeClaims,
  type JudgedClaim,
  type Verdict,
} from './verdicts.js';

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
 * Runs a notebook through the real kernel and writes `NAME.html`, `NAME.json` (the tidy
 * table that it has shown) and `index.html` into `outDir`. When a cell fails it rejects
 * and leaves all files as they were.
 */
export async function exportReport(options: ExportOptions): Promise<ExportedReport> {
  const { notebook: file, name, outDir, ...runOptions } = options;
  const { notebook } = await runNotebook(file, runOptions);
  const report = await reportHtml(notebook);
  const html = path.join(outDir, `${name}.html`);
  const json = path.join(outDir, `${name}.json`);
  // An experiment with a result has written it before.
  if (report.tidy && report.tidy.rows.length > 0)
    await writeFileSafely(json, tidyJson(report.tidy));
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
 * The pages of a folder, title and description as HTML: reports with a finding first,
 * then what is to be tried or read.
 */
export function readReports(outDir: string) {
  const names = readdirSync(outDir)
    .filter((name) => name.endsWith('.html') && name !== 'index.html')
    .map((name) => name.slice(0, -'.html'.length));
  const rank = (name: string): number =>
    EXPERIMENTS.findIndex((experiment) => experiment.name === name);
  const entries = sort(names).map((name) => {
    const html = readFileSync(path.join(outDir, `${name}.html`), 'utf8');
    const title = /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? name;
    const description = /<meta name="description" content="([^"]*)">/.exec(html)?.[1] ?? '';
    const result = readResult(path.join(outDir, `${name}.json`));
    const provenance = result?.provenance ?? {};
    const predictions = result?.predictions ?? ((provenance.predictions ?? []) as Prediction[]);
    const finding = result?.finding ?? findingOf(provenance);
    return { name, title, description, finding, predictions };
  });
  return sort(entries, ({ name, finding }) => rank(name) + (finding ? 0 : EXPERIMENTS.length));
}

/** What a report's numbers say of themselves; nothing where there are none. */
function provenanceIn(outDir: string, name: string): TidyTable['provenance'] {
  return readResult(path.join(outDir, `${name}.json`))?.provenance ?? {};
}

const TITLE = 'ParallelSearch: what was found';

/** What all figures are, for index and summary. */
export const INTRO =
  'Figures are of a small world and small transformers: who is ahead and on which questions, never the paper’s levels. Figures in brackets are 95 % intervals; “pooled” is both initial models together, “average of seven” counts every benchmark once, “all questions” every question once.';

/**
 * Writes `index.html`: every report of the folder as a card with its chief chart, its
 * finding and its predictions, then the paper's claims, judged by the numbers beside the
 * reports; and `index.json`, the judged claims. Returns the page's name.
 */
export async function writeIndex(outDir: string): Promise<string> {
  const claims = judgeClaims(EXPERIMENTS, outDir);
  const cards = await Promise.all(readReports(outDir).map((report) => cardHtml(outDir, report)));
  const intro = [INTRO, askedIn(outDir)].filter(Boolean).join(' ');
  const body = [
    `<div class="layout"><main id="content"><h1>${TITLE}</h1><p class="intro">${escapeHtml(intro)}</p>`,
    `<ul class="cards" id="reports">${cards.join('\n')}</ul>`,
    `${claimsHtml(claims)}</main></div>`,
  ].join('\n');
  const file = path.join(outDir, 'index.html');
  await writeFileSafely(
    path.join(outDir, 'index.json'),
    `${JSON.stringify({ claims }, null, 1)}\n`,
  );
  await writeFileSafely(
    file,
    pageHtml({ title: TITLE, description: INTRO, body, styles: INDEX_STYLES }),
  );
  return file;
}

/** Which questions were asked, by the first report that says so. */
export function askedIn(outDir: string): string {
  return EXPERIMENTS.map(({ name }) => askedText(provenanceIn(outDir, name))).find(Boolean) ?? '';
}

type ReportEntry = ReturnType<typeof readReports>[number];

async function cardHtml(outDir: string, report: ReportEntry): Promise<string> {
  const { name, title, finding, description, predictions } = report;
  const address = encodeURIComponent(name);
  const chart = finding
    ? readArtefacts(readFileSync(path.join(outDir, `${name}.html`), 'utf8')).find(
        ({ kind }) => kind === 'chart',
      )
    : undefined;
  const picture = chart?.kind === 'chart' ? await thumbnailSvg(chart.spec, name) : '';
  const numbers = finding
    ? `<p class="files"><a href="${address}.json">Numbers as JSON</a></p>`
    : '';
  return [
    `<li>${picture && `<div class="picture" aria-hidden="true">${picture}</div>`}`,
    `<h2><a href="${address}.html">${title}</a></h2><p>${finding ? escapeHtml(finding) : description}</p>`,
    `${predictionsHtml(predictions)}${numbers}</li>`,
  ].join('');
}

/**
 * What was predicted, folded behind how much of it holds; what does not hold comes first.
 */
function predictionsHtml(predictions: readonly Prediction[]): string {
  if (predictions.length === 0) return '';
  const held = predictions.filter(({ holds }) => holds).length;
  const lines = sort(predictions, ({ holds }) => Number(holds)).map(
    ({ prediction, found, holds }) =>
      markup('li', `${prediction}: `, markup('strong', holds ? 'yes' : 'no'), `, ${found}`),
  );
  const summary = markup('summary', `${held} of ${predictions.length} predictions hold`);
  return markupHtml(markup('details', summary, markup('ul', lines)));
}

const SIGNS: Readonly<Record<Verdict, string>> = {
  shown: '✓',
  'not shown': '○',
  contradicted: '✗',
  'not testable': '–',
  'not computed yet': '…',
};

const INDEX_STYLES = `
.intro { color: var(--soft); font-size: .93rem; }
ul.cards { list-style: none; padding: 0; margin: 1.5rem 0; max-width: none; display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
ul.cards > li { border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.2rem; min-width: 0; }
ul.cards h2 { border: 0; margin: .3rem 0; padding: 0; font-size: 1.08rem; }
ul.cards h2 a { text-decoration: none; }
ul.cards h2 a:hover { text-decoration: underline; }
ul.cards p { margin: .4rem 0; font-size: .93rem; line-height: 1.5; }
ul.cards ul { padding-left: 1.1rem; font-size: .86rem; }
ul.cards .files { font-size: .82rem; }
.picture { height: 15rem; display: grid; place-items: center; }
.picture svg { max-width: 100%; max-height: 15rem; }
ul.claims { list-style: none; padding: 0; max-width: none; }
ul.claims > li { border-bottom: 1px solid var(--line); }
ul.claims summary { display: grid; grid-template-columns: 9rem minmax(0, 5fr) minmax(0, 4fr); gap: 0 1rem; position: relative; width: auto; padding: .5rem 1.5rem .5rem 0; color: var(--fg); font-size: .93rem; }
ul.claims summary::after { content: '+'; position: absolute; right: .2rem; top: .5rem; color: var(--soft); }
ul.claims [open] > summary::after { content: '−'; }
ul.claims .verdict { font-weight: 600; }
ul.claims .found { color: var(--soft); font-variant-numeric: tabular-nums; }
ul.claims dl { font-size: .88rem; margin: .2rem 0 1rem; display: grid; grid-template-columns: max-content minmax(0, 46rem); gap: .2rem 1.2rem; }
ul.claims dt { color: var(--soft); }
ul.claims dd { margin: 0; }
@media (max-width: 48rem) {
  ul.claims summary, ul.claims dl { grid-template-columns: minmax(0, 1fr); }
}
`;

/**
 * A section with a count of the verdicts, a line for each claim with its detail behind
 * it, and the rule.
 */
export function claimsHtml(claims: readonly JudgedClaim[]): string {
  return [
    `<section aria-labelledby="claims"><h2 id="claims">The paper’s claims</h2><p>${escapeHtml(countText(claims))}</p>`,
    markupHtml(markup('ul.claims', decidedFirst(claims).map(claimMarkup))),
    `<details><summary>How verdicts are reached</summary><p>${escapeHtml(VERDICT_RULE)} The numbers are in <a href="index.json">index.json</a>.</p></details></section>`,
  ].join('\n');
}

function claimMarkup({
  id,
  claim,
  paper,
  tables,
  rule,
  found,
  figure,
  verdict,
  link,
}: JudgedClaim): Markup {
  const details = [
    ['The paper’s figure', paper],
    ['What its own tables give', tables],
    ['Found here', found],
    ['What must hold', rule],
  ].map(([term, text]) => [markup('dt', term), markup('dd', text)]);
  const sign = markup('span', { 'aria-hidden': 'true' }, SIGNS[verdict]);
  const line = [
    markup('span.verdict', sign, ` ${verdict}`),
    markup('span.claim', claim),
    markup('span.found', figure),
  ];
  const linked = link && markup('dd', markup('a', { href: link }, 'where it is computed'));
  return markup(
    'li',
    { id: `claim-${id}` },
    markup(
      'details',
      markup('summary', line),
      markup('dl', details, linked && markup('dt', 'Evidence'), linked),
    ),
  );
}

/** `16 claims: 9 shown, 2 not shown, ...` */
function countText(claims: readonly JudgedClaim[]): string {
  const counts = (Object.keys(SIGNS) as Verdict[])
    .map(
      (verdict) => [verdict, claims.filter((claim) => claim.verdict === verdict).length] as const,
    )
    .filter(([, count]) => count > 0);
  return `${claims.length} claims: ${counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ')}.`;
}
