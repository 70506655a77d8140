/** Shows charts, tables, results and findings in any front end of notebooks. */
import { findDisplayWriter } from '../notebook/tslab.js';
import type { TidyTable } from '../evaluation/table.js';
import { tableHtml, tableText } from '../html/table.js';
import { escapeHtml, markup, markupHtml } from '../html/markup.js';
import { segmentsMarkup } from '../html/segments.js';
import { TRANSCRIPT_STYLE } from '../html/styles.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { chartOfSpec, type Chart, type VegaLiteSpec } from './chart.js';
import { frameOf, type Frame, type Rows } from './frame.js';
import { renderSvg } from './render.js';
import { openingOf } from './opening.js';
import { plainTable, type Table } from './table.js';

/** Representations of an output by MIME type; a front end takes the richest it knows. */
export type MimeBundle = Record<string, unknown>;

/**
 * What a report is about: a sentence on it, its figures as data frames, and the tidy
 * table for the file beside the page.
 */
export interface ReportResults {
  kind: 'results';
  summary: string;
  /** A row for each figure. */
  rows: Frame;
  /** A row for each comparison of two. */
  contrasts: Frame;
  /** Further data frames, by name. */
  frames: Readonly<Record<string, Frame>>;
  /** Charts and tables that the result comes with. */
  figures: Readonly<Record<string, Chart | Table>>;
  tidy: TidyTable;
}

/** Results out of a tidy table. */
export const resultsOf = (summary: string, tidy: TidyTable): ReportResults => ({
  kind: 'results',
  summary,
  tidy,
  rows: frameOf(tidy.rows),
  contrasts: frameOf(tidy.contrasts),
  frames: {},
  figures: {},
});

/** What a section of a notebook found, in words. */
export interface Finding {
  kind: 'finding';
  text: string;
}
export const finding = (text: string): Finding => ({ kind: 'finding', text });

export type Displayable =
  Chart | Table | Rows | ReportResults | Transcript | Finding | (VegaLiteSpec & { kind?: never });

export const MIME = {
  /** JupyterLab 4 draws version 5, as an object. */
  vegaLite: 'application/vnd.vegalite.v5+json',
  svg: 'image/svg+xml',
  html: 'text/html',
  text: 'text/plain',
  /** The cells of a table. */
  table: 'application/vnd.parallelsearch.table+json',
  /** The tidy table behind a whole report. */
  tidy: 'application/vnd.parallelsearch.tidy+json',
} as const;

/** Duck-typed, because methods such as `head` return danfo's own class. */
const isRows = (item: object): item is Rows =>
  Array.isArray(item) || ('columns' in item && 'values' in item);

/**
 * All representations of `item`. A chart: interactive in JupyterLab, a picture in
 * nbviewer and VS Code, its text alternative in a terminal. A table: HTML, or aligned
 * text. Results: a sentence, and the tidy table for the export.
 */
export async function mimeBundle(item: Displayable): Promise<MimeBundle> {
  if (isRows(item)) return mimeBundle(plainTable(item));
  if (item.kind === undefined) return mimeBundle(chartOfSpec(item));
  switch (item.kind) {
    case 'results':
      return { ...openingOf(item), [MIME.tidy]: item.tidy };
    case 'transcript':
      return { [MIME.html]: item.html, [MIME.text]: item.text };
    case 'finding':
      return {
        [MIME.html]: `<p class="finding"><strong>Found:</strong> ${escapeHtml(item.text)}</p>`,
        [MIME.text]: item.text,
      };
    case 'table':
      return {
        [MIME.html]: tableHtml(item.cells),
        [MIME.table]: item.cells,
        [MIME.text]: tableText(item.cells),
      };
    case 'chart': {
      const text = `${item.title}\n${item.alt}`;
      return { [MIME.vegaLite]: item.spec, [MIME.svg]: await renderSvg(item), [MIME.text]: text };
    }
  }
}

/**
 * Shows a chart (also any Vega-Lite specification), a table (also a bare data frame, or
 * rows), results or a finding as the output of the running cell; outside of a notebook it
 * prints their text. Wait for it: `await display(chart)`.
 */
export async function display(item: Displayable): Promise<void> {
  const data = await mimeBundle(item);
  const write = findDisplayWriter();
  if (write) write({ data, metadata: {}, transient: {} }, false);
  else console.log(String(data[MIME.text]));
}

/** A trajectory for `display`. */
export interface Transcript {
  kind: 'transcript';
  html: string;
  text: string;
}

/**
 * A trajectory, segment by segment, for `display`.
 * @param address of a page with more about it, to link
 */
export function transcriptOf(
  { question, segments, searchTurns }: Pick<Trajectory, 'question' | 'segments' | 'searchTurns'>,
  address?: string,
): Transcript {
  const attributes = { role: 'group', 'aria-label': `Rollout: ${question}` };
  const link =
    address !== undefined && markup('p', markup('a', { href: address }, 'Open in the viewer'));
  const list = markup('div.ps-transcript', attributes, segmentsMarkup(segments, searchTurns), link);
  const text = segments.map(({ kind, text }) => `[${kind}] ${text.trim()}`).join('\n');
  return {
    kind: 'transcript',
    html: `<style>${TRANSCRIPT_STYLE}</style>${markupHtml(list)}`,
    text,
  };
}
