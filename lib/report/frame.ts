/** Results as data frames (danfo.js), which notebooks filter, group and pivot. */
import { DataFrame, type Series } from 'danfojs-node';

/** One row of a data frame by the names of its columns. */
export type Row = Record<string, string | number | boolean | null>;

/**
 * A danfo.js data frame whose filters can follow each other: danfo 1.2 takes the labels of the index for places when it filters
 * by a condition, so that a second `query`, or one after `sortValues`, returns other rows or throws.
 */
export class Frame extends DataFrame {
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
}

/** The same rows and columns with an index from 0. */
const renumbered = (frame: DataFrame): Frame =>
  new Frame(frame.values, { columns: [...frame.columns], dtypes: [...frame.dtypes] });

/** A data frame of records; a field that a record lacks is null there. */
export function frameOf(records: readonly object[]): Frame {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => columns.map((column) => (record as Row)[column] ?? null));
  return new Frame(rows, { columns });
}

/** The rows of a data frame, which hold no undefined and no NaN. */
export function rowsOf(frame: DataFrame): Row[] {
  const columns: string[] = frame.columns;
  const cell = (value: unknown): Row[string] =>
    value === undefined || Number.isNaN(value) ? null : (value as Row[string]);
  return (frame.values as unknown[][]).map((values) =>
    Object.fromEntries(columns.map((column, i) => [column, cell(values[i])])),
  );
}
