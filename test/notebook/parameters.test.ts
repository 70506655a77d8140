import { describe, expect, it } from 'vitest';
import { textOf } from '../../lib/notebook/nbformat.js';
import { injectParameters, parseParameters, textParameters } from '../../lib/notebook/parameters.js';
import { code, markdown, notebookOf } from './notebooks.js';

const DEFAULTS = `let folder = '../runs'; // where
// let no = 'parameter';
const seed: number = 3, quick = false
let sizes: number[] = [
  1, // and so on
];
let limit: number | null = null;
let page = 'https://example.org'; // not a comment within
const budget = 1_000;`;
const notebook = notebookOf(markdown('# Title'), code(DEFAULTS, 'parameters'), code('seed'));

describe('parameters', () => {
  it('are read from a command line by the type of their defaults', () => {
    const parsed = parseParameters(['folder=12', 'seed=12', 'quick=true', 'budget=.5'], notebook);
    expect(parsed).toEqual({ folder: '12', seed: 12, quick: true, budget: 0.5 });
    for (const text of ['quick=1', 'budget=', 'budget=true'])
      expect(() => parseParameters([text], notebook)).toThrow(
        /^Expected \w+ to be a (boolean|number), but got/,
      );
    expect(() => parseParameters(['seed=many'], notebook)).toThrow(
      'Expected seed to be a number, but got many.',
    );
    expect(() => parseParameters(['seed'], notebook)).toThrow('name=value');
    expect(parseParameters(['sizes=[1, 2]', 'page=a=b'], notebook)).toEqual({ sizes: [1, 2], page: 'a=b' });
    for (const text of ['1, 2', '3', 'null'])
      expect(() => parseParameters([`sizes=${text}`], notebook)).toThrow(
        `Expected sizes to be a list or an object in JSON, such as [1, 2] or {"a": 1}, but got ${text}.`,
      );
  });

  it('are JSON or else text where the declaration leaves their type open', () => {
    const values = ['5', 'null', 'five', ''].map(
      (text) => parseParameters([`limit=${text}`], notebook).limit,
    );
    expect(values).toEqual([5, null, 'five', '']);
  });

  it('are injected as one typed cell after the tagged one, replacing an earlier one', () => {
    const once = injectParameters(notebook, { seed: 1 });
    const twice = injectParameters(once, { folder: 'a"b', quick: true });
    expect(twice.cells).toHaveLength(4);
    expect(textOf(twice.cells[2].source)).toBe('let folder: string = "a\\"b";\nlet quick: boolean = true;');
    expect(twice.cells[2].metadata.tags).toEqual(['injected-parameters']);
    expect(notebook.cells).toHaveLength(3);
  });

  it('keep the declared type, and are as they were read', () => {
    const values = { limit: 5, sizes: [1, 2], page: 'x' };
    const lines = textOf(injectParameters(notebook, values).cells[2].source).split('\n');
    expect(lines).toEqual([
      'let limit: number | null = 5;',
      'let sizes: number[] = [1,2];',
      'let page: string = "x";',
    ]);
  });

  it('that are texts have the given value or the default', () => {
    expect([...textParameters(notebook, { page: 'x' })]).toEqual([
      ['folder', '../runs'],
      ['page', 'x'],
    ]);
  });

  it('must be declared, and of the declared type', () => {
    expect(() => injectParameters(notebook, { sed: 1 })).toThrow(
      'which declares folder, seed, quick, sizes, limit, page, budget',
    );
    expect(() => injectParameters(notebook, { seed: 'one' })).toThrow(
      'Expected seed to be a number, but got "one".',
    );
  });
});
