import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packagePath } from '../../../lib/io/paths.js';
import { readerLead, readerTable } from '../../../tools/reader/figures.js';

it('is what docs/real-models.md shows', async () => {
  const cells = (text: string): string[] =>
    text.split('\n').map((line) => line.replace(/ *\| */g, '|').replace(/-{3,}/g, '---'));
  const docs = cells(readFileSync(packagePath('docs', 'real-models.md'), 'utf8'));
  expect(docs).toEqual(expect.arrayContaining(cells(await readerTable())));
  const page = readFileSync(packagePath('docs', 'real-models.md'), 'utf8');
  const interval = async (method: string): Promise<string> => {
    const [value, low, high] = (await readerLead(method)).split(' ');
    return `${value} points [${low}, ${high}]`;
  };
  const plain = page.replace(/\s+/g, ' ');
  expect(plain).toContain(await interval('untrained:search-r1'));
  expect(plain).toContain(await interval('untrained:parallel'));
});
