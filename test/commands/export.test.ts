/** Charts and tables of a page as files; PDF and PNG by a real Chromium. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { runExport, type ExportSettings } from '../../lib/commands/export.js';
import type { CodeCell } from '../../lib/notebook/nbformat.js';
import { notebookFigures } from '../../lib/pages/notebook/page.js';
import { createFrame } from '../../lib/report/frame.js';
import type { Artefact } from '../../lib/report/publication.js';
import { plainTable } from '../../lib/report/table.js';
import { testsPages } from '../browser/chromium.js';
import { temporaryFolder } from '../folder.js';
import { code, notebookOf } from '../notebook/notebooks.js';
import { shown, syntheticChart, syntheticReport } from '../report/fixtures.js';

const folder = temporaryFolder();
const reports = path.join(folder, 'reports');
const chart = syntheticChart(syntheticReport());
const table = plainTable(
  createFrame([{ Method: 'A_1', 'Time · ms': 2 }]),
  'Shares & </script> in %',
);
const out = path.join(folder, 'out');
const settings: ExportSettings = {
  out,
  reports,
  format: ['csv', 'tex', 'md', 'json', 'svg'],
  log: () => undefined,
};
const read = (...parts: string[]): string => readFileSync(path.join(out, ...parts), 'utf8');

beforeAll(async () => {
  mkdirSync(reports);
  const cells = [await shown('figures', chart, table), await shown('table', table)];
  const notebook = notebookOf(...cells);
  writeFileSync(path.join(folder, 'main.ipynb'), JSON.stringify(notebook));
  const info = (name: string, figures: Artefact[]): void =>
    writeFileSync(
      path.join(reports, `${name}.page.json`),
      JSON.stringify({ name, title: 'T', description: 'D', figures }),
    );
  info('main', notebookFigures(notebook));
  info('empty', []);
});

it('finds the figures of a notebook', async () => {
  const figures = notebookFigures(
    notebookOf(await shown('figures', chart, table), await shown('table', table)),
  );
  expect(figures.map(({ kind, name }) => [kind, name])).toEqual([
    ['chart', 'figures-1'],
    ['table', 'figures-2'],
    ['table', 'table'],
  ]);
  expect(figures[0]).toMatchObject({ spec: chart.spec });
  expect(figures[1]).toMatchObject({ cells: table.cells });
  const foreign = { ...(code('1') as CodeCell), id: 'own' };
  const data = { 'application/vnd.vegalite.v4+json': { mark: 'bar' } };
  foreign.outputs = [{ output_type: 'display_data', data, metadata: {} }];
  expect(notebookFigures(notebookOf(foreign))).toEqual([
    { kind: 'chart', name: 'own', spec: { mark: 'bar' } },
  ]);
});

describe('runExport', () => {
  it('writes every chart and table in all formats', async () => {
    await runExport(['all'], settings);
    expect(readdirSync(out)).toEqual(['main']);
    expect(readdirSync(path.join(out, 'main')).sort()).toEqual([
      'figures-1.csv',
      'figures-1.svg',
      'figures-1.vl.json',
      'figures-2.csv',
      'figures-2.md',
      'figures-2.tex',
      'table.csv',
      'table.md',
      'table.tex',
    ]);
    expect(read('main', 'table.tex')).toContain(
      '\\caption{Shares \\& \\textless{}/script\\textgreater{} in \\%}',
    );
    expect(read('main', 'table.tex')).toContain('\\label{tab:table}');
    expect(JSON.parse(read('main', 'figures-1.vl.json'))).toEqual(chart.spec);
    expect(read('main', 'figures-1.svg')).toContain(chart.title);
    const { values } = chart.spec.data as { values: object[] };
    expect(read('main', 'figures-1.csv').trim().split('\r\n')).toHaveLength(values.length + 1);
  });

  it('accepts files and names, and lists what it wrote', async () => {
    const log = vi.fn<(line: string) => void>();
    const file = path.join(folder, 'main.ipynb');
    const written = await runExport([file, 'main'], { ...settings, format: ['md'], log });
    expect(written).toHaveLength(4);
    expect(log.mock.calls[0][0]).toMatch(/^main: 2 files from 3 charts and tables in /);
  });

  it('rejects reports that are missing or have no figures', async () => {
    await expect(runExport(['nothing'], settings)).rejects.toThrow(/nothing/);
    await expect(runExport(['empty'], settings)).rejects.toThrow(/charts or tables/);
    const nowhere = { ...settings, reports: path.join(folder, 'nowhere') };
    await expect(runExport(['all'], nowhere)).rejects.toThrow(/npm start/);
  });
});

describe.skipIf(!testsPages)('runExport (needs Chromium and test:full)', () => {
  it('draws one-page PDF, and PNG in the size of the chart', async () => {
    const target = path.join(folder, 'pictures');
    await runExport(['main'], { ...settings, out: target, format: ['pdf', 'png', 'svg'] });
    const file = (ending: string): string => path.join(target, 'main', `figures-1.${ending}`);
    const [, width, height] = / width="(\d+)" height="(\d+)"/
      .exec(readFileSync(file('svg'), 'utf8'))!
      .map(Number);
    const pdf = readFileSync(file('pdf'), 'latin1');
    expect(pdf.match(/\/Type ?\/Page\b/g)).toHaveLength(1);
    const box = /\/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf)!.slice(1).map(Number);
    expect(Math.abs(box[0] - 0.75 * width)).toBeLessThan(1.5); // 96 pixels, 72 points an inch
    expect(Math.abs(box[1] - 0.75 * height)).toBeLessThan(1.5);
    const png = readFileSync(file('png'));
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([3 * width, 3 * height]);
  }, 180_000);
});
