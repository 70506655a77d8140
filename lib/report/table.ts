/** Tables, declared by the fields of rows and columns and the format of cells. */
import { sort } from 'd3-array';
import type { Interval } from '../evaluation/estimate.js';
import { listColumns, rowLabels, toRows, type Row, type Rows } from './frame.js';
import { machineText, type TableCells } from './table-formats.js';
import { figureText, intervalText, pointsIntervalText, pointsText } from './text.js';
import { metricDecimals, fieldTitle, isShare, valueTitle, distinctValues } from './titles.js';

/** A table of texts. */
export interface Table {
  kind: 'table';
  cells: TableCells;
}

/** Formats a cell as text; with `isExact`, for CSV, numbers in full precision. */
export type CellFormat = (row: Row, isExact?: boolean) => string;

export interface TableSpec {
  caption: string;
  /** Fields whose values label the rows, outermost first. */
  rows: readonly string[];
  /** Fields whose values label the columns; the first one groups the others. */
  columns?: readonly string[];
  /** One format, or several as named columns. Default: {@link interval}. */
  cells?: CellFormat | Readonly<Record<string, CellFormat>>;
  /** Titles of fields or values that differ from the usual ones. */
  titles?: Readonly<Record<string, string>>;
}

/**
 * The value with its interval. Gains and differences of shares are in points; other
 * values have the decimals of their metric.
 */
export const interval: CellFormat = (row, isExact) => {
  if (row.value === null || row.value === undefined) return MISSING;
  const { kind, metric } = row;
  const estimate = row as unknown as Interval;
  const isPoints = kind === 'gain' || (kind === 'difference' && isShare(String(metric)));
  if (isExact) {
    const [value, low, high] = [row.value, row.low, row.high].map((x) =>
      exactText(x, isPoints ? 100 : 1),
    );
    return `${value} [${low}, ${high}]`;
  }
  if (kind === 'ratio') return intervalText(estimate);
  if (isPoints) return pointsIntervalText(estimate);
  return intervalText(estimate, metricDecimals(String(metric), row.value));
};

/** Formats a number with the decimals of its metric: `figure('paper')`. */
export const figure =
  (field = 'value', decimals?: number): CellFormat =>
  (row, isExact) =>
    isExact
      ? exactText(row[field])
      : figureText(
          row[field] as number | null,
          decimals ?? metricDecimals(String(row.metric), row[field]),
        );

/** Formats a difference in points: `points('paper')`. */
export const points =
  (field: string): CellFormat =>
  (row, isExact) =>
    isExact ? exactText(row[field], 100) : pointsText(row[field] as number | null);

/** Formats a field as text. */
export const text =
  (field: string): CellFormat =>
  (row, isExact) =>
    isExact ? exactText(row[field]) : cellText(row[field]);

const MISSING = '–';

/** Four decimals; below 1, four significant digits. */
const numberText = (value: number): string =>
  String(Number(Math.abs(value) < 1 ? value.toPrecision(4) : value.toFixed(4)));

/** @param value an object, too, in rows from outside the library */
function cellText(value: Row[string] | object | undefined): string {
  if (value === null || value === undefined) return MISSING;
  if (typeof value === 'number') return numberText(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value in full precision, times `scale` if it is a number; empty if it is missing. */
function exactText(value: Row[string] | object | undefined, scale = 1): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '';
  return typeof value === 'number' ? String(scale * value) : cellText(value);
}

const rowKey = (row: Row, fields: readonly string[]): string =>
  JSON.stringify(fields.map((field) => row[field] ?? null));

/** The distinct combinations of the fields' values, in order. */
function combinations(rows: readonly Row[], fields: readonly string[]): Row[] {
  const distinct = [...new Map(rows.map((row) => [rowKey(row, fields), row])).values()];
  const orders = fields.map((field) => distinctValues(field, distinct));
  const ranks = (row: Row): number[] => fields.map((field, i) => orders[i].indexOf(row[field]));
  return sort(distinct, (a, b) => {
    const [ofA, ofB] = [ranks(a), ranks(b)];
    return ofA.map((rank, i) => rank - ofB[i]).find((difference) => difference !== 0) ?? 0;
  });
}

/**
 * Pivots a data frame: a row per combination of the `rows` fields, a column per
 * combination of the `columns` fields and format. Drops empty columns.
 * @throws Error if the frame is empty, lacks a field, or has two rows for a cell
 */
export function table(frame: Rows, spec: TableSpec): Table {
  const { caption, rows: rowFields, columns: columnFields = [], titles = {} } = spec;
  const { cells: formats = interval } = spec;
  const fields = [...rowFields, ...columnFields];
  const rows = toRows(frame);
  if (rows.length === 0) throw new Error(`Expected rows for the table "${caption}", but got none.`);
  const unknown = fields.find((field) => !(field in rows[0]));
  if (unknown)
    throw new Error(`Expected a field of ${Object.keys(rows[0]).join(', ')}, but got ${unknown}.`);
  const byCell = new Map<string, Row>();
  for (const row of rows) {
    const key = rowKey(row, fields);
    if (byCell.has(key))
      throw new Error(
        `Expected one row per cell of the table "${caption}", but got several for ${key}. Filter them, or name more fields.`,
      );
    byCell.set(key, row);
  }
  const named: [string, CellFormat][] =
    typeof formats === 'function' ? [['', formats]] : Object.entries(formats);
  const titleIn = (field: string, row: Row): string =>
    titles[String(row[field])] ?? valueTitle(field, row[field]);
  const heads = combinations(rows, rowFields);
  const columns = combinations(rows, columnFields)
    .flatMap((column) =>
      named.map(([name, format]) => ({
        title: [...columnFields.map((field) => titleIn(field, column)), name]
          .filter(Boolean)
          .join(' · '),
        cells: heads.map((head) => {
          const labels = { ...head, ...pick(column, columnFields) };
          const row = byCell.get(rowKey(labels, fields));
          return row
            ? { shown: format(row), exact: machineText(format(row, true)) }
            : { shown: MISSING, exact: '' };
        }),
      })),
    )
    .filter(({ cells }) => cells.some(({ shown }) => shown !== MISSING));
  const bodyRows = (precision: 'shown' | 'exact'): string[][] =>
    heads.map((head, i) => [
      ...rowFields.map((field) => titleIn(field, head)),
      ...columns.map(({ cells }) => cells[i][precision]),
    ]);
  return {
    kind: 'table',
    cells: {
      caption,
      columns: [
        ...rowFields.map((field) => titles[field] ?? fieldTitle(field)),
        ...columns.map(({ title }) => title),
      ],
      rows: bodyRows('shown'),
      exact: bodyRows('exact'),
    },
  };
}

const pick = (row: Row, fields: readonly string[]): Row =>
  Object.fromEntries(fields.map((field) => [field, row[field]]));

/** A data frame's rows with their labels; `title` writes the values that are text. */
function frameTable(
  frame: Rows,
  caption: string | undefined,
  { heading, title }: { heading: (field: string) => string; title: typeof valueTitle },
): Table {
  const labels = rowLabels(frame);
  const fields = listColumns(frame);
  const columns = [...(labels ? ['index'] : []), ...fields];
  // Objects sort numeric names, such as years, before others.
  const values = toRows(frame).map((row, i) => [
    ...(labels ? [labels[i]] : []),
    ...fields.map((field) =>
      typeof row[field] === 'string' ? title(field, row[field]) : row[field],
    ),
  ]);
  caption ??= `Data frame (${values.length} rows)`;
  const rows = values.map((row) => row.map(cellText));
  const exact = values.map((row) => row.map((value) => exactText(value)));
  return { kind: 'table', cells: { caption, columns: columns.map(heading), rows, exact } };
}

/**
 * Shows a data frame unpivoted: numbers with up to four decimals (below 1, four
 * significant digits), dashes for missing values.
 */
export const dataTable = (frame: Rows, caption?: string): Table =>
  frameTable(frame, caption, { heading: String, title: (_, value) => String(value) });

/** Turns `initial_models` into the heading `Initial models`. */
function headingText(field: string): string {
  const title = fieldTitle(field);
  if (title !== field || field.length < 2) return title;
  return field.charAt(0).toUpperCase() + field.slice(1).replaceAll('_', ' ');
}

/**
 * {@link dataTable} for readers: fields and values have their titles. Without a caption,
 * the names that code uses.
 */
export const plainTable = (frame: Rows, caption?: string): Table =>
  caption === undefined
    ? dataTable(frame)
    : frameTable(frame, caption, { heading: headingText, title: valueTitle });
