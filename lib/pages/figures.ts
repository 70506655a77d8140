/** Charts and tables as figures of a page, with their data and files to download. */
import { escapeHtml } from '../report/markup.js';
import { inlineJson } from './page.js';
import {
  TABLE_FORMATS,
  tableHtml,
  type TableCells,
  type TableFormat,
} from '../report/table-formats.js';
import { chartData, wrapSpec, type VegaLiteSpec } from '../report/charts/spec.js';

interface ChartFigure {
  /** Unique in the page. */
  id: string;
  /** Name of downloads, without ending. */
  name: string;
  spec: VegaLiteSpec;
  svg: string;
  /** Whether the picture stays static. */
  isStill?: boolean;
}

/**
 * A chart as a picture, followed by its text alternative, its data as table and CSV
 * (folded), and the specification that makes it interactive, unless it is still.
 */
export function chartHtml({ id, name, spec, svg, isStill = false }: ChartFigure): string {
  const { title, alt } = wrapSpec(spec);
  const data = chartData(spec, `Data of the chart: ${title}`);
  return [
    `<figure class="chart" id="${id}" aria-label="${escapeHtml(title)}">`,
    `<div class="drawing" role="img" tabindex="0" aria-label="${escapeHtml(alt)}">${withUniqueIds(svg, id)}</div>`,
    `<details class="data"><summary>Data and files</summary><p>${escapeHtml(alt)}</p>`,
    downloadsHtml({ ...data, caption: title }, name, ['csv']),
    `${scrolling(data.caption, foldedHtml(tableHtml(data)))}</details>`,
    isStill
      ? '<p>This chart is interactive in Jupyter. Here it is a picture.</p>'
      : `<script type="application/json" data-chart="${id}" data-name="${escapeHtml(name)}">${inlineJson(spec)}</script>`,
    '</figure>',
  ].join('\n');
}

/** A table with its downloads, folded behind its caption if `isFolded`. */
export function tableFigureHtml(cells: TableCells, name: string, isFolded = false): string {
  const caption = cells.caption || 'Table';
  // The chart before it already says so.
  const about = caption.replace(/^Small world(, fresh test)?\. /, '');
  const label = about.startsWith('Table') ? about : `Table: ${about}`;
  const summary = `<summary>${escapeHtml(label)}</summary>`;
  const table = tableHtml(cells);
  const html = [
    scrolling(caption, isFolded ? foldedHtml(table) : table),
    downloadsHtml(cells, name, ['csv', 'tex', 'md']),
    `<script type="application/json" data-table="${escapeHtml(name)}">${inlineJson(cells)}</script>`,
  ].join('\n');
  return isFolded ? `<details class="data">${summary}${html}</details>` : html;
}

/** Parsed only when unfolded (`browser/report.ts`), or without scripts. */
const foldedHtml = (html: string): string => `<noscript>${html}</noscript>`;

/** Makes wide content scroll, also by keyboard. */
function scrolling(label: string, html: string): string {
  return `<div class="scroll" role="group" aria-label="${escapeHtml(label)}" tabindex="0">${html}</div>`;
}

/** Links that contain their files, so that they work without scripts. */
function downloadsHtml(cells: TableCells, name: string, formats: readonly TableFormat[]): string {
  const links = formats.map((format) => {
    const { title: label, mime, print } = TABLE_FORMATS[format];
    const content = Buffer.from(print(cells, name)).toString('base64');
    const file = escapeHtml(`${name}.${format}`);
    const spoken = escapeHtml(`${label}: ${cells.caption}`);
    return `<a download="${file}" href="data:${mime};charset=utf-8;base64,${content}" aria-label="${spoken}">${label}</a>`;
  });
  return `<p class="downloads">Download: ${links.join(' ')}</p>`;
}

/** Prefixes the ids of clip paths and gradients, which must be unique in a page. */
export function withUniqueIds(svg: string, prefix: string): string {
  return svg
    .replace(/\bid="([^"]+)"/g, `id="${prefix}-$1"`)
    .replace(/url\(#([^)]+)\)/g, `url(#${prefix}-$1)`);
}
