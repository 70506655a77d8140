/** Renders tables as HTML, plain text, CSV, Markdown and LaTeX. */
import { max } from 'd3-array';
import Papa from 'papaparse';
import { markup, type Markup } from './markup.js';

/** A table of texts; a column named `A · b` is column b in group A. */
export interface TableCells {
  caption: string;
  columns: string[];
  rows: string[][];
  /** The cells in full precision, for CSV; empty if missing. Default: `rows`. */
  exact?: string[][];
}

/** Adjacent columns of a group, or a single column. */
interface ColumnRun {
  group: string | null;
  first: number;
  labels: string[];
}

const FIGURE = /^[-+−]?[\d.]+(e[-+]\d+)?( \[.*\])?$|^–$/;

/** For each column, whether it contains only numbers. */
function figureColumns({ columns, rows }: TableCells): boolean[] {
  return columns.map((_, c) => rows.every((row) => FIGURE.test(row[c])));
}

/** Groups the header: `A · b`, `A · c`, `d` become A over b and c, then d alone. */
function columnRuns(columns: readonly string[]): ColumnRun[] {
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

/** Longer row headers and cells wrap. */
const [MAX_HEADER, MAX_CELL] = [22, 44];

/** An HTML table; columns of numbers have the class `figure`, long texts `long`. */
export function tableMarkup(cells: TableCells): Markup {
  const { caption, columns, rows } = cells;
  const classes = figureColumns(cells).map((isFigure) => (isFigure ? 'figure' : null));
  const bodyCell = (cell: string, c: number): Markup => {
    const long = cell.length > (c === 0 ? MAX_HEADER : MAX_CELL) && 'long';
    return c === 0
      ? markup('th', { scope: 'row', class: long }, cell)
      : markup('td', { class: classes[c] ?? long }, cell);
  };
  const head = markup('thead', headRows(columns, classes));
  const body = markup(
    'tbody',
    rows.map((row) => markup('tr', row.map(bodyCell))),
  );
  return markup('table', markup('caption', caption), head, body);
}

/** One header row, or two if columns are grouped. */
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

export function tableText({ caption, columns, rows }: TableCells): string {
  return [caption, ...alignColumns([columns, ...rows])].join('\n');
}

/** Aligns the columns of lines of cells. */
export function alignColumns(lines: readonly (readonly string[])[]): string[] {
  const widths = lines[0].map((_, c) => max(lines, (line) => line[c].length)!);
  return lines.map((line) =>
    line
      .map((cell, c) => cell.padEnd(widths[c]))
      .join('  ')
      .trimEnd(),
  );
}

/** Formats by file ending; `print` receives the file's name without it. */
export const TABLE_FORMATS = {
  csv: { title: 'CSV', mime: 'text/csv', print: tableCsv },
  tex: { title: 'LaTeX', mime: 'application/x-tex', print: tableLatex },
  md: { title: 'Markdown', mime: 'text/markdown', print: tableMarkdown },
} satisfies Record<
  string,
  { title: string; mime: string; print: (cells: TableCells, name: string) => string }
>;
export type TableFormat = keyof typeof TABLE_FORMATS;

/** A shown cell for machines: no dash if missing, hyphens for minus signs. */
export const machineText = (cell: string): string =>
  cell === '–' ? '' : cell.replace(/−(?=[\d.])/g, '-');

/** CSV (RFC 4180) without caption; numbers in full precision, empty if missing. */
export function tableCsv({ columns, rows, exact }: TableCells): string {
  return `${Papa.unparse([columns, ...(exact ?? rows.map((row) => row.map(machineText)))])}\r\n`;
}

/** A GitHub table under its caption, with right-aligned numbers. */
export function tableMarkdown(cells: TableCells): string {
  const { caption, columns, rows } = cells;
  const line = (fields: readonly string[]): string => `| ${fields.map(markdownText).join(' | ')} |`;
  const rules = figureColumns(cells).map((isFigure) => (isFigure ? '---:' : '---'));
  return [
    `${markdownText(caption)}\n`,
    line(columns),
    `| ${rules.join(' | ')} |`,
    ...rows.map(line),
    '',
  ].join('\n');
}

/** Escapes text for one line of Markdown. */
function markdownText(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|~#&$]/g, '\\$&').replace(/\s*[\n\r]\s*/g, ' ');
}

/** A booktabs `table` with the label `tab:NAME`, for pdfLaTeX. */
export function tableLatex(cells: TableCells, name: string): string {
  const figures = figureColumns(cells);
  const indent = (line: string): string => `    ${line}`;
  return [
    '% \\usepackage{booktabs}',
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${latexText(cells.caption)}}`,
    `  \\label{tab:${name}}`,
    `  \\begin{tabular}{${figures.map((isFigure) => (isFigure ? 'r' : 'l')).join('')}}`,
    ...['\\toprule', ...latexHead(cells.columns), '\\midrule'].map(indent),
    ...cells.rows.map((row) => indent(latexRow(row.map(latexText)))),
    '    \\bottomrule',
    '  \\end{tabular}',
    '\\end{table}\n',
  ].join('\n');
}

/** A leading bracket or star would become an argument of the `\\` before it. */
function latexRow(fields: readonly string[]): string {
  return `${fields.join(' & ').replace(/^[[*]/, '{$&}')} \\\\`;
}

/** One header row, or groups with rules above the columns. */
function latexHead(columns: readonly string[]): string[] {
  const runs = columnRuns(columns);
  const labels = latexRow(runs.flatMap((run) => run.labels.map(latexText)));
  if (runs.every(({ group }) => group === null)) return [labels];
  let column = 1;
  const rules: string[] = [];
  const groups = runs.map(({ group, labels: { length } }) => {
    const first = column;
    column += length;
    if (group === null) return '';
    rules.push(`\\cmidrule(lr){${first}-${column - 1}}`);
    return `\\multicolumn{${length}}{c}{${latexText(group)}}`;
  });
  return [latexRow(groups), rules.join(' '), labels];
}

const LATEX: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '"': "''",
  '−': '$-$',
  '–': '--',
  '—': '---',
  '·': '$\\cdot$',
  '×': '$\\times$',
  '±': '$\\pm$',
  '≤': '$\\leq$',
  '≥': '$\\geq$',
  '≈': '$\\approx$',
  '→': '$\\rightarrow$',
  α: '$\\alpha$',
  β: '$\\beta$',
  ε: '$\\varepsilon$',
  λ: '$\\lambda$',
  μ: '$\\mu$',
  σ: '$\\sigma$',
  '…': '\\ldots{}',
  '’': "'",
  '‘': '`',
  '“': '``',
  '”': "''",
  '\u00a0': '~',
  '\u202f': '\\,',
};

/** Escapes text for LaTeX; a hyphen before a number becomes a minus. */
export function latexText(text: string): string {
  return text
    .replace(/\s*[\n\r]\s*/g, ' ')
    .replace(/(?<![\w.])-(?=\.?\d)/g, '−')
    .replace(/[#$%&_{}]|[^\w .,:;!?()[\]+*/=@'`-]/gu, (character) =>
      '#$%&_{}'.includes(character) ? `\\${character}` : (LATEX[character] ?? character),
    );
}
