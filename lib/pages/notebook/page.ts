/** Renders an executed notebook as a self-contained HTML page. */
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { describeError, printExactJson } from '../../io/json.js';
import { joinStreams } from '../../notebook/kernel-outputs.js';
import {
  codeCells,
  findVegaLite,
  isJsonMime,
  joinLines,
  MIME,
  type Cell,
  type CellOutput,
  type CodeCell,
  type MimeBundle,
  type Notebook,
} from '../../notebook/nbformat.js';
import { ChartError, loadVega } from '../../report/charts/render.js';
import { valuesUnder, wrapSpec, type VegaLiteSpec } from '../../report/charts/spec.js';
import { markup, markupHtml, trustedHtml, type Content, type Markup } from '../../report/markup.js';
import type { Artefact } from '../../report/publication.js';
import { setupText, type About } from '../../report/result.js';
import { TRANSCRIPT_STYLE } from '../../report/styles.js';
import type { TableCells } from '../../report/table-formats.js';
import { chartFigure, tableFigure, vegaDrawing } from '../figures.js';
import { bundleScript, pageHtml } from '../page.js';
import { citationSection, layout, provenanceSection, sectionMarkup } from '../sections.js';
import { createMarkdown, picture, PICTURES, type MarkdownRenderer } from './markdown.js';
import { isPlainHtml, isPlainSvg } from './plain.js';

interface Report {
  html: string;
  title: string;
  /** The first paragraph of the notebook. */
  description: string;
}

/** State while a page is rendered. */
interface Rendering {
  markdown: MarkdownRenderer;
  numCharts: number;
  /** Whether the section has had a chart; its tables are then folded. */
  hasChart: boolean;
  /** The charts of the notebook, or why one is not shown. */
  charts: ReadonlyMap<MimeBundle, PreparedChart | Error>;
}

interface PreparedChart {
  spec: VegaLiteSpec;
  /** Static, if the chart could start work in the browser, or cannot be drawn there. */
  still?: string;
}

/** Tag of a section's first cell that makes the page fold the section. */
const FOLDED = 'folded';
/** Characters of a page's description. */
const MAX_DESCRIPTION = 200;
/** Longer tables are folded. */
const MAX_OPEN_ROWS = 6;

/**
 * Renders an executed notebook: finding, text, outputs, folded code, contents, provenance
 * and citation. The code that loads the results moves to the end. Charts are pictures
 * that scripts make interactive; their data and tables can be downloaded. All text is
 * escaped, and HTML not written by `display` is sandboxed in a frame.
 * @param folder of the notebook, whose pictures are included. Default: none are
 */
export async function reportHtml(notebook: Notebook, folder?: string): Promise<Report> {
  const rendering: Rendering = {
    markdown: createMarkdown(folder),
    numCharts: 0,
    hasChart: false,
    charts: await prepareCharts(notebook),
  };
  const opening = findOpening(notebook);
  const about = opening && (opening.data[MIME.about] as About);
  // Cells that only load the results.
  const setup = opening
    ? notebook.cells.slice(0, notebook.cells.findIndex(hasOutputBesidesResults)).filter(isCode)
    : [];
  const shown = notebook.cells.filter((cell) => !setup.includes(cell as CodeCell));
  const openingHtml = opening ? joinLines(opening.data[MIME.html] as string | string[]) : '';
  const header = isPlainHtml(openingHtml) ? openingHtml : markupHtml(cellOutput(openingHtml));
  const sections = markupHtml(sectionsMarkup(shown, rendering));
  const content = sections.replace('</h1>', () => `</h1>${header}`);
  const { headings, paragraphs } = rendering.markdown;
  const title = headings.find((heading) => heading.level === 1)?.text ?? 'Report';
  const provenance = about
    ? [provenanceSection(about.provenance, { intro: setupText(about) })]
    : [];
  // Another kernel's numbers are not this library's.
  const isOwn = (notebook.metadata.kernelspec?.language ?? 'typescript') === 'typescript';
  const citation = isOwn ? [citationSection(title, about?.provenance.commit)] : [];
  const main = [
    trustedHtml(content),
    provenance.map(sectionMarkup),
    setup.map((cell) => codeCellMarkup(cell, rendering)),
    citation.map(sectionMarkup),
  ];
  const body = layout([...headings, ...provenance, ...citation], main);
  const scripts = [await browserScript('report')];
  const laterScript = rendering.numCharts > 0 ? await browserScript('report-charts') : '';
  const styles = content.includes('"ps-transcript"') ? TRANSCRIPT_STYLE : '';
  const description = [...(paragraphs[0] ?? '')].slice(0, MAX_DESCRIPTION).join('');
  const policy = content.includes('<iframe sandbox') ? FRAME_POLICY : undefined;
  const html = pageHtml({ title, description, body, styles, scripts, laterScript, policy });
  return { title, description, html };
}

/** Frames have the page's policy: they need their styles, such as colours of cells. */
const FRAME_POLICY = { 'style-src-elem': "'unsafe-inline'", 'style-src-attr': "'unsafe-inline'" };

/** Lays every chart out once, as the page will. */
async function prepareCharts(notebook: Notebook): Promise<Rendering['charts']> {
  const charts = new Map<MimeBundle, PreparedChart | Error>();
  for (const output of codeCells(notebook).flatMap(({ outputs }) => outputs)) {
    const mime = 'data' in output && findVegaLite(output.data);
    if (!mime) continue;
    const chart = prepareChart(output.data[mime]).catch((error: unknown) => error as Error);
    charts.set(output.data, await chart);
  }
  return charts;
}

/** @throws ChartError for a chart that would block the page, or be empty in it */
async function prepareChart(given: unknown): Promise<PreparedChart> {
  const spec = readSpec(given);
  const layOut = await loadVega();
  if (isInteractive(spec) || hasTextData(spec)) {
    const { view } = layOut(wrapSpec(spec));
    const still = await view.toSVG();
    view.finalize();
    return { spec, still };
  }
  try {
    layOut(wrapSpec(spec)).view.finalize();
  } catch (error) {
    if (error instanceof ChartError) throw error; // the page itself names other faults
  }
  return { spec };
}

/** Whether a chart responds to events, which could start any work at any time. */
function isInteractive(spec: VegaLiteSpec): boolean {
  const changing = valuesUnder('params', spec)
    .flat()
    .filter((param) => ['bind', 'select'].some((key) => valuesUnder(key, [param]).length > 0));
  return [changing, valuesUnder('selection', spec), valuesUnder('signals', spec)].some(
    ({ length }) => length > 0,
  );
}

/** Whether data are a text such as CSV, whose parser evaluates code: pages cannot. */
const hasTextData = (spec: VegaLiteSpec): boolean =>
  valuesUnder('data', spec).some(
    (data) => typeof (data as { values?: unknown } | null)?.values === 'string',
  );

/** Drops options for Vega-Embed, which could change the chart after its check. */
function readSpec(given: unknown): VegaLiteSpec {
  const { usermeta: _, ...spec } = specSchema.parse(JSON.parse(printExactJson(given, 0)));
  return spec;
}

/** A module of `pages/browser/`. */
const browserScript = (name: string): Promise<string> =>
  bundleScript(new URL(`../browser/${name}.js`, import.meta.url));

const isCode = (cell: Cell): cell is CodeCell => cell.cell_type === 'code';

/** Whether a code cell shows anything besides results. */
const hasOutputBesidesResults = (cell: Cell): boolean =>
  isCode(cell) && cell.outputs.some((output) => !isOpening(output));

/** The cells by section, folded behind its heading if its first cell is tagged so. */
function sectionsMarkup(cells: readonly Cell[], rendering: Rendering): Content {
  const sections: { isFolded: boolean; parts: Content[] }[] = [{ isFolded: false, parts: [] }];
  for (const cell of cells) {
    const isHeading = cell.cell_type === 'markdown' && /^#{1,3} /.test(joinLines(cell.source));
    if (isHeading) rendering.hasChart = false;
    if (isHeading && !joinLines(cell.source).startsWith('###'))
      sections.push({ isFolded: cell.metadata.tags?.includes(FOLDED) ?? false, parts: [] });
    sections.at(-1)!.parts.push(cellMarkup(cell, rendering));
  }
  return sections.map(({ isFolded, parts }) => {
    if (!isFolded) return parts;
    const html = markupHtml(parts);
    const [heading] = /^<h2.*?<\/h2>/s.exec(html) ?? [''];
    const summary = markup('summary', trustedHtml(heading));
    return markup('details.section', summary, trustedHtml(html.slice(heading.length)));
  });
}

function cellMarkup(cell: Cell, rendering: Rendering): Content {
  if (cell.cell_type === 'markdown')
    return rendering.markdown.render(joinLines(cell.source), cell.attachments);
  return cell.cell_type === 'code'
    ? codeCellMarkup(cell, rendering)
    : rawCellMarkup(joinLines(cell.source), cell.metadata, rendering);
}

/** A raw cell has the format in its metadata, by default plain text. */
function rawCellMarkup(source: string, metadata: Cell['metadata'], rendering: Rendering): Content {
  const format = metadata.raw_mimetype ?? metadata.format;
  return MIME_TYPES.get(String(format))?.(source, rendering) ?? pre(source);
}

function codeCellMarkup(cell: CodeCell, rendering: Rendering): Markup {
  const source = joinLines(cell.source);
  const code = markup('pre', markup('code', source));
  const outputs = joinStreams(cell.outputs);
  const names = outputNames({ ...cell, outputs });
  return markup(
    'div.cell',
    { id: cell.id && cellAnchor(cell.id) },
    outputs.map((output, i) => outputMarkup(output, names[i], rendering)),
    source.trim() !== '' && markup('details.code', markup('summary', 'Code'), code),
  );
}

/** Names of exported files: the cell's id, with a number if it shows several figures. */
function outputNames({ id = 'figure', outputs }: CodeCell): string[] {
  const isFigure = (output: CellOutput): boolean =>
    'data' in output && (findVegaLite(output.data) !== undefined || MIME.table in output.data);
  const isAlone = outputs.filter(isFigure).length === 1;
  let number = 0;
  return outputs.map((output) => (isAlone || !isFigure(output) ? id : `${id}-${++number}`));
}

/** The charts and tables of an executed notebook, in order. */
export const notebookFigures = (notebook: Notebook): Artefact[] =>
  codeCells(notebook).flatMap((cell) => {
    const names = outputNames(cell);
    return cell.outputs.flatMap((output, i): Artefact[] => {
      const data: MimeBundle = 'data' in output ? output.data : {};
      const name = names[i];
      const chart = findVegaLite(data);
      const spec = chart && data[chart];
      const cells = data[MIME.table];
      if (spec) return [{ kind: 'chart', name, spec: spec as VegaLiteSpec }];
      return cells ? [{ kind: 'table', name, cells: cells as TableCells }] : [];
    });
  });

/** A line as a terminal shows it: text after a carriage return overwrites its start. */
const overwrite = (line: string): string =>
  line
    .split('\r')
    .reduceRight((shown, earlier) =>
      earlier.length > shown.length ? shown + earlier.slice(shown.length) : shown,
    );

/** Applies backspaces, which remove the character before them in the line. */
function erase(text: string): string {
  const kept: string[] = [];
  for (const character of text)
    if (character !== '\b') kept.push(character);
    else if (kept.length > 0 && kept.at(-1) !== '\n') kept.pop();
  return kept.join('');
}

/** Erase the line, or all of it if at its start. */
const ERASED = /\p{Cc}\[2K|\r\p{Cc}\[0?K/u;

/** Terminal text without colours, and progress bars in their last state. */
export function terminalText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const plain = stripVTControlCharacters(lines.map((line) => line.split(ERASED).at(-1)).join('\n'));
  const shown = plain.includes('\b') ? erase(plain) : plain;
  return shown.split('\n').map(overwrite).join('\n');
}

const pre = (text: string, style?: string): Markup =>
  markup('pre', { class: style }, terminalText(text));

/** The traceback, and the error unless it is in there. */
export function errorText({
  traceback,
  ename,
  evalue,
}: Extract<CellOutput, { output_type: 'error' }>) {
  const text = terminalText(traceback.join('\n'));
  return text !== '' && text.includes(evalue) ? text : `${text}\n${ename}: ${evalue}`.trim();
}

function outputMarkup(output: CellOutput, name: string, rendering: Rendering): Content {
  if (output.output_type === 'stream')
    return pre(joinLines(output.text), output.name === 'stderr' ? 'stderr' : 'stdout');
  if (output.output_type === 'error') return pre(errorText(output), 'stderr');
  return isOpening(output) ? null : bundleMarkup(output.data, name, rendering);
}

/** The richest representation that a page supports, or why it is not shown. */
function bundleMarkup(data: MimeBundle, name: string, rendering: Rendering): Content {
  try {
    return richestMarkup(data, name, rendering);
  } catch (error) {
    const types = Object.keys(data).join(', ');
    const reason = describeError(error);
    const note = pre(`This output (${types}) is not shown: ${reason}`);
    const mime = [...PICTURES, MIME.text].find((one) => one in data);
    if (mime === undefined) return note;
    const text = joinLines(data[mime] as string | string[]);
    return [note, mime === MIME.text ? pre(text) : picture(mime, text)];
  }
}

/** Renders an output on its own, without charts. */
export const outputContent = (data: MimeBundle): Content =>
  bundleMarkup(data, '', {
    markdown: createMarkdown(),
    numCharts: 0,
    hasChart: false,
    charts: new Map(),
  });

function richestMarkup(data: MimeBundle, name: string, rendering: Rendering): Content {
  const text = (mime: string): string | undefined =>
    mime in data ? joinLines(data[mime] as string | string[]) : undefined;
  const chart = rendering.charts.get(data);
  if (chart instanceof Error) throw chart;
  if (chart) {
    const { spec, still } = chart;
    const svg = still ?? text(MIME.svg) ?? '';
    const id = `chart-${rendering.numCharts + 1}`;
    // A foreign picture may contain anything, even a redirect of the page.
    const drawing = svg === '' || isPlainSvg(svg) ? vegaDrawing(svg, id) : picture(MIME.svg, svg);
    const figure = chartFigure({ id, name, spec, drawing, isStill: still !== undefined });
    rendering.hasChart = true;
    rendering.numCharts++;
    return figure;
  }
  if (MIME.table in data) {
    const cells = cellsSchema.parse(data[MIME.table]);
    return tableFigure(cells, name, rendering.hasChart || cells.rows.length > MAX_OPEN_ROWS);
  }
  const isBlank = drawsElsewhere(text(MIME.html) ?? '');
  if (isBlank && !PICTURES.some((mime) => mime in data)) {
    const note = `This output (${Object.keys(data).join(', ')}) needs scripts or other pages, which are not loaded here.`;
    return pre([note, text(MIME.text) ?? ''].join('\n').trim());
  }
  for (const [mime, render] of MIME_TYPES)
    if (text(mime)?.trim() && !(isBlank && mime === MIME.html))
      return render(text(mime)!, rendering, text(MIME.text));
  // JSON of other types, such as a widget's id, is for programs.
  const json = ['application/json', ...Object.keys(data).filter(isJsonMime)];
  const plain = [MIME.text, ...Object.keys(data).filter((mime) => mime.startsWith('text/'))];
  const mime = [json[0], ...plain, ...json].find((type) => type in data);
  if (mime !== undefined)
    return pre(isJsonMime(mime) ? printExactJson(data[mime], 2) : text(mime)!);
  return pre(`An output of ${Object.keys(data).join(', ') || 'no type'} is not shown here.`);
}

/** Whether HTML shows nothing by itself, such as Plotly's and Bokeh's. */
function drawsElsewhere(html: string): boolean {
  const SHOWN = /<(img|svg|hr|input|video|audio)\b/i;
  const withoutStyles = html.replace(/<style\b[^]*?(<\/style\s*>|$)/gi, '');
  const fixed = withoutStyles.replace(/<(script|iframe|object|canvas)\b[^]*?(<\/\1\s*>|$)/gi, '');
  if (withoutStyles.trim() === '' || SHOWN.test(fixed)) return false;
  return fixed.replace(/<[^<>]*>/g, '').trim() === '';
}

const specSchema = z.record(z.string(), z.unknown());
const cellsSchema: z.ZodType<TableCells> = z.object({
  caption: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string())),
  exact: z.array(z.array(z.string())).optional(),
});

/** Renders an output; `alt` is its text. */
type Renderer = (text: string, rendering: Rendering, alt?: string) => Content;

/** The types that a page shows, richest first; any other is shown as text, or named. */
const MIME_TYPES = new Map<string, Renderer>([
  [MIME.html, (html) => cellOutput(html)],
  ...PICTURES.map((mime): [string, Renderer] => [mime, (text, _, alt) => picture(mime, text, alt)]),
  ['text/markdown', (text, { markdown }) => markdown.render(text)],
  ['text/latex', (text) => pre(text)],
]);

const aboutSchema = z.looseObject({
  summary: z.string(),
  provenance: z.looseObject({ questions: z.string().optional() }),
});

/** Whether an output shows results, which go to the top of the page. */
const isOpening = (output: CellOutput): boolean =>
  'data' in output &&
  MIME.html in output.data &&
  aboutSchema.safeParse(output.data[MIME.about]).success;

/** The output of the last results shown. */
const findOpening = (notebook: Notebook): { data: MimeBundle } | undefined =>
  codeCells(notebook)
    .flatMap(({ outputs }) => outputs.filter(isOpening))
    .filter((output) => 'data' in output)
    .at(-1);

export const cellAnchor = (cellId: string): string => `cell-${cellId}`;

const TRANSCRIPT_HEAD = `<style>${TRANSCRIPT_STYLE}</style>`;

/** Frames run no scripts and load no files. */
const NEEDS_MORE =
  /<(?:script|iframe|object|embed|link)\b|<[a-z]+\b[^<>]*\bsrc\s*=\s*["']?(?!data:)[^\s"'>]/i;

/** HTML of a cell in a page: harmless HTML unchanged, other HTML in a sandboxed frame. */
export function cellOutput(html: string): Content {
  const content = html.startsWith(TRANSCRIPT_HEAD) ? html.slice(TRANSCRIPT_HEAD.length) : html;
  if (isPlainHtml(content)) return markup('div.scroll', trustedHtml(content));
  const size = { width: '100%', height: 360 };
  return [
    markup('iframe', { sandbox: true, title: 'Output of a cell', ...size, srcdoc: html }),
    NEEDS_MORE.test(html) &&
      pre('Parts of this output may be missing: scripts and other files are not loaded here.'),
  ];
}
