/** Any Vega-Lite specification, through the public entry. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MIME } from '../../lib/notebook/nbformat.js';
import { mimeBundle } from '../../lib/report/display.js';
import { createFrame, writeChart } from '../../lib/report/index.js';
import { temporaryFolder } from '../folder.js';

/** Without axis titles and units, which charts of reports must have. */
const values = Object.entries({ a: 1, b: 3 }).map(([part, size]) => ({ part, size }));
const SPEC = {
  title: 'Pie',
  data: { values },
  mark: 'arc',
  encoding: { theta: { field: 'size', type: 'quantitative' }, color: { field: 'part' } },
};
const folder = temporaryFolder();
const file = (name: string): string => path.join(folder, 'figures', name);

describe('display of a plain specification', () => {
  it('gives a chart with its own title and description', async () => {
    const bundle = await mimeBundle(SPEC);
    expect(bundle[MIME.vegaLite]).toMatchObject(SPEC);
    expect(bundle[MIME.svg]).toMatch(/^<svg .*<path/s);
    expect(bundle[MIME.text]).toBe('Pie\nPie');
    const { title: _, ...untitled } = { ...SPEC, description: 'Two parts.' };
    expect((await mimeBundle(untitled))[MIME.text]).toBe('Chart\nTwo parts.');
  });

  it('gives a table for a data frame or part of one', async () => {
    const frame = createFrame([{ part: 'a' }, { part: 'b' }]);
    for (const shown of [frame, frame.head(1)])
      expect((await mimeBundle(shown))[MIME.html]).toMatch(/<table/);
  });
});

describe('writeChart', () => {
  it('writes a picture, data or specification, depending on the file ending', async () => {
    for (const name of ['pie.svg', 'pie.csv', 'pie.vl.json']) await writeChart(SPEC, file(name));
    expect(readFileSync(file('pie.svg'), 'utf8')).toMatch(/^<svg /);
    expect(readFileSync(file('pie.csv'), 'utf8')).toContain('b,3');
    expect(JSON.parse(readFileSync(file('pie.vl.json'), 'utf8'))).toMatchObject(SPEC);
  });

  it('rejects unknown endings and external data', async () => {
    await expect(writeChart(SPEC, file('pie.docx'))).rejects.toThrow(
      /Expected a file ending in \.csv, \.json, .* but got .*pie\.docx/,
    );
    const elsewhere = { ...SPEC, data: { url: 'https://example.com/data.json' } };
    await expect(writeChart(elsewhere, file('elsewhere.svg'))).rejects.toThrow(/contain its data/);
    expect(existsSync(file('elsewhere.svg'))).toBe(false);
  });
});
