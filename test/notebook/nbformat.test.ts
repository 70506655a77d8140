import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  codeCells,
  readNotebook,
  writeNotebook,
  type CodeCell,
  type Notebook,
} from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { code, markdown, notebookOf } from './notebooks.js';

const folder = temporaryFolder();
const file = path.join(folder, 'a.ipynb');

/** A notebook with ids, of one cell that shows `outputs`. */
const shown = (...outputs: unknown[]): Notebook =>
  notebookOf({ ...code('1'), id: 'one', outputs } as CodeCell);

describe('readNotebook', () => {
  it('upgrades older files to 4.5, with cell ids', () => {
    writeFileSync(
      file,
      JSON.stringify({ ...notebookOf(markdown('# A'), code('1')), nbformat_minor: 2 }),
    );
    const notebook = readNotebook(file);
    expect(notebook.cells.map(({ id }) => id)).toEqual(['cell-1', 'cell-2']);
    expect(notebook.nbformat_minor).toBe(5);
    expect(codeCells(notebook)).toEqual([notebook.cells[1]]);
  });

  it('gives missing ids that are free, and reads a byte order mark', () => {
    const cells = [markdown('# A'), { ...code('1'), id: 'cell-1' }, code('2')];
    writeFileSync(file, `\uFEFF${JSON.stringify(notebookOf(...cells))}`);
    const ids = readNotebook(file).cells.map(({ id }) => id);
    expect(ids).toEqual(['cell-2', 'cell-1', 'cell-3']);
  });

  it('reads files of VS Code', () => {
    const metadata = { vscode: { languageId: 'typescript' } };
    const cell = { ...code('1'), id: 'a1b2c3d4', metadata };
    const notebook = notebookOf(cell, { ...markdown('text'), id: '5e6f', metadata: {} });
    const language = { name: 'typescript', file_extension: '.ts', mimetype: 'text/typescript' };
    Object.assign(notebook.metadata, { language_info: language, orig_nbformat: 4 });
    writeFileSync(file, JSON.stringify(notebook));
    expect(readNotebook(file)).toEqual(notebook);
  });

  it('names the file and the error', () => {
    writeFileSync(file, '{"cells": [');
    expect(() => readNotebook(file)).toThrow(`${file} is not a notebook`);
    writeFileSync(file, JSON.stringify({ ...notebookOf(code('1')), nbformat: 3 }));
    expect(() => readNotebook(file)).toThrow('nbformat');
    const twice = [1, 2].map(() => ({ ...code('1'), id: 'same' }));
    writeFileSync(file, JSON.stringify(notebookOf(...twice)));
    expect(() => readNotebook(file)).toThrow(/cell ids/);
  });
});

describe('writeNotebook', () => {
  it('keeps integers beyond 2^53', async () => {
    const data = { 'application/json': { id: 1234 } };
    const output = { output_type: 'display_data', data, metadata: {} };
    const json = JSON.stringify(shown(output));
    writeFileSync(file, json.replace('1234', '-9007199254740993'));
    await writeNotebook(file, readNotebook(file));
    expect(readFileSync(file, 'utf8')).toContain('"id": -9007199254740993\n');
  });

  it('round-trips through readNotebook', async () => {
    const notebook = shown(
      { output_type: 'stream', name: 'stdout', text: ['a\n', 'b'] },
      {
        output_type: 'display_data',
        data: { 'text/html': 'x', 'application/a+json': { b: 1 } },
        metadata: {},
      },
      { output_type: 'error', ename: 'E', evalue: 'e', traceback: ['e'] },
    );
    await writeNotebook(file, notebook);
    expect(readNotebook(file)).toEqual(notebook);
  });

  const cell = { ...code('1'), id: 'one' };
  // Each breaks one rule of the official JSON schema.
  it.each([
    [
      'a text that is a number',
      shown({ output_type: 'display_data', data: { 'text/html': 1 }, metadata: {} }),
    ],
    ['a stream without a name', shown({ output_type: 'stream', text: '' })],
    [
      'an unknown field of an output',
      shown({ output_type: 'stream', name: 'stdout', text: '', extra: 1 }),
    ],
    ['a display without metadata', shown({ output_type: 'display_data', data: {} })],
    [
      'a traceback that is a string',
      shown({ output_type: 'error', ename: '', evalue: '', traceback: '' }),
    ],
    ['a cell without id', notebookOf(code('1'))],
    ['an id with a space', notebookOf({ ...cell, id: 'a b' })],
    ['a tag with a comma', notebookOf({ ...cell, metadata: { tags: ['a,b'] } })],
    ['a tag twice', notebookOf({ ...cell, metadata: { tags: ['a', 'a'] } })],
    ['a negative count', notebookOf({ ...cell, execution_count: -1 } as never)],
    ['an unknown field of a cell', notebookOf({ ...cell, extra: 1 } as never)],
    [
      'a kernel without name',
      { ...notebookOf(cell), metadata: { kernelspec: { name: 'x' } } } as never,
    ],
    ['an older format', { ...notebookOf(cell), nbformat_minor: 4 }],
  ])('rejects %s and writes nothing', async (_, notebook) => {
    rmSync(file, { force: true });
    await expect(writeNotebook(file, notebook)).rejects.toThrow(/nbformat 4\.5/);
    expect(existsSync(file)).toBe(false);
  });
});
