/** One function that shows charts, tables and results wherever a notebook is read. */
import { createRequire } from 'node:module';
import { DataFrame } from 'danfojs-node';
import type { Results } from '../evaluation/load.js';
import type { TidyResults, TidyTable } from '../evaluation/table.js';
import type { Chart } from './chart.js';
import { tableHtml, tableText, type TableCells } from '../html/cells.js';
import { cellsOf, type Table } from './frame.js';
import { renderSvg } from './render.js';
import type { Transcript } from '../html/transcript.js';
import { claimsOf } from '../experiments/main-results/tables.js';

/** The representations of one output by MIME type, of which each front end takes the richest that it knows. */
export type MimeBundle = Record<string, unknown>;
/** What a page is about: a sentence on it, and the tidy table that goes into the file beside the page. */
export interface ReportResults {
  kind: 'results';
  summary: string;
  tidy: TidyTable;
}
export type Displayable = Chart | Table | DataFrame | Results | ReportResults | Transcript;

export const MIME = {
  /** JupyterLab 4 draws this one (an object; version 6 and JSON text are not drawn). */
  vegaLite: 'application/vnd.vegalite.v5+json',
  svg: 'image/svg+xml',
  html: 'text/html',
  text: 'text/plain',
  /** The cells of a table, for exports. */
  table: 'application/vnd.parallelsearch.table+json',
  /** The tidy table behind a whole report. */
  tidy: 'application/vnd.parallelsearch.tidy+json',
} as const;

/**
 * All representations of `item`. A chart: interactive in JupyterLab, a picture in nbviewer and VS Code, its text
 * alternative in a terminal. A table: HTML, or aligned text. Results: a sentence, and the tidy table for the export.
 */
export async function mimeBundle(item: Displayable): Promise<MimeBundle> {
  if (item instanceof DataFrame) return tableBundle(cellsOf({ kind: 'table', caption: '', frame: item }));
  if ('questions' in item) return resultsBundle(item);
  if (item.kind === 'results') return { [MIME.text]: item.summary, [MIME.tidy]: item.tidy };
  if (item.kind === 'transcript') return { [MIME.html]: item.html, [MIME.text]: item.text };
  if (item.kind === 'table') return tableBundle(cellsOf(item));
  const text = `${item.title}\n${item.alt}`;
  return { [MIME.vegaLite]: item.spec, [MIME.svg]: await renderSvg(item), [MIME.text]: text };
}

function tableBundle(cells: TableCells): MimeBundle {
  return { [MIME.html]: tableHtml(cells), [MIME.table]: cells, [MIME.text]: tableText(cells) };
}

function resultsBundle(results: Results): MimeBundle {
  const { rows, contrasts, provenance } = results.tidy;
  const headlines = claimsOf(results);
  const tidy: TidyResults = { rows, contrasts, provenance: { ...provenance, headlines } };
  const count = (n: number): string => n.toLocaleString('en');
  const text = `${count(results.questions.length)} answers, ${count(rows.length)} figures, ${count(contrasts.length)} comparisons.`;
  return { [MIME.text]: text, [MIME.tidy]: tidy };
}

/**
 * Shows a chart, a table (also a bare data frame) or results as the output of the running cell; outside of a notebook
 * it prints their text. Wait for it: `await display(chart)`.
 */
export async function display(item: Displayable): Promise<void> {
  const data = await mimeBundle(item);
  const write = kernelWriter();
  if (write) write({ data, metadata: {}, transient: {} }, false);
  else console.log(String(data[MIME.text]));
}

type WriteDisplayData = (
  content: { data: MimeBundle; metadata: object; transient: object },
  update: boolean,
) => void;

/**
 * The function with which tslab writes a display, or undefined outside of a notebook. tslab's own `display` writes one
 * MIME type only, so the kernel's module is used; it is found among the loaded modules, never loaded.
 */
function kernelWriter(): WriteDisplayData | undefined {
  const { cache } = createRequire(import.meta.url);
  for (const [file, module] of Object.entries(cache)) {
    if (!/[\\/]tslab[\\/]dist[\\/]jupyter\.js$/.test(file)) continue;
    const write = (module?.exports as { lastWriteDisplayData?: WriteDisplayData | null })
      .lastWriteDisplayData;
    if (write) return write;
  }
  return undefined;
}
