/** The data behind a chart, as a table. */
import type { TableCells } from '../html/cells.js';
import type { VegaLiteSpec } from './chart.js';

type Datum = Record<string, unknown>;

/**
 * All rows that a specification holds, in full precision; a row has an empty cell where others have a field that it
 * lacks.
 */
export function chartData(spec: VegaLiteSpec, caption: string): TableCells {
  const data = valuesIn(spec);
  const columns = [...new Set(data.flatMap((datum) => Object.keys(datum)))];
  const text = (value: unknown): string =>
    value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return { caption, columns, rows: data.map((datum) => columns.map((column) => text(datum[column]))) };
}

/** The `values` of every `data` anywhere in the specification. */
function valuesIn(spec: unknown): Datum[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec).flatMap(([key, inner]) => {
    if (key !== 'data') return valuesIn(inner);
    const values = (inner as { values?: unknown } | null)?.values;
    return Array.isArray(values) ? values.map(datumOf) : [];
  });
}

/** Vega-Lite calls the field of a bare value `data`. */
function datumOf(value: unknown): Datum {
  return typeof value === 'object' && value !== null ? (value as Datum) : { data: value };
}
