/** The cells of a table as texts, for a terminal and for a page. */

/** The content of a table as texts; a column `A · b` is column b in the group A. */
export interface TableCells {
  caption: string;
  columns: string[];
  rows: string[][];
}

/** Neighbouring columns of one group, or one column without a group. */
export interface ColumnRun {
  group: string | null;
  labels: string[];
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

const FIGURE = /^[-+−]?[\d.]+( \[.*\])?$|^–$/;

/** Which columns hold nothing but figures; these are aligned right. */
export function figureColumns({ columns, rows }: TableCells): boolean[] {
  return columns.map((_, c) => rows.every((row) => FIGURE.test(row[c])));
}

/** The header's groups from left to right: `A · b`, `A · c`, `d` are A over b and c, then d by itself. */
export function columnRuns(columns: readonly string[]): ColumnRun[] {
  const runs: ColumnRun[] = [];
  for (const column of columns) {
    const parts = column.split(' · ');
    const group = parts.slice(0, -1).join(' · ') || null;
    const label = parts[parts.length - 1];
    const last = runs.at(-1);
    if (group !== null && last?.group === group) last.labels.push(label);
    else runs.push({ group, labels: [label] });
  }
  return runs;
}

/** A table with caption and scoped headers; columns of figures are aligned by the class `figure`. */
export function tableHtml(cells: TableCells, className = 'ps-table'): string {
  const { caption, columns, rows } = cells;
  const figures = figureColumns(cells);
  const body = rows.map((row) => `<tr>${row.map((cell, c) => cellHtml(cell, c, figures[c])).join('')}</tr>`);
  return [
    `<table class="${className}">`,
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

/** One header row, or two when columns are grouped. */
function headHtml(columns: readonly string[], figures: readonly boolean[]): string {
  const runs = columnRuns(columns);
  const isGrouped = runs.some(({ group }) => group !== null);
  let column = 0;
  const leaf = (label: string, rows: string): string =>
    `<th scope="col"${rows}${figures[column++] ? ' class="figure"' : ''}>${escapeHtml(label)}</th>`;
  const [top, below]: [string[], string[]] = [[], []];
  for (const { group, labels } of runs) {
    if (group === null) {
      top.push(leaf(labels[0], isGrouped ? ' rowspan="2"' : ''));
      continue;
    }
    top.push(`<th scope="colgroup" colspan="${labels.length}">${escapeHtml(group)}</th>`);
    below.push(...labels.map((label) => leaf(label, '')));
  }
  return `<tr>${top.join('')}</tr>${isGrouped ? `<tr>${below.join('')}</tr>` : ''}`;
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
