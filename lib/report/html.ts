/** Renders an executed notebook as one self-contained HTML page. */
import { stripVTControlCharacters } from 'node:util';
import {
  codeCells,
  textOf,
  type Cell,
  type CellOutput,
  type CodeCell,
  type Notebook,
} from '../notebook/nbformat.js';
import { type TableCells } from '../html/table.js';
import { escapeHtml } from '../html/markup.js';
import { TRANSCRIPT_STYLE } from '../html/styles.js';
import { citationHtml } from './citation.js';
import { MIME, type MimeBundle } from './display.js';
import { chartHtml, tableFigureHtml } from './figures.js';
import {
  CITATION,
  layoutHtml,
  pageHtml,
  PROVENANCE,
  provenanceHtml,
  reportScript,
  type Heading,
} from '../html/page.js';
import { setupText } from './opening.js';
import type { TidyTable } from '../evaluation/table.js';
import type { Artefact } from './publication.js';
import type { VegaLiteSpec } from './chart.js';
import MarkdownIt from 'markdown-it';

export interface Report {
  html: string;
  title: string;
  /** The first sentences of the notebook. */
  description: string;
}

/** The state of a page's making: ids are unique within it. */
interface Rendering {
  markdown: MarkdownRenderer;
  numCharts: number;
  /** Whether the section has shown a chart, behind which its tables are folded. */
  hasChart: boolean;
}

/** A tag of the cell that begins a section: the page folds it. */
const FOLDED = 'folded';
/** Rows of a table that stands open where no chart of its section says the same. */
const MOST_OPEN_ROWS = 6;

/**
 * Renders an executed notebook: text, folded code, outputs, a table of contents, where
 * the numbers come from, how to cite them. What its results open with stands under the
 * title, and the code that comes before all else at the end; a section whose first cell
 * is tagged `folded` is folded, and so are tables behind charts. Charts are pictures that
 * become interactive where scripts run; what is behind charts and tables can be taken
 * along. All text is escaped; HTML other than that of `display` is shown in a frame of
 * its own, where nothing runs.
 */
export async function reportHtml(notebook: Notebook): Promise<Report> {
  const rendering: Rendering = { markdown: createMarkdown(), numCharts: 0, hasChart: false };
  const opening = openingOf(notebook);
  const tidy = (opening?.data[MIME.tidy] as TidyTable | undefined) ?? null;
  // The code that reads the results, and shows nothing else.
  const setup = opening
    ? notebook.cells.slice(0, notebook.cells.findIndex(showsMore)).filter(isCode)
    : [];
  const shown = notebook.cells.filter((cell) => !setup.includes(cell as CodeCell));
  const opened = opening ? textOf(opening.data[MIME.html] as string | string[]) : '';
  const header = isPlainHtml(opened) ? opened : cellOutputHtml(opened);
  const content = sectionsHtml(shown, rendering).replace('</h1>', () => `</h1>\n${header}`);
  const { headings } = rendering.markdown;
  const title = headings.find((heading) => heading.level === 1)?.text ?? 'Report';
  const commit = tidy?.provenance.commit;
  const main = [
    content,
    tidy ? provenanceHtml(tidy.provenance, { intro: setupText(tidy.provenance) }) : '',
    ...setup.map((cell) => codeCellHtml(cell, rendering)),
    citationHtml(title, typeof commit === 'string' ? commit : undefined),
  ].join('\n');
  const body = layoutHtml([...headings, ...(tidy ? [PROVENANCE] : []), CITATION], main);
  const scripts = [await reportScript({ hasCharts: rendering.numCharts > 0 })];
  const styles = content.includes('"ps-transcript"') ? TRANSCRIPT_STYLE : '';
  const description = firstSentence(notebook);
  return { title, description, html: pageHtml({ title, description, body, styles, scripts }) };
}

const isCode = (cell: Cell): cell is CodeCell => cell.cell_type === 'code';

/** Whether a code cell shows something beside the results that the page is about. */
const showsMore = (cell: Cell): boolean =>
  isCode(cell) && cell.outputs.some((output) => !('data' in output && MIME.tidy in output.data));

/**
 * The cells in their order; a section whose first cell is tagged is folded behind its
 * heading.
 */
function sectionsHtml(cells: readonly Cell[], rendering: Rendering): string {
  const sections: { isFolded: boolean; parts: string[] }[] = [{ isFolded: false, parts: [] }];
  for (const cell of cells) {
    const isHeading = cell.cell_type === 'markdown' && /^#{1,3} /.test(textOf(cell.source));
    if (isHeading) rendering.hasChart = false;
    if (isHeading && !textOf(cell.source).startsWith('###'))
      sections.push({ isFolded: cell.metadata.tags?.includes(FOLDED) ?? false, parts: [] });
    sections.at(-1)!.parts.push(cellHtml(cell, rendering));
  }
  return sections
    .map(({ isFolded, parts }) => {
      const html = parts.join('\n');
      if (!isFolded) return html;
      const [heading] = /^<h2.*?<\/h2>/s.exec(html) ?? [''];
      return `<details class="section"><summary>${heading}</summary>${html.slice(heading.length)}</details>`;
    })
    .join('\n');
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
  const parts = [...outputs, ...(source.trim() === '' ? [] : [code])];
  const anchor = cell.id ? ` id="${escapeHtml(cellAnchor(cell.id))}"` : '';
  return `<div class="cell"${anchor}>\n${parts.join('\n')}\n</div>`;
}

/**
 * What exported files of each output are called: as the cell, with a number where it
 * shows several things.
 */
function outputNames({ id = 'figure', outputs }: CodeCell): string[] {
  const isFigure = (output: CellOutput): boolean =>
    'data' in output && (MIME.vegaLite in output.data || MIME.table in output.data);
  const isAlone = outputs.filter(isFigure).length === 1;
  let number = 0;
  return outputs.map((output) => (isAlone || !isFigure(output) ? id : `${id}-${++number}`));
}

/** The charts and tables that an executed notebook shows, in its order. */
export const notebookFigures = (notebook: Notebook): Artefact[] =>
  codeCells(notebook).flatMap((cell) => {
    const names = outputNames(cell);
    return cell.outputs.flatMap((output, i): Artefact[] => {
      const data: MimeBundle = 'data' in output ? output.data : {};
      const [name, spec, cells] = [names[i], data[MIME.vegaLite], data[MIME.table]];
      if (spec) return [{ kind: 'chart', name, spec: spec as VegaLiteSpec }];
      return cells ? [{ kind: 'table', name, cells: cells as TableCells }] : [];
    });
  });

/** Text of a terminal, without its colours. */
const preHtml = (text: string, style = ''): string =>
  `<pre${style && ` class="${style}"`}>${escapeHtml(stripVTControlCharacters(text))}</pre>`;

function outputHtml(output: CellOutput, name: string, rendering: Rendering): string {
  if (output.output_type === 'stream') return preHtml(textOf(output.text), output.name);
  if (output.output_type === 'error')
    return preHtml(output.traceback.join('\n') || output.evalue, 'stderr');
  return MIME.tidy in output.data ? '' : bundleHtml(output.data, name, rendering);
}

/** The richest representation that a page can show. */
function bundleHtml(data: MimeBundle, name: string, rendering: Rendering): string {
  const text = (mime: string): string | undefined =>
    mime in data ? textOf(data[mime] as string | string[]) : undefined;
  if (MIME.vegaLite in data) {
    const [spec, svg] = [data[MIME.vegaLite] as VegaLiteSpec, text(MIME.svg) ?? ''];
    rendering.hasChart = true;
    return chartHtml({ id: `chart-${++rendering.numCharts}`, name, spec, svg });
  }
  if (MIME.table in data) {
    const cells = data[MIME.table] as TableCells;
    return tableFigureHtml(cells, name, rendering.hasChart || cells.rows.length > MOST_OPEN_ROWS);
  }
  const html = text(MIME.html);
  if (html !== undefined) return cellOutputHtml(html);
  const svg = text(MIME.svg);
  const picture =
    svg === undefined ? text('image/png')?.trim() : Buffer.from(svg).toString('base64');
  if (picture !== undefined) {
    const alt = escapeHtml(text(MIME.text) ?? '');
    const mime = svg === undefined ? 'image/png' : MIME.svg;
    return `<img alt="${alt}" src="data:${mime};base64,${escapeHtml(picture)}">`;
  }
  return preHtml(text(MIME.text) ?? '');
}

/** The last results shown: those which the page is about. */
const openingOf = (notebook: Notebook): { data: MimeBundle } | undefined =>
  codeCells(notebook)
    .flatMap(({ outputs }) => outputs)
    .filter((output) => 'data' in output)
    .findLast(({ data }) => MIME.tidy in data);

function firstSentence(notebook: Notebook): string {
  const markdown = notebook.cells.find((cell) => cell.cell_type === 'markdown');
  const paragraph = textOf(markdown?.source ?? '')
    .split('\n')
    .find((line) => line.trim() !== '' && !line.startsWith('#'));
  return (paragraph ?? '').replace(/[*_`[\]]/g, '').slice(0, 200);
}

export interface MarkdownRenderer {
  render: (markdown: string) => string;
  /** The headings rendered so far, in order. */
  headings: Heading[];
}

/**
 * A renderer for the cells of one page: ids are unique within it, raw HTML is shown as
 * text, links that could run are too.
 */
export function createMarkdown(): MarkdownRenderer {
  const headings: Heading[] = [];
  const markdown = new MarkdownIt({ linkify: true });
  // A page loads nothing from elsewhere: of a picture its alternative text stays.
  markdown.renderer.rules.image = (tokens, i) => markdown.utils.escapeHtml(tokens[i].content);
  markdown.core.ruler.push('heading-ids', ({ tokens }) => {
    tokens.forEach((token, i) => {
      if (token.type !== 'heading_open') return;
      const inline = tokens[i + 1].children ?? [];
      const text = inline.map(({ content }) => content).join('');
      const id = uniqueId(text, headings);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), text, id });
    });
  });
  return { headings, render: (text) => markdown.render(text) };
}

/** A readable id: `what-is-compared`, then `what-is-compared-2`. */
function uniqueId(text: string, headings: readonly Heading[]): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['section'];
  const base = words.join('-');
  const taken = new Set(headings.map((heading) => heading.id));
  let id = base;
  for (let i = 2; taken.has(id); i++) id = `${base}-${i}`;
  return id;
}

/** The anchor of a notebook's cell in its page. */
export const cellAnchor = (cellId: string): string => `cell-${cellId}`;

const ELEMENTS =
  'a b caption code div details dd dl dt em h2 h3 h4 header li ol p pre span strong summary table tbody td th thead tr ul';
const TAG = new Set(ELEMENTS.split(' '));
const ATTRIBUTE =
  ' (?:(?:class|colspan|rowspan|role|scope|tabindex|title|aria-[a-z]+)="[^"<>]*"|open|href="(?:(?:#|https://)[^"<>]*|[\\w-]+[.]html(?:#[^"<>]*)?)")';
const TOKEN = new RegExp(
  `[^<]+|<(?<opened>[a-z][a-z0-9]*)(?:${ATTRIBUTE})*>|</(?<closed>[a-z][a-z0-9]*)>`,
  'y',
);

/**
 * Whether HTML is what displays write: texts, lists and tables in whole elements, without
 * style, script, form or picture.
 */
export function isPlainHtml(html: string): boolean {
  const open: string[] = [];
  const token = new RegExp(TOKEN);
  while (token.lastIndex < html.length) {
    const groups = token.exec(html)?.groups;
    if (!groups) return false;
    const { opened, closed } = groups;
    if (opened && !TAG.has(opened)) return false;
    if (opened) open.push(opened);
    if (closed && open.pop() !== closed) return false;
  }
  return open.length === 0;
}

const OWN_STYLE = `<style>${TRANSCRIPT_STYLE}</style>`;

/**
 * A cell's HTML for a page: plain HTML as it is, all other in a frame where no script
 * runs and nothing reaches the page.
 */
export function cellOutputHtml(html: string): string {
  const content = html.startsWith(OWN_STYLE) ? html.slice(OWN_STYLE.length) : html;
  if (isPlainHtml(content)) return `<div class="scroll">${content}</div>`;
  return `<iframe sandbox title="Output of a cell" width="100%" height="360" srcdoc="${escapeHtml(html)}"></iframe>`;
}
