/** The cells of a table as texts, for a terminal and for a page. */
import { markup, markupHtml, type Markup } from './markup.js';

/** The content of a table as texts; a column `A · b` is column b in the group A. */
export interface TableCells {
  caption: string;
  columns: string[];
  rows: string[][];
}

/** Neighbouring columns of one group, or one column without a group. */
export interface ColumnRun {
  group: string | null;
  /** Position of its first column. */
  first: number;
  labels: string[];
}

const FIGURE = /^[-+−]?[\d.]+( \[.*\])?$|^–$/;

/** Which columns hold nothing but figures; these are aligned right. */
export function figureColumns({ columns, rows }: TableCells): boolean[] {
  return columns.map((_, c) => rows.every((row) => FIGURE.test(row[c])));
}

/**
 * The header's groups from left to right: `A · b`, `A · c`, `d` are A over b and c, then
 * d by itself.
 */
export function columnRuns(columns: readonly string[]): ColumnRun[] {
  const runs: ColumnRun[] = [];
  for (const [first, column] of columns.entries()) {
    const [label, ...groups] = column.split(' · ').reverse();
    const group = groups.reverse().join(' · ') || null;
    const last = runs.at(-1);
    if (group !== null && last?.group === group) last.labels.push(label);
    else runs.push({ group, first, labels: [label] });
  }
  return runs;
}

/**
 * A table with caption and scoped headers; columns of figures are aligned by the class
 * `figure`.
 */
export function tableHtml(cells: TableCells, className = 'ps-table'): string {
  const { caption, columns, rows } = cells;
  const classes = figureColumns(cells).map((isFigure) => (isFigure ? 'figure' : null));
  const cellOf = (cell: string, c: number): Markup =>
    c === 0 ? markup('th', { scope: 'row' }, cell) : markup('td', { class: classes[c] }, cell);
  const head = markup('thead', headRows(columns, classes));
  const body = markup(
    'tbody',
    rows.map((row) => markup('tr', row.map(cellOf))),
  );
  return markupHtml(markup('table', { class: className }, markup('caption', caption), head, body));
}

/** One header row, or two when columns are grouped. */
function headRows(columns: readonly string[], classes: readonly (string | null)[]): Markup[] {
  const runs = columnRuns(columns);
  const isGrouped = runs.some(({ group }) => group !== null);
  const cell = (label: string, column: number, rowspan?: number): Markup =>
    markup('th', { scope: 'col', rowspan, class: classes[column] }, label);
  const top = runs.map(({ group, labels, first }) =>
    group === null
      ? cell(labels[0], first, isGrouped ? 2 : undefined)
      : markup('th', { scope: 'colgroup', colspan: labels.length }, group),
  );
  const below = runs.map(
    ({ group, labels, first }) =>
      group !== null && labels.map((label, i) => cell(label, first + i)),
  );
  return [markup('tr', top), ...(isGrouped ? [markup('tr', below)] : [])];
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
