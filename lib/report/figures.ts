/** Charts and tables in a page: what one sees, the data behind it, files to take along. */
import { escapeHtml, tableHtml, type TableCells } from '../html/cells.js';
import { chartData } from './chart-data.js';
import type { VegaLiteSpec } from './chart.js';
import { inlineJson } from '../html/page.js';
import { TABLE_FORMATS, type TableFormat } from './table-formats.js';

/** What a page's chart is made of. */
export interface ChartFigure {
  /** Unique in the page. */
  id: string;
  /** Of exported files, without ending. */
  name: string;
  spec: VegaLiteSpec;
  /** The chart as a picture. */
  svg: string;
}

/**
 * A picture, its text alternative, its data as table and CSV, and the specification that makes it interactive. A wide
 * picture scrolls, also by keyboard.
 */
export function chartHtml({ id, name, spec, svg }: ChartFigure): string {
  const alt = typeof spec.description === 'string' ? spec.description : '';
  const title = titleOf(spec) || name;
  const data = chartData(spec, `Data of the chart: ${title}`);
  return [
    `<figure class="chart" id="${id}" aria-labelledby="${id}-alt">`,
    `<div class="drawing" role="img" tabindex="0" aria-labelledby="${id}-alt">${withUniqueIds(svg, id)}</div>`,
    `<figcaption id="${id}-alt">${escapeHtml(alt)}</figcaption>`,
    `<details class="data"><summary>Data of the chart</summary>${scrolling(data.caption, tableHtml(data, 'data'))}</details>`,
    downloadsHtml(data, { name, title, formats: ['csv'] }),
    `<script type="application/json" data-chart="${id}" data-name="${escapeHtml(name)}">${inlineJson(spec)}</script>`,
    '</figure>',
  ].join('\n');
}

/** A table, files of it, and its cells for exports. A wide table scrolls, also by keyboard. */
export function tableFigureHtml(cells: TableCells, name: string): string {
  return [
    scrolling(cells.caption || 'Table', tableHtml(cells)),
    downloadsHtml(cells, { name, title: cells.caption, formats: ['csv', 'tex', 'md'] }),
    `<script type="application/json" data-table="${escapeHtml(name)}">${inlineJson(cells)}</script>`,
  ].join('\n');
}

/** The title that a chart shows. */
export function titleOf({ title }: VegaLiteSpec): string {
  const text = typeof title === 'object' && title !== null ? (title as { text?: unknown }).text : title;
  return typeof text === 'string' ? text : '';
}

function scrolling(label: string, html: string): string {
  return `<div class="scroll" role="group" aria-label="${escapeHtml(label)}" tabindex="0">${html}</div>`;
}

interface Downloads {
  name: string;
  title: string;
  formats: readonly TableFormat[];
}

/** Links whose files are inside them, so that they work without scripts. */
function downloadsHtml(cells: TableCells, { name, title, formats }: Downloads): string {
  const links = formats.map((format) => {
    const { title: label, mime, print } = TABLE_FORMATS[format];
    const content = Buffer.from(print(cells, name)).toString('base64');
    const file = escapeHtml(`${name}.${format}`);
    const spoken = escapeHtml(`${label}: ${title}`);
    return `<a download="${file}" href="data:${mime};charset=utf-8;base64,${content}" aria-label="${spoken}">${label}</a>`;
  });
  return `<p class="downloads">Download: ${links.join(' ')}</p>`;
}

/** Pictures of one page must not share the ids of their clip paths and gradients. */
function withUniqueIds(svg: string, prefix: string): string {
  return svg
    .replace(/\bid="([^"]+)"/g, `id="${prefix}-$1"`)
    .replace(/url\(#([^)]+)\)/g, `url(#${prefix}-$1)`);
}
