/**
 * Tables, declared by what heads their rows and columns and what stands in their cells.
 */
import type { TableCells } from '../html/table.js';
import type { Interval } from '../evaluation/bootstrap.js';
import { columnsOf, rowsOf, type Row, type Rows } from './frame.js';
import { decimalsOf, isShare, fieldTitle, titleOf, valuesOf } from './titles.js';
import { figureText, intervalText, pointsIntervalText, pointsText } from './text.js';

/** A table as texts, with the sentence that says what it shows. */
export interface Table {
  kind: 'table';
  cells: TableCells;
}

/** What is written of the row of a cell. */
export type CellFormat = (row: Row) => string;

export interface TableSpec {
  caption: string;
  /** Fields whose values head the rows, outermost first. */
  rows: readonly string[];
  /** Fields whose values head the columns; the first is a group over the others. */
  columns?: readonly string[];
  /**
   * What stands in a cell: one format, or several under names of their own. Default
   * {@link interval}.
   */
  cells?: CellFormat | Readonly<Record<string, CellFormat>>;
  /**
   * What fields, or values of fields, are called here, in place of their usual titles.
   */
  titles?: Readonly<Record<string, string>>;
}

/**
 * The value with its interval: a difference of shares, or a relative gain, in points;
 * anything else with its metric's decimals.
 */
export const interval: CellFormat = (row) => {
  if (typeof row.value !== 'number') return '–';
  const found = row as unknown as Interval;
  if (row.kind === 'ratio') return intervalText(found);
  const isPoints =
    row.kind === 'gain' || (row.kind === 'difference' && isShare(String(row.metric)));
  return isPoints
    ? pointsIntervalText(found)
    : intervalText(found, decimalsOf(String(row.metric), row.value));
};

/**
 * A field's number with its metric's decimals, such as the paper's figure:
 * `figure('paper')`.
 */
export const figure =
  (field = 'value', decimals?: number): CellFormat =>
  (row) =>
    figureText(row[field] as number | null, decimals ?? decimalsOf(String(row.metric), row[field]));

/** A field's difference in points, such as the paper's: `points('paper')`. */
export const points =
  (field: string): CellFormat =>
  (row) =>
    pointsText(row[field] as number | null);

/** A field as it is. */
export const text =
  (field: string): CellFormat =>
  (row) =>
    cellText(row[field]);

function cellText(value: Row[string] | undefined): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'number' ? String(Number(value.toFixed(4))) : String(value);
}

const keyOf = (row: Row, fields: readonly string[]): string =>
  JSON.stringify(fields.map((f) => row[f] ?? null));

/** The different combinations of fields' values, in the fields' orders. */
function combinations(rows: readonly Row[], fields: readonly string[]): Row[] {
  const distinct = [...new Map(rows.map((row) => [keyOf(row, fields), row])).values()];
  const ranks = fields.map((field) => {
    const order = valuesOf(field, distinct);
    return (row: Row): number => order.indexOf(row[field]);
  });
  return distinct.sort(
    (a, b) => ranks.map((rank) => rank(a) - rank(b)).find((difference) => difference !== 0) ?? 0,
  );
}

/**
 * Pivots a data frame: a row for each combination of the `rows` fields, a column for
 * each of the `columns` fields and each format. Columns in which nothing stands are left
 * out.
 * @throws Error when the frame is empty, lacks a field, or two of its rows fall into one
 * cell
 */
export function table(frame: Rows, spec: TableSpec): Table {
  const {
    caption,
    rows: rowFields,
    columns: columnFields = [],
    cells: formats = interval,
    titles = {},
  } = spec;
  const fields = [...rowFields, ...columnFields];
  const rows = rowsOf(frame);
  if (rows.length === 0) throw new Error(`Expected rows for the table "${caption}", but got none.`);
  const missing = fields.find((field) => !(field in rows[0]));
  if (missing)
    throw new Error(`Expected a field of ${Object.keys(rows[0]).join(', ')}, but got ${missing}.`);
  const named: [string, CellFormat][] =
    typeof formats === 'function' ? [['', formats]] : Object.entries(formats);
  const valueTitle = (field: string, row: Row): string =>
    titles[String(row[field])] ?? titleOf(field, row[field]);
  const places = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row, fields);
    if (places.has(key))
      throw new Error(
        `Expected one row a cell for the table "${caption}", but got several for ${key}. Filter them, or name more fields.`,
      );
    places.set(key, row);
  }
  const heads = combinations(rows, rowFields);
  const columns = combinations(rows, columnFields).flatMap((column) =>
    named.map(([name, format]) => ({
      title: [
        ...columnFields.map((field) => valueTitle(field, column)),
        ...(name ? [name] : []),
      ].join(' · '),
      cells: heads.map((head) => {
        const row = places.get(keyOf({ ...head, ...pick(column, columnFields) }, fields));
        return row ? format(row) : '–';
      }),
    })),
  );
  const filled = columns.filter(({ cells }) => cells.some((cell) => cell !== '–'));
  return {
    kind: 'table',
    cells: {
      caption,
      columns: [
        ...rowFields.map((field) => titles[field] ?? fieldTitle(field)),
        ...filled.map(({ title }) => title),
      ],
      rows: heads.map((head, i) => [
        ...rowFields.map((field) => valueTitle(field, head)),
        ...filled.map(({ cells }) => cells[i]),
      ]),
    },
  };
}

const pick = (row: Row, fields: readonly string[]): Row =>
  Object.fromEntries(fields.map((f) => [f, row[f]]));

/**
 * A data frame as it is: its columns, numbers with at most four decimals, dashes for what
 * is missing.
 */
export function plainTable(frame: Rows, caption?: string): Table {
  const rows = rowsOf(frame).map((row) => Object.values(row).map(cellText));
  caption ??= `A data frame of ${rows.length} rows.`;
  return { kind: 'table', cells: { caption, columns: columnsOf(frame), rows } };
}
