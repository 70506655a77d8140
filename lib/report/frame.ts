/** Results as data frames (danfo.js), which notebooks filter, group and pivot. */
import { DataFrame } from 'danfojs-node';

/** One row of a data frame by the names of its columns. */
export type Row = Record<string, string | number | boolean | null>;

/** A data frame of records; a field that a record lacks is null there. */
export function frameOf(records: readonly object[]): DataFrame {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => columns.map((column) => (record as Row)[column] ?? null));
  return new DataFrame(rows, { columns });
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
