/** Parquet files with nested columns, compatible with Arrow and Hugging Face datasets. */
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type Compressors,
  type FileMetaData,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { compressors as decompressors } from 'hyparquet-compressors';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { readStart, writeFileSafely } from './files.js';
import { nameFormat } from './formats.js';
import { checkRunLengths } from './parquet-runs.js';
import { shortPath } from './paths.js';

/** Text, a 32-bit integer, a list, or named fields. Any value may be null. */
export type ColumnType =
  | 'text'
  | 'integer'
  | readonly [ColumnType]
  | { readonly [name: string]: ColumnType };

/** The schema of a column, depth first; lists have Parquet's three levels. */
function columnSchema(name: string, type: ColumnType): SchemaElement[] {
  const optional = { name, repetition_type: 'OPTIONAL' as const };
  if (type === 'text') return [{ ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' }];
  if (type === 'integer') return [{ ...optional, type: 'INT32' }];
  if (isList(type)) {
    const list: SchemaElement = { name: 'list', repetition_type: 'REPEATED', num_children: 1 };
    return [
      { ...optional, converted_type: 'LIST', num_children: 1 },
      list,
      ...columnSchema('element', type[0]),
    ];
  }
  const fields = Object.entries(type);
  return [
    { ...optional, num_children: fields.length },
    ...fields.flatMap((field) => columnSchema(...field)),
  ];
}

const isList = (type: ColumnType): type is readonly [ColumnType] => Array.isArray(type);

export async function writeParquet<Name extends string>(
  file: string,
  rows: readonly Readonly<Record<Name, unknown>>[],
  columns: Readonly<Record<Name, ColumnType>>,
): Promise<void> {
  const names = Object.keys(columns) as Name[];
  const root: SchemaElement = { name: 'root', num_children: names.length };
  const buffer = parquetWriteBuffer({
    columnData: names.map((name) => ({ name, data: rows.map((row) => row[name]) })),
    schema: [root, ...names.flatMap((name) => columnSchema(name, columns[name]))],
  });
  await writeFileSafely(file, new Uint8Array(buffer));
}

const listLeaves = (column: SchemaTree): SchemaTree[] =>
  column.children.length > 0 ? column.children.flatMap(listLeaves) : [column];

/** Whether row groups have the schema's columns; without them, the package crashes. */
function matchesSchema(metadata: FileMetaData): boolean {
  const leaves = listLeaves(parquetSchema(metadata))
    .map(({ path }) => path.join('.'))
    .join();
  return metadata.row_groups.every(
    ({ columns }) =>
      columns.map(({ meta_data }) => meta_data?.path_in_schema.join('.')).join() === leaves,
  );
}

/** Pages without bytes, such as the dictionary of a column of nulls, fail in LZ4's. */
const compressors: Compressors = Object.fromEntries(
  Object.entries(decompressors).map(([codec, decompress]) => [
    codec,
    (page: Uint8Array, length: number) =>
      length === 0 ? new Uint8Array() : decompress(page, length),
  ]),
);

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Text, or the bytes if they are no UTF-8: a column that nobody reads may have any. */
function stringFromBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return UTF8.decode(bytes);
  } catch {
    return bytes;
  }
}

/** Whether the package rounds the values of a column, or reads times as integers. */
const isRewritten = ({ element }: SchemaTree): boolean =>
  element.converted_type === 'DECIMAL' || element.logical_type?.type === 'TIME';

type Rewrite = (stored: number | bigint | Uint8Array) => unknown;

/** Digits of a second in a stored time of day. */
const TIME_DIGITS = { MILLIS: 3, MICROS: 6, NANOS: 9 };

/**
 * Has the package read decimals as they are stored, because it rounds them.
 * @returns what makes the values of a column out of those that the package reads; null
 * for decimals and times of day inside a column
 * @throws Error for two columns of one name, of which the package reads one
 */
function rewrites(metadata: FileMetaData): Map<string, Rewrite | null> {
  const byColumn = new Map<string, Rewrite | null>();
  const names = new Set<string>();
  for (const { element, children } of parquetSchema(metadata).children) {
    const { name, type, logical_type: logical, scale = 0 } = element;
    if (names.has(name)) throw new Error(`it has two columns named ${name}.`);
    names.add(name);
    if (children.flatMap(listLeaves).some(isRewritten)) byColumn.set(name, null);
    if (element.converted_type === 'DECIMAL') {
      byColumn.set(name, (stored) => decimalText(stored, scale));
      delete element.converted_type;
      delete element.logical_type;
    } else if (logical?.type === 'TIME')
      byColumn.set(name, (stored) => timeText(BigInt(stored as bigint), TIME_DIGITS[logical.unit]));
    else if (type === 'FLOAT') byColumn.set(name, (stored) => fewestDigits(stored as number));
  }
  return byColumn;
}

/** A 32-bit number as it was written: 0.1, not 0.10000000149011612. */
const fewestDigits = (single: number): number =>
  [6, 7, 8, 9].map((n) => Number(single.toPrecision(n))).find((x) => Math.fround(x) === single) ??
  single;

/** A time of day, such as 03:04:05.500. */
function timeText(sinceMidnight: bigint, digits: number): string {
  const second = 10n ** BigInt(digits);
  const clock = new Date(1000 * Number(sinceMidnight / second)).toISOString().slice(11, 19);
  const fraction = sinceMidnight % second;
  return fraction === 0n ? clock : `${clock}.${String(fraction).padStart(digits, '0')}`;
}

/** A decimal as text. @param stored an integer, or its big-endian bytes */
function decimalText(stored: number | bigint | Uint8Array, scale: number): string {
  const value =
    stored instanceof Uint8Array
      ? BigInt.asIntN(8 * stored.length, BigInt(`0x${Buffer.from(stored).toString('hex')}`))
      : BigInt(stored);
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  return `${value < 0n ? '-' : ''}${whole}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`;
}

/**
 * Reads the rows; 64-bit integers are bigints, decimals and times of day text. Inside
 * lists and structs, these are rejected when the column is read.
 * @throws Error naming an invalid file
 */
export async function readParquet(file: string): Promise<Record<string, unknown>[]> {
  const refuse = (column: string): never => {
    throw new Error(
      `${shortPath(file)}: column ${column} has decimals or times of day in lists or structs. Write them as text.`,
    );
  };
  try {
    const start = await readStart(file);
    if (!start.toString('latin1').startsWith('PAR1'))
      throw new Error(nameFormat(start) ?? 'it does not begin as one.');
    const source = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(source);
    if (!matchesSchema(metadata)) throw new Error('its columns do not match its schema.');
    await checkRunLengths(source, metadata, compressors);
    const byColumn = rewrites(metadata);
    const rows = await parquetReadObjects({
      file: source,
      metadata,
      compressors,
      parsers: { stringFromBytes: (bytes?: Uint8Array) => bytes && stringFromBytes(bytes) },
    });
    for (const [name, rewrite] of byColumn) {
      const refused = { enumerable: true, get: () => refuse(name) };
      for (const row of rows) {
        if (row[name] === null || row[name] === undefined) continue;
        if (rewrite) row[name] = rewrite(row[name] as Parameters<Rewrite>[0]);
        else Object.defineProperty(row, name, refused);
      }
    }
    return rows;
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be a Parquet file, but ${(cause as Error).message}`,
      { cause },
    );
  }
}
