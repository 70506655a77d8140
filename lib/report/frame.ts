/** Data frames as tables: plain text for a terminal, HTML for a page, and the cells themselves for both. */
import { DataFrame } from 'danfojs-node';

/** A data frame with the sentence that says what it shows. */
export interface Table {
  kind: 'table';
  caption: string;
  frame: DataFrame;
}

/** The content of a table as texts; a column `A · b` is column b in the group A. */
export interface TableCells {
  caption: string;
  columns: string[];
  rows: string[][];
}

type CellValue = string | number | boolean | null | undefined;

/** Makes a table from records, which all have the same keys in the same order. */
export function tableOf(caption: string, records: readonly Record<string, string | number>[]): Table {
  if (records.length === 0) throw new Error(`Expected rows for the table "${caption}", but got none.`);
  return { kind: 'table', caption, frame: new DataFrame(records.map((record) => ({ ...record }))) };
}

/** The cells of a data frame as texts; numbers keep at most four significant decimals, missing values are dashes. */
export function cellsOf({ caption, frame }: Table): TableCells {
  const rows = frame.values as CellValue[][];
  return { caption, columns: [...frame.columns], rows: rows.map((row) => row.map(cellText)) };
}

function cellText(value: CellValue): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  return typeof value === 'number' ? String(Number(value.toFixed(4))) : String(value);
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text made safe inside HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]);
}

const isFigure = (text: string): boolean => /^[-+−]?[\d.]+( \[.*\])?$|^–$/.test(text);

/** A table with caption and scoped headers; columns of figures are aligned by the class `figure`. */
export function tableHtml({ caption, columns, rows }: TableCells): string {
  const figures = columns.map((_, c) => rows.every((row) => isFigure(row[c])));
  const body = rows.map((row) => `<tr>${row.map((cell, c) => cellHtml(cell, c, figures[c])).join('')}</tr>`);
  return [
    '<table class="ps-table">',
    `<caption>${escapeHtml(caption)}</caption>`,
    `<thead>${headHtml(columns, figures)}</thead>`,
    `<tbody>${body.join('\n')}</tbody>`,
    '</table>',
  ].join('\n');
}

function cellHtml(cell: string, column: number, figure: boolean): string {
  if (column === 0) return `<th scope="row">${escapeHtml(cell)}</th>`;
  return `<td${figure ? ' class="figure"' : ''}>${escapeHtml(cell)}</td>`;
}

/** One header row, or two when columns are grouped: `A · b` and `A · c` become A over b and c. */
function headHtml(columns: readonly string[], figures: readonly boolean[]): string {
  const split = columns.map((column) => column.split(' · '));
  const isGrouped = split.some((parts) => parts.length > 1);
  const label = (c: number): string => escapeHtml(split[c].slice(-1)[0]);
  const leaf = (c: number, rows: string): string =>
    `<th scope="col"${rows}${figures[c] ? ' class="figure"' : ''}>${label(c)}</th>`;
  if (!isGrouped) return `<tr>${columns.map((_, c) => leaf(c, '')).join('')}</tr>`;
  const top: string[] = [];
  for (let c = 0, span = 1; c < split.length; c += span, span = 1) {
    if (split[c].length === 1) {
      top.push(leaf(c, ' rowspan="2"'));
      continue;
    }
    while (split[c + span]?.length > 1 && split[c + span][0] === split[c][0]) span++;
    top.push(`<th scope="colgroup" colspan="${span}">${escapeHtml(split[c][0])}</th>`);
  }
  const below = split.flatMap((parts, c) => (parts.length > 1 ? [leaf(c, '')] : []));
  return `<tr>${top.join('')}</tr><tr>${below.join('')}</tr>`;
}

/** A table for a terminal: aligned columns under the caption. */
export function tableText({ caption, columns, rows }: TableCells): string {
  const lines = [columns, ...rows];
  const widths = columns.map((_, c) => Math.max(...lines.map((line) => line[c].length)));
  const text = lines.map((line) =>
    line
      .map((cell, c) => cell.padEnd(widths[c]))
      .join('  ')
      .trimEnd(),
  );
  return [caption, ...text].join('\n');
}
