import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, it } from 'vitest';
import { readParquet, writeParquet } from '../../lib/io/parquet.js';
import { folderForEach } from '../folder.js';

const inFolder = folderForEach();

it('keeps lists, named fields, nulls and Unicode text', async () => {
  const columns = {
    name: 'text',
    words: ['text'],
    inner: { n: 'integer', list: [{ a: 'text' }] },
  } as const;
  const rows = [
    { name: 'naïve 北京 😀', words: ['a', ''], inner: { n: -7, list: [{ a: 'x' }, { a: null }] } },
    { name: null, words: [], inner: { n: null, list: [] } },
    // More rows than one row group.
    ...Array.from({ length: 1500 }, (_, i) => ({
      name: `${i}`,
      words: [`${i}`],
      inner: { n: i, list: [] },
    })),
  ];
  const file = inFolder('new', 'rows.parquet');
  await writeParquet(file, rows, columns);
  expect(await readParquet(file)).toEqual(rows);
});

it.each(['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4'])(
  'reads the compression %s',
  async (compression) => {
    const file = new URL(`../fixtures/parquet/${compression}.parquet`, import.meta.url);
    const rows = await readParquet(fileURLToPath(file));
    expect(rows).toEqual(
      Array.from({ length: 40 }, (_, i) => ({
        id: `q${i}`,
        question: `${i}: who directed Red River, née “赤い河”?`,
      })),
    );
  },
);

it('keeps every digit of decimals, and bytes that are not UTF-8', async () => {
  const file = inFolder('rows.parquet');
  const decimal = {
    converted_type: 'DECIMAL',
    precision: 18,
    repetition_type: 'OPTIONAL',
  } as const;
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: 'a', data: [3n, -12_345_678_901_234_567n, null] },
      { name: 'b', data: ['café', 'x', null] },
    ],
    schema: [
      { name: 'root', num_children: 2 },
      { name: 'a', type: 'INT64', scale: 1, ...decimal },
      { name: 'b', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    ],
    statistics: false,
  });
  const bytes = Buffer.from(new Uint8Array(buffer));
  bytes.set([0xff, 0xff], bytes.indexOf('é'));
  writeFileSync(file, bytes);
  expect(await readParquet(file)).toEqual([
    { a: '0.3', b: Uint8Array.of(0x63, 0x61, 0x66, 0xff, 0xff) },
    { a: '-1234567890123456.7', b: 'x' },
    { a: null, b: null },
  ]);
});

it('reads 32-bit numbers and times of day as they were written', async () => {
  const file = inFolder('rows.parquet');
  const time = (unit: 'MILLIS' | 'MICROS') =>
    ({ type: 'TIME', isAdjustedToUTC: false, unit }) as const;
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: 'number', data: [0.1, 16_777_216, NaN, null] },
      { name: 'milliseconds', data: [11_045_000, 11_045_050, 0, null] },
      { name: 'microseconds', data: [11_045_000_001n, 0n, 86_399_999_999n, null] },
    ],
    schema: [
      { name: 'root', num_children: 3 },
      { name: 'number', type: 'FLOAT', ...optional },
      { name: 'milliseconds', type: 'INT32', logical_type: time('MILLIS'), ...optional },
      { name: 'microseconds', type: 'INT64', logical_type: time('MICROS'), ...optional },
    ],
  });
  writeFileSync(file, new Uint8Array(buffer));
  const row = (number: unknown, milliseconds: unknown, microseconds: unknown) => ({
    number,
    milliseconds,
    microseconds,
  });
  expect(await readParquet(file)).toEqual([
    row(0.1, '03:04:05', '03:04:05.000001'),
    row(16_777_216, '03:04:05.050', '00:00:00'),
    row(NaN, '00:00:00', '23:59:59.999999'),
    row(null, null, null),
  ]);
});

it.each([
  [{ converted_type: 'DECIMAL', precision: 9, scale: 2 } as const],
  [{ logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MILLIS' } } as const],
])('rejects decimals and times of day in a struct if they are read: %j', async (type) => {
  const file = inFolder('rows.parquet');
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: 'name', data: ['a', 'b'] },
      { name: 'price', data: [{ x: 30 }, null] },
    ],
    schema: [
      { name: 'root', num_children: 2 },
      { name: 'name', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'price', num_children: 1, repetition_type: 'OPTIONAL' },
      { name: 'x', type: 'INT32', repetition_type: 'OPTIONAL', ...type },
    ],
  });
  writeFileSync(file, new Uint8Array(buffer));
  const [row, empty] = await readParquet(file);
  expect(row.name).toBe('a');
  expect(empty.price ?? null).toBeNull();
  expect(() => row.price).toThrow('column price has decimals or times of day');
});

it('rejects two columns of one name', async () => {
  const file = inFolder('rows.parquet');
  const data = ['x'];
  writeFileSync(
    file,
    new Uint8Array(parquetWriteBuffer({ columnData: ['a', 'a'].map((name) => ({ name, data })) })),
  );
  await expect(readParquet(file)).rejects.toThrow('two columns named a');
});

it('reads a column of nulls compressed with LZ4', async () => {
  const file = new URL('../fixtures/parquet/nulls.parquet', import.meta.url);
  expect(await readParquet(fileURLToPath(file))).toEqual([{ id: 'q0', note: null }]);
});

it('rejects a run that is longer than its page', async () => {
  const columnData = [{ name: 'word', data: Array.from({ length: 1000 }, () => null) }];
  const bytes = Buffer.from(parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED' }));
  // Twice its length as a varint, then the level.
  const run = bytes.indexOf(Buffer.of(0xd0, 0x0f, 0));
  bytes[run + 1] = 0x7f;
  const file = inFolder('rows.parquet');
  writeFileSync(file, bytes);
  await expect(readParquet(file)).rejects.toThrow('8168 values in a page of 1000');
});

it('rejects invalid and truncated files', async () => {
  const file = inFolder('rows.parquet');
  writeFileSync(file, 'id,question\n');
  await expect(readParquet(file)).rejects.toThrow(/rows\.parquet/);
  writeFileSync(file, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n');
  await expect(readParquet(file)).rejects.toThrow(/rows\.parquet.*git lfs pull/);
  await writeParquet(file, [{ a: 'x' }], { a: 'text' });
  writeFileSync(file, readFileSync(file).subarray(0, 20));
  await expect(readParquet(file)).rejects.toThrow(/rows\.parquet/);
});
