/** Parquet files with nested columns, compatible with Arrow and Hugging Face datasets. */
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type FileMetaData,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { readStart, writeFileSafely } from './files.js';
import { nameFormat } from './formats.js';
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

const listLeaves = ({ path, children }: SchemaTree): string[] =>
  children.length > 0 ? children.flatMap(listLeaves) : [path.join('.')];

/** Whether row groups have the schema's columns; without them, the package crashes. */
function matchesSchema(metadata: FileMetaData): boolean {
  const leaves = listLeaves(parquetSchema(metadata)).join();
  return metadata.row_groups.every(
    ({ columns }) =>
      columns.map(({ meta_data }) => meta_data?.path_in_schema.join('.')).join() === leaves,
  );
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Text, or the bytes if they are no UTF-8: a column that nobody reads may have any. */
function stringFromBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return UTF8.decode(bytes);
  } catch {
    return bytes;
  }
}

/**
 * Has the package read decimals as they are stored, because it rounds them.
 * @returns their scales by column
 */
function keepDecimals(metadata: FileMetaData): Map<string, number> {
  const scales = new Map<string, number>();
  for (const { element } of parquetSchema(metadata).children) {
    if (element.converted_type !== 'DECIMAL') continue;
    scales.set(element.name, element.scale ?? 0);
    delete element.converted_type;
    delete element.logical_type;
  }
  return scales;
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
 * Reads the rows; 64-bit integers are bigints, decimals text.
 * @throws Error naming an invalid file
 */
export async function readParquet(file: string): Promise<Record<string, unknown>[]> {
  try {
    const start = await readStart(file);
    if (!start.toString('latin1').startsWith('PAR1'))
      throw new Error(nameFormat(start) ?? 'it does not begin as one.');
    const source = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(source);
    if (!matchesSchema(metadata)) throw new Error('its columns do not match its schema.');
    const scales = keepDecimals(metadata);
    const rows = await parquetReadObjects({
      file: source,
      metadata,
      parsers: { stringFromBytes: (bytes?: Uint8Array) => bytes && stringFromBytes(bytes) },
    });
    for (const row of rows)
      for (const [name, scale] of scales)
        if (row[name] !== null && row[name] !== undefined)
          row[name] = decimalText(row[name] as bigint | Uint8Array, scale);
    return rows;
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be a Parquet file (uncompressed or snappy), but ${(cause as Error).message}`,
      { cause },
    );
  }
}
