import { tableHtml, type TableCells, TABLE_FORMATS, type TableFormat } from '../html/table.js';
import { escapeHtml } from '../html/markup.js';
import { chartData, type VegaLiteSpec } from './chart.js';
import { inlineJson } from '../html/page.js';

/**
 * Charts and tables in a page: what one sees, the data behind it, files to take along.
 */

/**
 * What a page's chart is made of: an id of its own, the name of exported files without
 * ending, the picture.
 */
interface ChartFigure {
  id: string;
  name: string;
  spec: VegaLiteSpec;
  svg: string;
}

/**
 * A picture, folded behind it its text alternative, its data as table and CSV, and the
 * specification that makes it interactive. A wide picture scrolls, also by keyboard.
 */
export function chartHtml({ id, name, spec, svg }: ChartFigure): string {
  const alt = typeof spec.description === 'string' ? spec.description : '';
  const { text = spec.title } = (spec.title ?? {}) as { text?: unknown };
  const title = typeof text === 'string' ? text : name;
  const data = chartData(spec, `Data of the chart: ${title}`);
  return [
    `<figure class="chart" id="${id}" aria-label="${escapeHtml(title)}">`,
    `<div class="drawing" role="img" tabindex="0" aria-label="${escapeHtml(alt)}">${withUniqueIds(svg, id)}</div>`,
    `<details class="data"><summary>Figures and files</summary><p>${escapeHtml(alt)}</p>`,
    downloadsHtml({ ...data, caption: title }, name, ['csv']),
    `${scrolling(data.caption, tableHtml(data, 'data'))}</details>`,
    `<script type="application/json" data-chart="${id}" data-name="${escapeHtml(name)}">${inlineJson(spec)}</script>`,
    '</figure>',
  ].join('\n');
}

/**
 * A table, files of it, and its cells for exports; `isFolded` behind its caption. A wide
 * table scrolls, also by keyboard.
 */
export function tableFigureHtml(cells: TableCells, name: string, isFolded = false): string {
  const caption = cells.caption || 'Table';
  // Behind a chart that says so, the caption need not.
  const summary = `<summary>Table: ${escapeHtml(caption.replace(/^Small world\. /, ''))}</summary>`;
  const html = [
    scrolling(caption, tableHtml(cells)),
    downloadsHtml(cells, name, ['csv', 'tex', 'md']),
    `<script type="application/json" data-table="${escapeHtml(name)}">${inlineJson(cells)}</script>`,
  ].join('\n');
  return isFolded ? `<details class="data">${summary}${html}</details>` : html;
}

function scrolling(label: string, html: string): string {
  return `<div class="scroll" role="group" aria-label="${escapeHtml(label)}" tabindex="0">${html}</div>`;
}

/** Links whose files are inside them, so that they work without scripts. */
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

/** Pictures of one page must not share the ids of their clip paths and gradients. */
export function withUniqueIds(svg: string, prefix: string): string {
  return svg
    .replace(/\bid="([^"]+)"/g, `id="${prefix}-$1"`)
    .replace(/url\(#([^)]+)\)/g, `url(#${prefix}-$1)`);
}
