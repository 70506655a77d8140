/** Shows charts, tables, results and findings in any notebook front end. */
import { MIME, type MimeBundle } from '../notebook/nbformat.js';
import { displayInCell, onLastExpression } from '../notebook/tslab.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { plural } from '../text/english.js';
import { renderSvg } from './charts/render.js';
import { wrapSpec, type Chart, type VegaLiteSpec } from './charts/spec.js';
import { readableSpec } from './charts/readable.js';
import {
  createFrame,
  isSeries,
  seriesRows,
  type Frame,
  type Rows,
  type SeriesLike,
} from './frame.js';
import { markup, markupHtml, trustedHtml } from './markup.js';
import { openingBundle, type About, type ResultParts } from './result.js';
import { segmentsMarkup } from './segments.js';
import { TRANSCRIPT_STYLE } from './styles.js';
import { tableMarkup, tableText } from './table-formats.js';
import { dataTable, type Table } from './table.js';

/** A result for notebooks: {@link ResultParts} with data frames instead of rows. */
export interface ReportResults extends Required<About> {
  kind: 'results';
  /** One row per figure. */
  rows: Frame;
  /** One row per comparison. */
  contrasts: Frame;
  /** Further data frames, by name. */
  frames: Readonly<Record<string, Frame>>;
  figures: Readonly<Record<string, Chart | Table>>;
}

/** Turns the rows of a result into data frames. */
export const createResults = ({
  rows,
  contrasts,
  frames = {},
  figures = {},
  predictions = [],
  ...about
}: ResultParts): ReportResults => ({
  ...about,
  kind: 'results',
  predictions,
  rows: createFrame(rows),
  contrasts: createFrame(contrasts),
  frames: Object.fromEntries(
    Object.entries(frames).map(([name, items]) => [name, createFrame(items)]),
  ),
  figures,
});

/** The finding of a notebook section. */
export interface Finding {
  kind: 'finding';
  text: string;
}
export const finding = (text: string): Finding => ({ kind: 'finding', text });

export type Displayable =
  | Chart
  | Table
  | Rows
  | SeriesLike
  | ReportResults
  | Transcript
  | Finding
  | (VegaLiteSpec & { kind?: never });

/** Duck-typed, because methods such as `head` return danfo's own class. */
const isRows = (item: object): item is Rows =>
  Array.isArray(item) || ('columns' in item && 'values' in item);

/**
 * All representations of `item`. A chart: interactive in JupyterLab, a picture in
 * nbviewer and VS Code, its text alternative in a terminal. A table: HTML, or aligned
 * text. Results: finding, failed predictions and questions.
 */
export async function mimeBundle(item: Displayable): Promise<MimeBundle> {
  if (isSeries(item)) return mimeBundle(dataTable(seriesRows(item), 'Series'));
  if (isRows(item)) return mimeBundle(dataTable(item));
  if (item.kind === undefined) return mimeBundle(wrapSpec(item));
  switch (item.kind) {
    case 'results': {
      const { finding, summary, predictions, provenance } = item;
      const about: About = { finding, summary, predictions, provenance };
      return { ...openingBundle(about), [MIME.about]: about };
    }
    case 'transcript':
      return { [MIME.html]: item.html, [MIME.text]: item.text };
    case 'finding': {
      const html = markup('p.finding', markup('strong', 'Found:'), ` ${item.text}`);
      return { [MIME.html]: markupHtml(html), [MIME.text]: item.text };
    }
    case 'table':
      return {
        [MIME.html]: markupHtml(tableMarkup(item.cells)),
        [MIME.table]: item.cells,
        [MIME.text]: tableText(item.cells),
      };
    case 'chart': {
      const text = `${item.title}\n${item.alt}`;
      return {
        [MIME.vegaLite]: readableSpec(item.spec),
        [MIME.svg]: await renderSvg(item),
        [MIME.text]: text,
      };
    }
  }
}

/**
 * Shows a chart (also any Vega-Lite specification), a table (also a bare data frame, or
 * rows), results or a finding as output of the running cell; outside a notebook, prints
 * their text. Await it: `await display(chart)`. A cell's last expression is shown without
 * it; of a data frame, the first 50 rows.
 */
export function display(item: Displayable): Promise<void> {
  const bundle = mimeBundle(item);
  return displayInCell(bundle) ?? bundle.then((data) => console.log(String(data[MIME.text])));
}

const KINDS: readonly unknown[] = ['results', 'transcript', 'finding', 'table', 'chart'];
const MAX_PREVIEW_ROWS = 50;

/** What to show for the value of an expression; null for a value that is only printed. */
function asDisplayable(value: unknown): Displayable | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  if (isSeries(value)) return previewTable(seriesRows(value), 'Series');
  if (isRows(value)) return previewTable(value, 'Data frame');
  if ('kind' in value && KINDS.includes(value.kind)) return value as Displayable;
  const isSpec = '$schema' in value && /\/vega-lite\//.test(String(value.$schema));
  return isSpec ? value : null;
}

function previewTable(frame: Rows, name: string): Table {
  const { cells } = dataTable(frame);
  const [rows, exact] = [cells.rows, cells.exact!].map((all) => all.slice(0, MAX_PREVIEW_ROWS));
  const numRows = plural(cells.rows.length, 'row');
  const part = rows.length < cells.rows.length ? `, the first ${rows.length} shown` : '';
  const caption = `${name} (${numRows}${part})`;
  return { kind: 'table', cells: { ...cells, caption, rows, exact } };
}

onLastExpression((value) => {
  const item = asDisplayable(value);
  if (item) display(item).catch((error: unknown) => console.error(error));
  return item !== null;
});

/** A trajectory for `display`. */
export interface Transcript {
  kind: 'transcript';
  html: string;
  text: string;
}

/** Makes a trajectory displayable, by segments. @param address of a page to link to */
export function createTranscript(
  trajectory: Pick<Trajectory, 'question' | 'segments' | 'searchTurns' | 'querySeparator'>,
  address?: string,
): Transcript {
  const { question, segments, searchTurns } = trajectory;
  const attributes = { role: 'group', 'aria-label': `Rollout: ${question}` };
  const link =
    address !== undefined && markup('p', markup('a', { href: address }, 'Open in the viewer'));
  const list = segmentsMarkup(trajectory, searchTurns);
  const text = segments.map(({ kind, text }) => `[${kind}] ${text.trim()}`).join('\n');
  const style = markup('style', trustedHtml(TRANSCRIPT_STYLE));
  const html = markupHtml([style, markup('div.ps-transcript', attributes, list, link)]);
  return { kind: 'transcript', html, text };
}
