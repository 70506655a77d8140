/**
 * Checks the run lengths of a Parquet file, because hyparquet repeats a value as often as
 * a damaged one says.
 */
import {
  parquetSchema,
  type AsyncBuffer,
  type ColumnMetaData,
  type Compressors,
  type DataReader,
  type FileMetaData,
  type PageHeader,
} from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from 'hyparquet/src/schema.js';
import { readVarInt } from 'hyparquet/src/thrift.js';

/** Writers fill up the last run of packed values. */
const MAX_PADDING = 100_000;

const readerFrom = ({ buffer, byteOffset, byteLength }: Uint8Array): DataReader => ({
  view: new DataView(buffer, byteOffset, byteLength),
  offset: 0,
});

/**
 * Follows runs without keeping their values.
 * @param width bits of a value
 * @throws Error for a run of more values than the page has
 */
function checkRuns(reader: DataReader, width: number, numValues: number): void {
  let seen = 0;
  while (seen < numValues && reader.offset < reader.view.byteLength) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    const length = isPacked ? 8 * (header >>> 1) : header >>> 1;
    if (seen + length > numValues + (isPacked ? MAX_PADDING : 0))
      throw new Error(`a run has ${length} values in a page of ${numValues}.`);
    reader.offset += isPacked ? (length / 8) * width : Math.ceil(width / 8);
    seen += length;
  }
}

/** @param levels the column's maximum repetition and definition levels */
function checkPage(
  { data_page_header: v1, data_page_header_v2: v2, uncompressed_page_size: size }: PageHeader,
  bytes: Uint8Array,
  { codec, type }: ColumnMetaData,
  levels: readonly [number, number],
  compressors: Compressors,
): void {
  const page = v1 ?? v2;
  if (!page) return;
  // Only version 2 keeps levels apart from the compressed values.
  const sizes = v2 && [v2.repetition_levels_byte_length, v2.definition_levels_byte_length];
  let reader = readerFrom(v2 ? bytes : decompressPage(bytes, size, codec, compressors));
  levels.forEach((maximum, i) => {
    if (maximum === 0) return;
    const length = sizes ? sizes[i] : reader.view.getUint32(reader.offset, true) + 4;
    const end = reader.offset + length;
    if (!sizes) reader.offset += 4;
    checkRuns(reader, 32 - Math.clz32(maximum), page.num_values);
    reader.offset = end;
  });
  if (!page.encoding.includes('DICTIONARY') && page.encoding !== 'RLE') return;
  if (sizes) {
    const start = sizes[0] + sizes[1];
    const values = bytes.subarray(start);
    const isCompressed = v2.is_compressed !== false;
    reader = readerFrom(
      isCompressed ? decompressPage(values, size - start, codec, compressors) : values,
    );
  }
  let width = 1;
  if (type === 'BOOLEAN') reader.offset += 4;
  else width = reader.view.getUint8(reader.offset++);
  checkRuns(reader, width, page.num_values);
}

/** @throws Error for a page with a run that is longer than the page */
export async function checkRunLengths(
  file: AsyncBuffer,
  metadata: FileMetaData,
  compressors: Compressors,
): Promise<void> {
  const tree = parquetSchema(metadata);
  for (const { meta_data: column } of metadata.row_groups.flatMap(({ columns }) => columns)) {
    if (!column) continue;
    const schemaPath = getTreePath(tree, column.path_in_schema);
    const levels = [getMaxRepetitionLevel(schemaPath), getMaxDefinitionLevel(schemaPath)] as const;
    const start = Number(column.dictionary_page_offset || column.data_page_offset);
    const chunk = await file.slice(start, start + Number(column.total_compressed_size));
    const reader = { view: new DataView(chunk), offset: 0 };
    while (reader.offset < chunk.byteLength - 1) {
      const header = parquetHeader(reader);
      const bytes = new Uint8Array(chunk, reader.offset, header.compressed_page_size);
      reader.offset += header.compressed_page_size;
      checkPage(header, bytes, column, levels, compressors);
    }
  }
}
