/** Data frames of danfo.js, for notebooks. */
/** @ts-ignore Optional package: without it, a frame has the type `any`. */
import type { DataFrame, Series } from 'danfojs-node';
import { ascending, descending, sort } from 'd3-array';
import { loadOptional } from '../io/optional.js';

/** A row of a data frame, by column. */
export type Row = Record<string, string | number | boolean | null>;

/** Rows for charts and tables: objects, or any data frame of danfo.js. */
export type Rows = readonly object[] | { readonly columns: string[]; readonly values: unknown };

/** A danfo.js series: a column with labels. */
export interface SeriesLike {
  readonly $isSeries: true;
  readonly columns: string[];
  readonly index: readonly (string | number)[];
  readonly values: unknown;
}

/**
 * A danfo.js data frame without these bugs of danfo 1.2: filters after `query` or
 * `sortValues` take the wrong rows, `loc` returns another class, missing numbers count as
 * 0, missing values stay where they are when sorted (here: last), and groups whose keys
 * are the same when joined by hyphens are one group (here: an error). An unknown column
 * is an error that lists the columns.
 */
export type Frame = {
  query(condition: Series | boolean[]): Frame;
  sortValues(by: string, options?: { ascending?: boolean }): Frame;
  loc(part: Parameters<DataFrame['loc']>[0]): Frame;
} & DataFrame;
type FrameClass = new (values: unknown, options: { columns: string[]; dtypes?: string[] }) => Frame;

/** Loads danfo.js with the first frame. */
function loadFrameClass(): FrameClass {
  const danfo = loadOptional<typeof import('danfojs-node')>('danfojs-node');
  const inspect = Symbol.for('nodejs.util.inspect.custom');
  for (const { prototype } of [danfo.DataFrame, danfo.Series])
    Object.defineProperty(prototype, inspect, { value: formatRows });
  return class extends danfo.DataFrame {
    constructor(...[values, options]: ConstructorParameters<FrameClass>) {
      requireFreeNames(options.columns);
      super(values, options);
      return new Proxy(this, { get: readProperty });
    }

    override query(condition: Series | boolean[]): Frame {
      return renumbered(super.resetIndex().query(condition));
    }

    override sortValues(by: string, options: { ascending?: boolean } = {}): Frame {
      requireColumns(this, [by]);
      const place = this.columns.indexOf(by);
      const compare = (options.ascending ?? true) ? ascending : descending;
      return renumbered(
        this,
        sort(cells(this), (a, b) => compare(a[place]!, b[place]!)),
      );
    }

    override loc(part: Parameters<DataFrame['loc']>[0]): Frame {
      requireColumns(this, part.columns ?? []);
      return renumbered(super.loc(part));
    }

    override groupby(columns: string[]): ReturnType<DataFrame['groupby']> {
      requireColumns(this, columns);
      const groups = super.groupby(columns);
      requireDistinctKeys(toRows(this), columns, groups);
      skipMissing(groups as unknown as Groups);
      return groups;
    }
  };
}

/** @throws RangeError listing the columns if one of `names` is not among them */
function requireColumns({ columns }: DataFrame, names: readonly (string | number)[]): void {
  const unknown = names.find((name) => typeof name === 'string' && !columns.includes(name));
  if (unknown !== undefined)
    throw new RangeError(
      `Expected a column of the data frame (${columns.join(', ')}), but got ${unknown}.`,
    );
}

/** Properties of a danfo frame that a column of that name would replace. */
const TAKEN = ['columns', 'dtypes', 'index', 'shape', 'values'];

/** @throws RangeError for a column whose name danfo.js needs itself */
function requireFreeNames(columns: readonly string[]): void {
  const taken = columns.find((name) => TAKEN.includes(name));
  if (taken !== undefined)
    throw new RangeError(
      `Expected columns of a data frame to have names other than ${TAKEN.join(', ')}, but got ${taken}. Rename it.`,
    );
}

/** @throws RangeError if danfo.js, which joins keys by hyphens, mixes up groups */
function requireDistinctKeys(
  rows: readonly Row[],
  columns: readonly string[],
  { colDict }: Pick<Groups, 'colDict'>,
): void {
  const keys = new Set(rows.map((row) => JSON.stringify(columns.map((name) => row[name]))));
  if (keys.size !== Object.keys(colDict).length)
    throw new RangeError(
      `Expected values of ${columns.join(', ')} that differ when joined by hyphens, but ${keys.size} groups would become ${Object.keys(colDict).length}. Replace hyphens, or add a column with both values.`,
    );
}

/** Properties that `await`, JSON, `display` and test runners look up on any object. */
const PROBED = new Set(['then', 'toJSON', 'kind', 'asymmetricMatch', 'nodeType', 'tagName']);

/** Reads `frame.NAME`, which danfo leaves undefined for an unknown column. */
function readProperty(frame: DataFrame, name: string | symbol): unknown {
  if (typeof name === 'string' && /^[a-z]/i.test(name) && !(name in frame) && !PROBED.has(name))
    requireColumns(frame, [name]);
  return Reflect.get(frame, name);
}

/** Makes `console.log` print the rows instead of danfo's fields. */
function formatRows(this: DataFrame | Series): string {
  return this.toString();
}

/** Parts of danfo's group class that its types hide. */
interface Groups {
  /** The columns of each group, by its keys joined by hyphens. */
  colDict: object;
  col(this: Groups, columns?: string[]): Groups;
  groupMathLog(this: Groups, values: readonly unknown[], statistic: string): unknown[];
  toDataFrame(this: Groups, columns: object): DataFrame;
}

/** Skips missing values in group statistics; null if all are missing. */
function skipMissing(groups: Groups): Groups {
  const danfo = Object.getPrototypeOf(groups) as Groups;
  groups.col = (columns) => skipMissing(danfo.col.call(groups, columns));
  groups.toDataFrame = (columns) => renumbered(danfo.toDataFrame.call(groups, columns));
  groups.groupMathLog = (values, statistic) => {
    // Cumulative statistics need a value per row.
    if (statistic.startsWith('cum')) return danfo.groupMathLog.call(groups, values, statistic);
    const present = values.filter((value) => !isMissing(value));
    if (statistic === 'count') return [present.length];
    return present.length > 0 ? danfo.groupMathLog.call(groups, present, statistic) : [null];
  };
  return groups;
}

const isMissing = (value: unknown): value is null | undefined =>
  value === null || value === undefined || Number.isNaN(value);

let frameClass: FrameClass | undefined;
const newFrame = (...args: ConstructorParameters<FrameClass>): Frame =>
  new (frameClass ??= loadFrameClass())(...args);

type Cells = Row[string][][];
const cells = (frame: DataFrame): Cells => frame.values as Cells;

/** Rows of the same columns, by default the frame's own, with a new index from 0. */
const renumbered = (frame: DataFrame, rows = cells(frame)): Frame =>
  newFrame(rows, { columns: [...frame.columns], dtypes: [...frame.dtypes] });

/**
 * Makes a data frame of records. A missing value is null, among numbers NaN: danfo.js
 * compares and adds null as 0.
 * @throws RangeError for a column called as a property of frames; Error without
 * danfojs-node
 */
export function createFrame(records: readonly object[]): Frame {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const missing = columns.map((column) =>
    records.some((record) => typeof (record as Row)[column] === 'number') ? NaN : null,
  );
  const rows = records.map((record) =>
    columns.map((column, i) => (record as Row)[column] ?? missing[i]),
  );
  return newFrame(rows, { columns });
}

const isPlain = (rows: Rows): rows is readonly object[] => Array.isArray(rows);

/**
 * The columns of a data frame, or all fields of plain rows.
 * @throws TypeError for rows that are not objects
 */
export function listColumns(rows: Rows): string[] {
  if (!isPlain(rows)) return [...rows.columns];
  const isObject = (row: unknown): boolean => typeof row === 'object' && row !== null;
  const place = rows.findIndex((row) => !isObject(row));
  if (place >= 0)
    throw new TypeError(`Expected rows that are objects, but got ${JSON.stringify(rows[place])}.`);
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** The labels of a data frame's rows, as of `describe()`; null for numbers from 0. */
export function rowLabels(frame: Rows): readonly (string | number)[] | null {
  const { index } = frame as Partial<SeriesLike>;
  return Array.isArray(index) && index.some((label, i) => label !== i) ? index : null;
}

/** The rows of a data frame; undefined and NaN become null. */
export function toRows(frame: Rows): Row[] {
  const columns = listColumns(frame);
  const values = isPlain(frame)
    ? frame.map((row) => columns.map((column) => (row as Row)[column]))
    : (frame.values as Row[string][][]);
  return values.map((row) =>
    Object.fromEntries(columns.map((name, i) => [name, isMissing(row[i]) ? null : row[i]])),
  );
}

export const isSeries = (item: object): item is SeriesLike =>
  '$isSeries' in item && item.$isSeries === true;

export const seriesRows = ({ columns, index, values }: SeriesLike): Row[] =>
  (values as Row[string][]).map((value, i) => ({ index: index[i], [columns[0]]: value }));
