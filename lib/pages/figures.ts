/** Charts and tables as figures of a page, with their data and files to download. */
import { chartData, wrapSpec, type VegaLiteSpec } from '../report/charts/spec.js';
import { markup, trustedHtml, type Content, type Markup } from '../report/markup.js';
import {
  TABLE_FORMATS,
  tableMarkup,
  type TableCells,
  type TableFormat,
} from '../report/table-formats.js';
import { dataScript } from './page.js';

interface ChartFigure {
  /** Unique in the page. */
  id: string;
  /** Name of downloads, without ending. */
  name: string;
  spec: VegaLiteSpec;
  drawing: Content;
  /** Whether the picture stays static. */
  isStill?: boolean;
}

/**
 * A chart as a picture, followed by its text alternative, its data as table and CSV
 * (folded), and the specification that makes it interactive, unless it is still.
 */
export function chartFigure({ id, name, spec, drawing, isStill = false }: ChartFigure): Markup {
  const { title, alt } = wrapSpec(spec);
  const data = chartData(spec, `Data of the chart: ${title}`);
  return markup(
    'figure.chart',
    { id, 'aria-label': title },
    markup('div.drawing', { role: 'img', tabindex: 0, 'aria-label': alt }, drawing),
    markup(
      'details.data',
      markup('summary', 'Data and files'),
      markup('p', alt),
      downloads({ ...data, caption: title }, name, ['csv']),
      scrollable(data.caption, markup('noscript', tableMarkup(data))),
    ),
    isStill
      ? markup('p', 'This chart is interactive in Jupyter. Here it is a picture.')
      : dataScript(spec, { 'data-chart': id, 'data-name': name }),
  );
}

/** A drawing by Vega, with ids that are unique in the page. */
export const vegaDrawing = (svg: string, prefix: string): Content =>
  trustedHtml(
    svg
      .replace(/\bid="([^"]+)"/g, `id="${prefix}-$1"`)
      .replace(/url\(#([^)]+)\)/g, `url(#${prefix}-$1)`),
  );

/**
 * A table with its downloads, folded behind its caption if `isFolded`. A folded table is
 * parsed when it is unfolded (`browser/report.ts`), or without scripts.
 */
export function tableFigure(cells: TableCells, name: string, isFolded = false): Content {
  const caption = cells.caption || 'Table';
  const table = tableMarkup(cells);
  const figure = [
    scrollable(caption, isFolded ? markup('noscript', table) : table),
    downloads(cells, name, ['csv', 'tex', 'md']),
    dataScript(cells, { 'data-table': name }),
  ];
  if (!isFolded) return figure;
  // The chart before it already says so.
  const about = caption.replace(/^Small world(, fresh test)?\. /, '');
  const label = about.startsWith('Table') ? about : `Table: ${about}`;
  return markup('details.data', markup('summary', label), figure);
}

/** Makes wide content scroll, also by keyboard. */
export const scrollable = (label: string, content: Content, selector = 'div.scroll'): Markup =>
  markup(selector, { role: 'group', 'aria-label': label, tabindex: 0 }, content);

/** Links that contain their files, so that they work without scripts. */
function downloads(cells: TableCells, name: string, formats: readonly TableFormat[]): Markup {
  const links = formats.map((format) => {
    const { title, mime, print } = TABLE_FORMATS[format];
    const content = Buffer.from(print(cells, name)).toString('base64');
    const attributes = {
      download: `${name}.${format}`,
      href: `data:${mime};charset=utf-8;base64,${content}`,
      'aria-label': `${title}: ${cells.caption}`,
    };
    return [' ', markup('a', attributes, title)];
  });
  return markup('p.downloads', 'Download:', links);
}
