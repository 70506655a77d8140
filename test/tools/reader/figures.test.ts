import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packagePath } from '../../../lib/io/paths.js';
import { readerTable } from '../../../tools/reader/figures.js';

it('is what docs/real-models.md shows', async () => {
  const cells = (text: string): string[] =>
    text.split('\n').map((line) => line.replace(/ *\| */g, '|').replace(/-{3,}/g, '---'));
  const docs = cells(readFileSync(packagePath('docs', 'real-models.md'), 'utf8'));
  expect(docs).toEqual(expect.arrayContaining(cells(await readerTable())));
});
