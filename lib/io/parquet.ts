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

/** Reads the rows; 64-bit integers are bigints. @throws Error naming an invalid file */
export async function readParquet(file: string): Promise<Record<string, unknown>[]> {
  try {
    const start = await readStart(file);
    if (!start.toString('latin1').startsWith('PAR1'))
      throw new Error(nameFormat(start) ?? 'it does not begin as one.');
    const source = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(source);
    if (!matchesSchema(metadata)) throw new Error('its columns do not match its schema.');
    return await parquetReadObjects({ file: source, metadata });
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be a Parquet file (uncompressed or snappy), but ${(cause as Error).message}`,
      { cause },
    );
  }
}
