import { describe, expect, it } from 'vitest';
import { joinLines } from '../../lib/notebook/nbformat.js';
import { withParameters } from '../../lib/notebook/parameters.js';
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

type Given = Parameters<typeof withParameters>[1];
const injected = (given: Given): string =>
  joinLines(withParameters(notebook, given).notebook.cells[2].source);

describe('parameters', () => {
  it.each([
    ['folder=12', 'let folder: string = "12";'],
    ['page=a=b', 'let page: string = "a=b";'],
    ['seed=12', 'let seed: number = 12;'],
    ['budget=.5', 'let budget: number = 0.5;'],
    ['quick=true', 'let quick: boolean = true;'],
    ['sizes=[1, 2]', 'let sizes: number[] = [1,2];'],
    // JSON or else text if the type is open
    ['limit=5', 'let limit: number | null = 5;'],
    ['limit=null', 'let limit: number | null = null;'],
    ['limit=five', 'let limit: number | null = "five";'],
    ['limit=', 'let limit: number | null = "";'],
  ])('are parsed by the type of their default: %s', (text, line) => {
    expect(injected([text])).toBe(line);
  });

  it.each([
    ['seed=1e400', /seed.*number/],
    ['seed=12345678901234567890', /seed.*2\^53/],
    ['sizes=[12345678901234567890]', /sizes.*2\^53/],
    ['limit=12345678901234567890', /limit.*2\^53/],
    ['quick=1', /quick.*boolean/],
    ['budget=', /budget.*number/],
    ['budget=true', /budget.*number/],
    ['seed=many', /seed.*number/],
    ['seed', /name=value/],
    ['sizes=1, 2', /sizes.*JSON/],
    ['sizes=3', /sizes.*JSON/],
    ['sizes=null', /sizes.*JSON/],
  ])('of the wrong type are rejected: %s', (text, message) => {
    expect(() => injected([text])).toThrow(message);
  });

  it('are injected as a typed cell after the tagged one, replacing an earlier one', () => {
    const once = withParameters(notebook, { seed: 1 }).notebook;
    const { cells } = withParameters(once, { folder: 'a"b', quick: true, limit: 5 }).notebook;
    expect(cells).toHaveLength(4);
    expect(joinLines(cells[2].source).split('\n')).toEqual([
      'let folder: string = "a\\"b";',
      'let quick: boolean = true;',
      'let limit: number | null = 5;',
    ]);
    expect(cells[2].metadata.tags).toEqual(['injected-parameters']);
    expect(notebook.cells).toHaveLength(3);
    expect(withParameters(once, {}).notebook.cells).toEqual(notebook.cells);
  });

  it('in text show the given value or the default', () => {
    const { texts } = withParameters(notebook, { page: 'x' });
    expect(Object.fromEntries(texts)).toEqual({ folder: '../runs', page: 'x' });
  });

  it('must be declared, with the declared type', () => {
    expect(() => injected({ sed: 1 })).toThrow(/folder, seed, quick, sizes, limit, page, budget/);
    expect(() => injected({ seed: Infinity })).toThrow(/seed.*number/);
    expect(() => injected({ seed: 'one' })).toThrow(/seed.*number/);
  });
});
