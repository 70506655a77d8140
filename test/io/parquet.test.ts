import { readFileSync, writeFileSync } from 'node:fs';
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
