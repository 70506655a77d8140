/**
 * Parquet files with nested columns, as Arrow and Hugging Face datasets read and write
 * them.
 */
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
import { writeFileSafely } from './files.js';
import { shortPath } from './paths.js';

/**
 * What a column holds: text, a 32-bit integer, a list, or named fields. Any value may be
 * null.
 */
export type ColumnType =
  'text' | 'integer' | readonly [ColumnType] | { readonly [name: string]: ColumnType };

/** The schema of a column, depth first, lists in Parquet's three levels. */
function elementsOf(name: string, type: ColumnType): SchemaElement[] {
  const optional = { name, repetition_type: 'OPTIONAL' as const };
  if (type === 'text') return [{ ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' }];
  if (type === 'integer') return [{ ...optional, type: 'INT32' }];
  if (isList(type)) {
    const list: SchemaElement = { name: 'list', repetition_type: 'REPEATED', num_children: 1 };
    return [
      { ...optional, converted_type: 'LIST', num_children: 1 },
      list,
      ...elementsOf('element', type[0]),
    ];
  }
  const fields = Object.entries(type);
  return [
    { ...optional, num_children: fields.length },
    ...fields.flatMap((field) => elementsOf(...field)),
  ];
}

const isList = (type: ColumnType): type is readonly [ColumnType] => Array.isArray(type);

/** Writes rows into a Parquet file (snappy), a column for each entry of `columns`. */
export async function writeParquet<Name extends string>(
  file: string,
  rows: readonly Readonly<Record<Name, unknown>>[],
  columns: Readonly<Record<Name, ColumnType>>,
): Promise<void> {
  const names = Object.keys(columns) as Name[];
  const root: SchemaElement = { name: 'root', num_children: names.length };
  const buffer = parquetWriteBuffer({
    columnData: names.map((name) => ({ name, data: rows.map((row) => row[name]) })),
    schema: [root, ...names.flatMap((name) => elementsOf(name, columns[name]))],
  });
  await writeFileSafely(file, new Uint8Array(buffer));
}

const leavesOf = ({ path, children }: SchemaTree): string[] =>
  children.length > 0 ? children.flatMap(leavesOf) : [path.join('.')];

/**
 * Whether every group of rows has the columns of the schema. Of a file with others the
 * package gives up while it reads the ones before, whose own errors nobody would hear:
 * those end a process.
 */
function hasItsColumns(metadata: FileMetaData): boolean {
  const leaves = leavesOf(parquetSchema(metadata)).join();
  return metadata.row_groups.every(
    ({ columns }) =>
      columns.map(({ meta_data }) => meta_data?.path_in_schema.join('.')).join() === leaves,
  );
}

/**
 * The rows of a Parquet file; 64-bit integers are bigints. @throws Error naming the file
 * that cannot be read
 */
export async function readParquet(file: string): Promise<Record<string, unknown>[]> {
  try {
    const source = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(source);
    if (!hasItsColumns(metadata)) throw new Error('it has other columns than its schema says.');
    return await parquetReadObjects({ file: source, metadata });
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be a Parquet file, compressed by snappy or not at all, but ${(cause as Error).message}`,
      { cause },
    );
  }
}
