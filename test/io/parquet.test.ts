import { readFileSync, writeFileSync } from 'node:fs';
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
