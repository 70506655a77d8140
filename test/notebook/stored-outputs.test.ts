import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { range } from 'd3-array';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeCells, readNotebook, type Notebook } from '../../lib/notebook/nbformat.js';
import {
  compactSvg,
  findStaleOutputs,
  MAX_STORED_BYTES,
  storeOutputs,
} from '../../lib/notebook/stored-outputs.js';
import { lineChart } from '../../lib/report/charts/chart.js';
import { mimeBundle } from '../../lib/report/display.js';
import { plainTable } from '../../lib/report/table.js';
import { temporaryFolder } from '../folder.js';
import { code, notebookOf } from './notebooks.js';

const root = temporaryFolder();
const file = path.join(root, 'notebook.ipynb');
const RESULT = { finding: 'one' };

const write = (sources: readonly string[]): void => {
  const { metadata, ...notebook } = notebookOf(
    ...sources.map((source, i) => ({ ...code(source), id: `cell-${i}` })),
  );
  writeFileSync(file, JSON.stringify({ ...notebook, metadata: { ...metadata, mine: 1 } }));
};

const rows = (count: number) =>
  range(count).map((step) => {
    return { metric: 'reward', curve: `line ${step % 5}`, step, value: Math.sin(step) };
  });
const chart = (count: number) =>
  mimeBundle(lineChart(rows(count), { title: 'Reward', x: 'step', color: 'curve' }));

/** The notebook as if its first cell had shown these bundles. */
async function execute(...bundles: (object | Promise<object>)[]): Promise<Notebook> {
  const executed = readNotebook(file);
  const [cell] = codeCells(executed);
  cell.execution_count = 1;
  for (const bundle of bundles) {
    const data = await bundle;
    cell.outputs.push({ output_type: 'display_data', data: { ...data }, metadata: {} });
  }
  return executed;
}
const storedData = (): Record<string, unknown>[] =>
  codeCells(readNotebook(file)).flatMap(({ outputs }) =>
    outputs.flatMap((output) => ('data' in output ? [output.data] : [])),
  );

beforeEach(() => write(['1 + 1', '2']));

describe('storeOutputs', () => {
  it('stores small outputs of charts and tables with a hash of their origin', async () => {
    const table = mimeBundle(plainTable([{ a: 1 }]));
    expect(await storeOutputs(file, await execute(chart(20), table), RESULT)).toBe(true);
    const [picture, shown] = storedData();
    const types = ['application/vnd.vegalite.v5+json', 'image/svg+xml', 'text/plain'];
    expect(Object.keys(picture).sort()).toEqual(types);
    expect(Object.keys(shown)).toEqual(['text/html']);
    const { metadata } = readNotebook(file);
    expect(metadata.mine).toBe(1);
    const hash = expect.stringMatching(/^\w{12}$/) as string;
    expect(metadata.parallelsearch).toEqual({ outputs: { cells: hash, result: hash } });
  });

  it('leaves current outputs unchanged, and replaces others', async () => {
    await storeOutputs(file, await execute({ 'text/plain': 'first' }), RESULT);
    expect(await storeOutputs(file, await execute({ 'text/plain': 'timing' }), RESULT)).toBe(false);
    const withExact = { ...RESULT, exact: [['1']] };
    expect(await storeOutputs(file, await execute({ 'text/plain': 'x' }), withExact)).toBe(false);
    expect(storedData()).toEqual([{ 'text/plain': 'first' }]);
    const renewed = await execute();
    const other = { output_type: 'stream', name: 'stdout', text: 'other figures' } as const;
    codeCells(renewed)[0].outputs = [other];
    expect(await storeOutputs(file, renewed, { finding: 'two' })).toBe(true);
    expect(readFileSync(file, 'utf8')).toContain('other figures');
  });

  it('gives the same bytes for the same outputs', async () => {
    const executed = await execute(chart(20));
    const again = path.join(root, 'again.ipynb');
    copyFileSync(file, again);
    await storeOutputs(file, executed, RESULT);
    await storeOutputs(again, executed, RESULT);
    expect(readFileSync(again)).toEqual(readFileSync(file));
  });

  it('does not change a notebook that was edited during the run, except for text cells', async () => {
    const executed = await execute({ 'text/plain': 'old' });
    write(['1 + 2', '2']);
    expect(await storeOutputs(file, executed)).toBe(false);
    expect(storedData()).toEqual([]);
    write(['1 + 1', '2']);
    const notebook = readNotebook(file);
    notebook.cells.unshift({ cell_type: 'markdown', id: 'new', metadata: {}, source: '# Mine' });
    writeFileSync(file, JSON.stringify(notebook));
    expect(await storeOutputs(file, executed)).toBe(true);
    expect(readNotebook(file).cells[0].source).toBe('# Mine');
    expect(storedData()).toEqual([{ 'text/plain': 'old' }]);
  });

  it('omits the largest specifications beyond the limit', async () => {
    await storeOutputs(file, await execute(chart(30), chart(4500)), RESULT);
    expect(statSync(file).size).toBeLessThanOrEqual(MAX_STORED_BYTES);
    const [small, large] = storedData();
    expect(small).toHaveProperty(['application/vnd.vegalite.v5+json']);
    expect(Object.keys(large).sort()).toEqual(['image/svg+xml', 'text/plain']);
  });
});

describe('findStaleOutputs', () => {
  it('finds changed cells, changed results, and outputs of unknown origin', async () => {
    expect(findStaleOutputs(readNotebook(file), RESULT)).toBeNull();
    expect(findStaleOutputs(await execute({ 'text/plain': 'x' }))).toMatch(/nothing says/);
    await storeOutputs(file, await execute({ 'text/plain': 'x' }), RESULT);
    const notebook = readNotebook(file);
    expect(findStaleOutputs(notebook, RESULT)).toBeNull();
    expect(findStaleOutputs(notebook)).toBeNull();
    expect(findStaleOutputs(notebook, { finding: 'two' })).toMatch(/result/);
    codeCells(notebook)[1].source = '3';
    expect(findStaleOutputs(notebook, RESULT)).toMatch(/cells/);
  });
});

describe('compactSvg', () => {
  it('reduces the size by more than half and keeps every mark and text', async () => {
    const svg = String((await chart(60))['image/svg+xml']);
    const small = compactSvg(svg);
    expect(small.length).toBeLessThan(svg.length / 2);
    const texts = (drawing: string) => [...drawing.matchAll(/>([^<]+)</g)].map(([, text]) => text);
    expect(texts(small)).toEqual(texts(svg));
    expect(compactSvg('<text x="1.26">0.25</text>')).toBe("<text x='1.3'>0.25</text>");
    const strokes = (drawing: string) => [...drawing.matchAll(/ d=["']M[^"']+,/g)].length;
    const marks = [...svg.matchAll(/aria-roledescription="line mark"/g)].length;
    expect(marks).toBe(5);
    expect(strokes(small)).toBeGreaterThanOrEqual(marks);
    expect(small.match(/<g[ >]/g)!.length).toBe(small.match(/<\/g>/g)!.length);
  });
});
