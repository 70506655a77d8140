import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  declaredInputs,
  hashNotebook,
  hashPath,
  restoreOutputs,
  saveOutputs,
} from '../../lib/notebook/cache.js';
import { codeCells, type Notebook } from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { code, markdown, notebookOf } from './notebooks.js';

const folder = temporaryFolder();
mkdirSync(path.join(folder, 'data', 'deep'), { recursive: true });
const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);

describe('hashPath', () => {
  it('changes with the content and the name of any file in a folder', async () => {
    write('data/deep/a.txt', 'one');
    const data = path.join(folder, 'data');
    const hashes = [await hashPath(data), await hashPath(data)];
    write('data/deep/a.txt', 'two');
    hashes.push(await hashPath(data));
    rmSync(path.join(data, 'deep/a.txt'));
    write('data/deep/b.txt', 'two');
    hashes.push(await hashPath(data));
    expect(hashes[1]).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(3);
    expect(await hashPath(path.join(folder, 'nothing'))).toBe('absent');
  });
});

describe('hashNotebook', () => {
  const hashOf = (notebook: Notebook, inputs: string[] = [], cwd = folder): Promise<string> =>
    hashNotebook(notebook, { cwd, inputs });

  it('depends on code, inputs and working folder, but not on text cells, ids or outputs', async () => {
    write('input.txt', 'one');
    const cell = code('let a = 1;');
    const first = await hashOf(notebookOf(cell), ['input.txt']);
    const retold = notebookOf(markdown('# A'), { ...cell, id: 'x' });
    expect(await hashOf(retold, ['input.txt'])).toBe(first);
    const others = [
      await hashOf(notebookOf(code('let a = 2;')), ['input.txt']),
      await hashOf(notebookOf(cell)),
      await hashOf(notebookOf(cell), ['input.txt'], path.join(folder, 'data')),
    ];
    write('input.txt', 'two');
    others.push(await hashOf(notebookOf(cell), ['input.txt']));
    expect(new Set([first, ...others]).size).toBe(5);
  });
});

describe('declaredInputs', () => {
  const withInputs = (parallelsearch: unknown): Notebook => ({
    ...notebookOf(code('1')),
    metadata: { parallelsearch },
  });
  const texts = new Map([['folder', '../runs']]);

  it('come from the metadata, with parameters filled in', () => {
    expect(declaredInputs(notebookOf(code('1')), texts)).toBeNull();
    expect(declaredInputs(withInputs({ inputs: [] }), texts)).toEqual([]);
    const inputs = ['data', '{folder}/a.json'];
    expect(declaredInputs(withInputs({ inputs }), texts)).toEqual(['data', '../runs/a.json']);
  });

  it('rejects unknown parameters and invalid metadata', () => {
    expect(() => declaredInputs(withInputs({ inputs: ['{file}'] }), texts)).toThrow(/file.*folder/);
    expect(() => declaredInputs(withInputs({ inputs: 'data' }), texts)).toThrow(/list "inputs"/);
  });
});

describe('cached outputs', () => {
  const timing = { elapsedMs: 10, cellMs: [4] };

  it('are restored by their hash, and never from a damaged file', async () => {
    const notebook = notebookOf(markdown('# A'), code('1'));
    codeCells(notebook)[0].outputs = [{ output_type: 'stream', name: 'stdout', text: '1\n' }];
    await saveOutputs(folder, 'abc', notebook, timing);
    const empty = notebookOf(code('1'));
    write('half.json.gz', '{"cells": [');
    for (const hash of ['abd', 'half'])
      expect(await restoreOutputs(folder, hash, empty)).toBeNull();
    expect(codeCells(empty)[0].outputs).toEqual([]);
    expect(await restoreOutputs(folder, 'abc', empty)).toEqual(timing);
    expect(codeCells(empty)[0]).toEqual(codeCells(notebook)[0]);
  });
});
