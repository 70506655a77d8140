import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeCells, readNotebook, writeNotebook } from '../../lib/notebook/nbformat.js';
import type { CodeCell, Notebook } from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { code, markdown, notebookOf } from './notebooks.js';

const folder = temporaryFolder();
const file = path.join(folder, 'a.ipynb');

/** A notebook with ids and one cell that shows `outputs`. */
const shown = (...outputs: unknown[]): Notebook =>
  notebookOf({ ...code('1'), id: 'one', outputs } as CodeCell);
const output = (output_type: string, fields: object) => ({ output_type, ...fields });
const write = (notebook: object): void => writeFileSync(file, JSON.stringify(notebook));

describe('readNotebook', () => {
  it('upgrades older files to 4.5, with cell ids', () => {
    write({ ...notebookOf(markdown('# A'), code('1')), nbformat_minor: 2 });
    const notebook = readNotebook(file);
    expect(notebook.cells.map(({ id }) => id)).toEqual(['cell-1', 'cell-2']);
    expect(notebook.nbformat_minor).toBe(5);
    expect(codeCells(notebook)).toEqual([notebook.cells[1]]);
  });

  it('fills in missing ids with unused ones, and reads a byte order mark', () => {
    const cells = [markdown('# A'), { ...code('1'), id: 'cell-1' }, code('2')];
    writeFileSync(file, `\uFEFF${JSON.stringify(notebookOf(...cells))}`);
    const ids = readNotebook(file).cells.map(({ id }) => id);
    expect(ids).toEqual(['cell-2', 'cell-1', 'cell-3']);
  });

  it('reads files from VS Code', () => {
    const metadata = { vscode: { languageId: 'typescript' } };
    const cell = { ...code('1'), id: 'a1b2c3d4', metadata };
    const notebook = notebookOf(cell, { ...markdown('text'), id: '5e6f', metadata: {} });
    const language = { name: 'typescript', file_extension: '.ts', mimetype: 'text/typescript' };
    Object.assign(notebook.metadata, { language_info: language, orig_nbformat: 4 });
    write(notebook);
    expect(readNotebook(file)).toEqual(notebook);
  });

  it('reports file and error', () => {
    writeFileSync(file, '{"cells": [');
    expect(() => readNotebook(file)).toThrow(`${file} is not a notebook`);
    write({ nbformat: 3, nbformat_minor: 0, metadata: {}, worksheets: [] });
    expect(() => readNotebook(file)).toThrow(/got 3.*nbconvert(?!.*worksheets)/s);
    const same = { ...code('1'), id: 'same' };
    write(notebookOf(same, same));
    expect(() => readNotebook(file)).toThrow(/cell ids/);
  });
});

describe('writeNotebook', () => {
  it('keeps integers beyond 2^53', async () => {
    const data = { 'application/json': { id: 1234 } };
    const json = JSON.stringify(shown(output('display_data', { data, metadata: {} })));
    writeFileSync(file, json.replace('1234', '-9007199254740993'));
    await writeNotebook(file, readNotebook(file));
    expect(readFileSync(file, 'utf8')).toContain('"id": -9007199254740993\n');
  });

  it('round-trips through readNotebook', async () => {
    const data = { 'text/html': 'x', 'application/a+json': { b: 1 } };
    const notebook = shown(
      output('stream', { name: 'stdout', text: ['a\n', 'b'] }),
      output('display_data', { data, metadata: {} }),
      output('error', { ename: 'E', evalue: 'e', traceback: ['e'] }),
    );
    await writeNotebook(file, notebook);
    expect(readNotebook(file)).toEqual(notebook);
  });

  const cell = { ...code('1'), id: 'one' };
  const number = output('display_data', { data: { 'text/html': 1 }, metadata: {} });
  const extra = output('stream', { name: 'stdout', text: '', extra: 1 });
  const traceback = output('error', { ename: '', evalue: '', traceback: '' });
  const kernelspec = { name: 'x' };
  // Each breaks one rule of the official JSON schema.
  it.each([
    ['a number as text', shown(number)],
    ['a stream without a name', shown(output('stream', { text: '' }))],
    ['an unknown field of an output', shown(extra)],
    ['a display without metadata', shown(output('display_data', { data: {} }))],
    ['a traceback that is a string', shown(traceback)],
    ['a cell without id', notebookOf(code('1'))],
    ['an id with a space', notebookOf({ ...cell, id: 'a b' })],
    ['a tag with a comma', notebookOf({ ...cell, metadata: { tags: ['a,b'] } })],
    ['a repeated tag', notebookOf({ ...cell, metadata: { tags: ['a', 'a'] } })],
    ['a negative count', notebookOf({ ...cell, execution_count: -1 } as never)],
    ['an unknown field of a cell', notebookOf({ ...cell, extra: 1 } as never)],
    ['a kernel without name', { ...notebookOf(cell), metadata: { kernelspec } } as never],
    ['an older format', { ...notebookOf(cell), nbformat_minor: 4 }],
  ])('rejects %s and writes nothing', async (_, notebook) => {
    rmSync(file, { force: true });
    await expect(writeNotebook(file, notebook)).rejects.toThrow(/nbformat 4\.5/);
    expect(existsSync(file)).toBe(false);
  });
});
