/** Outputs of notebook cells as HTML. */
import { z } from 'zod';
import { describeError, printExactJson } from '../../io/json.js';
import {
  isJsonMime,
  joinLines,
  MIME,
  type CellOutput,
  type MimeBundle,
} from '../../notebook/nbformat.js';
import { markup, trustedHtml, type Content, type Markup } from '../../report/markup.js';
import { TRANSCRIPT_STYLE } from '../../report/styles.js';
import type { TableCells } from '../../report/table-formats.js';
import { chartFigure, tableFigure, vegaDrawing } from '../figures.js';
import type { PreparedCharts } from './charts.js';
import { createMarkdown, picture, PICTURES, type MarkdownRenderer } from './markdown.js';
import { isPlainHtml, isPlainSvg } from './plain.js';
import { terminalText } from './terminal-text.js';

export interface Rendering {
  markdown: MarkdownRenderer;
  numCharts: number;
  /** Whether the section has had a chart; its tables are then folded. */
  hasChart: boolean;
  charts: PreparedCharts;
}

/** Longer tables are folded. */
const MAX_OPEN_ROWS = 6;

export const pre = (text: string, style?: string): Markup =>
  markup('pre', { class: style }, terminalText(text));

/** The traceback, and the error unless it is in there. */
export function tracebackText({
  traceback,
  ename,
  evalue,
}: Extract<CellOutput, { output_type: 'error' }>) {
  const text = terminalText(traceback.join('\n'));
  return text !== '' && [ename, evalue].every((part) => text.includes(part))
    ? text
    : `${text}\n${ename}: ${evalue}`.trim();
}

export function outputMarkup(output: CellOutput, name: string, rendering: Rendering): Content {
  if (output.output_type === 'stream')
    return pre(joinLines(output.text), output.name === 'stderr' ? 'stderr' : 'stdout');
  if (output.output_type === 'error') return pre(tracebackText(output), 'stderr');
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

/** The id of a widget; its text is the state at the start, such as a bar at 0 %. */
const WIDGET = 'application/vnd.jupyter.widget-view+json';

function richestMarkup(data: MimeBundle, name: string, rendering: Rendering): Content {
  const text = (mime: string): string | undefined =>
    mime in data ? joinLines(data[mime] as string | string[]) : undefined;
  const chart = rendering.charts.get(data);
  if (chart instanceof Error) throw chart;
  if (chart) {
    const { spec, still, warnings } = chart;
    const svg = still ?? text(MIME.svg) ?? '';
    const id = `chart-${rendering.numCharts + 1}`;
    // A foreign picture may contain anything, even a redirect of the page.
    const drawing = svg === '' || isPlainSvg(svg) ? vegaDrawing(svg, id) : picture(MIME.svg, svg);
    const figure = chartFigure({ id, name, spec, drawing, isStill: still !== undefined });
    rendering.hasChart = true;
    rendering.numCharts++;
    const note = `This chart may differ: ${warnings.join('; ')}`;
    return [figure, warnings.length > 0 && pre(note)];
  }
  if (MIME.table in data) {
    const cells = cellsSchema.parse(data[MIME.table]);
    return tableFigure(cells, name, rendering.hasChart || cells.rows.length > MAX_OPEN_ROWS);
  }
  const isBlank = WIDGET in data || drawsElsewhere(text(MIME.html) ?? '');
  if (isBlank && !PICTURES.some((mime) => mime in data)) {
    const note = `This output (${Object.keys(data).join(', ')}) needs scripts or other pages, which are not loaded here.`;
    return pre([note, text(MIME.text) ?? ''].join('\n').trim());
  }
  for (const [mime, render] of MIME_TYPES)
    if (text(mime)?.trim() && !(isBlank && mime === MIME.html))
      return render(text(mime)!, rendering, text(MIME.text));
  // JSON of other types is for programs. Bokeh's may be empty.
  const types = Object.keys(data).filter((mime) => isJsonMime(mime) && data[mime] !== '');
  const json = ['application/json', ...types];
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

const cellsSchema: z.ZodType<TableCells> = z.object({
  caption: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string())),
  exact: z.array(z.array(z.string())).optional(),
});

/** Renders an output; `alt` is its text. */
type Renderer = (text: string, rendering: Rendering, alt?: string) => Content;

/** The types that a page shows, richest first; any other is shown as text, or named. */
export const MIME_TYPES = new Map<string, Renderer>([
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
export const isOpening = (output: CellOutput): boolean =>
  'data' in output &&
  MIME.html in output.data &&
  aboutSchema.safeParse(output.data[MIME.about]).success;

const TRANSCRIPT_HEAD = `<style>${TRANSCRIPT_STYLE}</style>`;

const LOADING_TAG = /<(?:script|iframe|object|embed|link)\b/;
const LOADING_ATTRIBUTE = /<(?:[a-z]+\b[^<>]*\b(?:src|srcset|poster)|image\b[^<>]*\bhref)/;
const LOADING_STYLE = /@import\b|\burl\(\s*(?:["']|&quot;)?(?!data:|#|["'&\s)])/;
const OUTSIDE_ADDRESS = /\s*=\s*["']?(?!data:|#)[^\s"'>]/;
/** Frames run no scripts and load no files. */
const NEEDS_MORE = new RegExp(
  `${LOADING_TAG.source}|${LOADING_STYLE.source}|${LOADING_ATTRIBUTE.source}${OUTSIDE_ADDRESS.source}`,
  'i',
);

/** HTML of a cell in a page: harmless HTML unchanged, other HTML in a sandboxed frame. */
export function cellOutput(html: string): Content {
  const content = html.startsWith(TRANSCRIPT_HEAD) ? html.slice(TRANSCRIPT_HEAD.length) : html;
  if (isPlainHtml(content)) return markup('div.scroll', trustedHtml(content));
  const size = { width: '100%', height: 360 };
  // No policy blocks `<link rel="preconnect">`, not even in a frame in this frame.
  const srcdoc = html.replace(/<(?=(?:link|iframe)\b)/gi, '<x-');
  return [
    markup('iframe', { sandbox: true, title: 'Output of a cell', ...size, srcdoc }),
    NEEDS_MORE.test(html) &&
      pre('Parts of this output may be missing: scripts and other files are not loaded here.'),
  ];
}
