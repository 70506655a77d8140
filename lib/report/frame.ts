/** Results as data frames (danfo.js), which notebooks filter, group and pivot. */
import { loadOptional } from '../io/optional.js';

/** @ts-ignore Optional package: without it, a frame has the type `any`. */
import type { DataFrame, Series } from 'danfojs-node';

/** One row of a data frame by the names of its columns. */
export type Row = Record<string, string | number | boolean | null>;

/** Rows to draw and to tabulate: plain ones, or any data frame of danfo.js. */
export type Rows = readonly object[] | { readonly columns: string[]; readonly values: unknown };

/**
 * A danfo.js data frame whose filters can follow each other: danfo 1.2 takes the labels
 * of the index for places when it filters by a condition, so that a second `query`, or
 * one after `sortValues`, returns other rows or throws.
 */
export type Frame = {
  query(condition: Series | boolean[]): Frame;
  sortValues(by: string, options?: { ascending?: boolean }): Frame;
  loc(part: Parameters<DataFrame['loc']>[0]): Frame;
} & DataFrame;
type FrameClass = new (values: unknown, options: { columns: string[]; dtypes?: string[] }) => Frame;

/** danfo.js is loaded with the first frame. */
function loadFrameClass(): FrameClass {
  const danfo = loadOptional<typeof import('danfojs-node')>('danfojs-node');
  return class extends danfo.DataFrame {
    override query(condition: Series | boolean[]): Frame {
      return renumbered(super.resetIndex().query(condition));
    }

    override sortValues(by: string, options: { ascending?: boolean } = {}): Frame {
      return renumbered(super.sortValues(by, options));
    }

    /** A frame of this kind, where danfo returns one of another class. */
    override loc(part: Parameters<DataFrame['loc']>[0]): Frame {
      return renumbered(super.loc(part));
    }
  };
}

let frameClass: FrameClass | undefined;
const newFrame = (...given: ConstructorParameters<FrameClass>): Frame =>
  new (frameClass ??= loadFrameClass())(...given);

/** The same rows and columns with an index from 0. */
const renumbered = (frame: DataFrame): Frame =>
  newFrame(frame.values, { columns: [...frame.columns], dtypes: [...frame.dtypes] });

/**
 * A data frame of records; a field that a record lacks is null there. @throws Error that
 * asks for danfojs-node where it is missing
 */
export function frameOf(records: readonly object[]): Frame {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => columns.map((column) => (record as Row)[column] ?? null));
  return newFrame(rows, { columns });
}

const isPlain = (rows: Rows): rows is readonly object[] => Array.isArray(rows);

/** The columns of a data frame, or of rows that may lack some of them. */
export const columnsOf = (rows: Rows): string[] =>
  isPlain(rows) ? [...new Set(rows.flatMap((row) => Object.keys(row)))] : [...rows.columns];

/** The rows of a data frame, which hold no undefined and no NaN. */
export function rowsOf(frame: Rows): Row[] {
  const columns = columnsOf(frame);
  const cell = (value: unknown): Row[string] =>
    value === undefined || Number.isNaN(value) ? null : (value as Row[string]);
  const values = isPlain(frame)
    ? frame.map((row) => columns.map((column) => (row as Row)[column]))
    : frame.values;
  return (values as unknown[][]).map((row) =>
    Object.fromEntries(columns.map((column, i) => [column, cell(row[i])])),
  );
}
