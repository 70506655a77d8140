/** Data frames as tables. */
import { DataFrame } from 'danfojs-node';
import type { TableCells } from '../html/cells.js';

/** A data frame with the sentence that says what it shows. */
export interface Table {
  kind: 'table';
  caption: string;
  frame: DataFrame;
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
