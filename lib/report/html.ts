/** A notebook with outputs as one self-contained HTML file. */
import { stripVTControlCharacters } from 'node:util';
import {
  codeCells,
  textOf,
  type Cell,
  type CellOutput,
  type CodeCell,
  type Notebook,
} from '../notebook/nbformat.js';
import { type TableCells } from '../html/cells.js';
import { cellOutputHtml } from '../html/foreign.js';
import { escapeHtml } from '../html/markup.js';
import { TRANSCRIPT_STYLE } from '../html/styles.js';
import { citationHtml } from './citation.js';
import { MIME, type MimeBundle } from './display.js';
import { chartHtml, tableFigureHtml } from './figures.js';
import { cellAnchor, createMarkdown, type Heading, type MarkdownRenderer } from './markdown.js';
import { pageHtml, reportScript } from '../html/page.js';
import { PROVENANCE, provenanceHtml } from '../html/provenance.js';
import type { TidyTable } from '../evaluation/table.js';
import type { VegaLiteSpec } from './chart.js';

export interface Report {
  html: string;
  title: string;
  /** The tidy table that the notebook has shown, or null. */
  tidy: TidyTable | null;
}

/** The state of a page's making: ids are unique within it. */
interface Rendering {
  markdown: MarkdownRenderer;
  numCharts: number;
}

/** The section beside the provenance that no cell writes. */
const CITATION: Heading = { level: 2, text: 'To cite', id: 'cite' };

/**
 * Renders an executed notebook: text, folded code, outputs, a table of contents, where the numbers come from, how to
 * cite them. Charts are pictures that become interactive where scripts run; what is behind charts and tables can be
 * taken along. All text is escaped; HTML other than that of `display` is shown in a frame of its own, where nothing runs.
 */
export async function reportHtml(notebook: Notebook): Promise<Report> {
  const rendering: Rendering = { markdown: createMarkdown(), numCharts: 0 };
  const content = notebook.cells.map((cell) => cellHtml(cell, rendering)).join('\n');
  const tidy = tidyOf(notebook);
  const { headings } = rendering.markdown;
  const title = headings.find((heading) => heading.level === 1)?.text ?? 'Report';
  const commit = tidy?.provenance.commit;
  const body = [
    '<a class="skip" href="#content">Skip to the content</a>',
    `<div class="layout">${contentsHtml([...headings, ...(tidy ? [PROVENANCE] : []), CITATION])}`,
    `<main id="content">\n${content}`,
    tidy ? provenanceHtml(tidy.provenance) : '',
    `${citationHtml(title, typeof commit === 'string' ? commit : undefined)}</main></div>`,
  ].join('\n');
  const scripts = [await reportScript({ hasCharts: rendering.numCharts > 0 })];
  const styles = content.includes('"ps-transcript"') ? TRANSCRIPT_STYLE : '';
  const html = pageHtml({ title, description: firstSentence(notebook), body, styles, scripts });
  return { title, tidy, html };
}

/** The table of contents: headings of levels 2 and 3 as links. */
export function contentsHtml(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ level }) => level === 2 || level === 3)
    .map(({ level, text, id }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<nav class="toc" aria-labelledby="contents"><p id="contents">Contents</p><ul>${items.join('')}</ul></nav>`;
}

function cellHtml(cell: Cell, rendering: Rendering): string {
  if (cell.cell_type === 'markdown') return rendering.markdown.render(textOf(cell.source));
  return cell.cell_type === 'code' ? codeCellHtml(cell, rendering) : '';
}

function codeCellHtml(cell: CodeCell, rendering: Rendering): string {
  const source = escapeHtml(textOf(cell.source));
  const code = `<details class="code"><summary>Code</summary><pre><code>${source}</code></pre></details>`;
  const names = outputNames(cell);
  const outputs = cell.outputs.map((output, i) => outputHtml(output, names[i], rendering));
  const parts = [...(source.trim() === '' ? [] : [code]), ...outputs];
  const anchor = cell.id ? ` id="${escapeHtml(cellAnchor(cell.id))}"` : '';
  return `<div class="cell"${anchor}>\n${parts.join('\n')}\n</div>`;
}

/** What exported files of each output are called: as the cell, with a number where it shows several things. */
function outputNames({ id = 'figure', outputs }: CodeCell): string[] {
  const isFigure = (output: CellOutput): boolean =>
    'data' in output && (MIME.vegaLite in output.data || MIME.table in output.data);
  const isAlone = outputs.filter(isFigure).length === 1;
  let number = 0;
  return outputs.map((output) => (isAlone || !isFigure(output) ? id : `${id}-${++number}`));
}

/** Text of a terminal, without its colours. */
const preHtml = (text: string, style = ''): string =>
  `<pre${style && ` class="${style}"`}>${escapeHtml(stripVTControlCharacters(text))}</pre>`;

function outputHtml(output: CellOutput, name: string, rendering: Rendering): string {
  if (output.output_type === 'stream') return preHtml(textOf(output.text), output.name);
  if (output.output_type === 'error') return preHtml(output.traceback.join('\n') || output.evalue, 'stderr');
  return bundleHtml(output.data, name, rendering);
}

/** The richest representation that a page can show. */
function bundleHtml(data: MimeBundle, name: string, rendering: Rendering): string {
  const text = (mime: string): string | undefined =>
    mime in data ? textOf(data[mime] as string | string[]) : undefined;
  if (MIME.vegaLite in data) {
    const [spec, svg] = [data[MIME.vegaLite] as VegaLiteSpec, text(MIME.svg) ?? ''];
    return chartHtml({ id: `chart-${++rendering.numCharts}`, name, spec, svg });
  }
  if (MIME.table in data) return tableFigureHtml(data[MIME.table] as TableCells, name);
  const html = text(MIME.html);
  if (html !== undefined) return cellOutputHtml(html);
  const svg = text(MIME.svg);
  const picture = svg === undefined ? text('image/png')?.trim() : Buffer.from(svg).toString('base64');
  if (picture !== undefined) {
    const alt = escapeHtml(text(MIME.text) ?? '');
    const mime = svg === undefined ? 'image/png' : MIME.svg;
    return `<img alt="${alt}" src="data:${mime};base64,${escapeHtml(picture)}">`;
  }
  return preHtml(text(MIME.text) ?? '');
}

/** The last tidy table shown: that of the results which the page is about. */
function tidyOf(notebook: Notebook): TidyTable | null {
  const outputs = codeCells(notebook).flatMap((cell) => cell.outputs);
  const tables = outputs.flatMap((output) => ('data' in output ? (output.data[MIME.tidy] ?? []) : []));
  return (tables.at(-1) as TidyTable | undefined) ?? null;
}

function firstSentence(notebook: Notebook): string {
  const markdown = notebook.cells.find((cell) => cell.cell_type === 'markdown');
  const paragraph = textOf(markdown?.source ?? '')
    .split('\n')
    .find((line) => line.trim() !== '' && !line.startsWith('#'));
  return (paragraph ?? '').replace(/[*_`[\]]/g, '').slice(0, 200);
}
