import { describe, expect, it } from 'vitest';
import { textOf } from '../../lib/notebook/nbformat.js';
import { declaredParameters, injectParameters, parseParameters } from '../../lib/notebook/parameters.js';
import { code, markdown, notebookOf } from './notebooks.js';

const defaults = [
  `let folder = '../runs'; // where`,
  'const seed: number = 3',
  'let quick = false;',
  'let list = [1];',
];
const notebook = notebookOf(markdown('# Title'), code(defaults.join('\n'), 'parameters'), code('seed'));

describe('parameters', () => {
  it('have the type of their defaults', () => {
    expect([...declaredParameters(notebook)]).toEqual([
      ['folder', 'string'],
      ['seed', 'number'],
      ['quick', 'boolean'],
    ]);
  });

  it('are read from a command line by that type', () => {
    const parsed = parseParameters(['folder=12', 'seed=12', 'quick=true'], notebook);
    expect(parsed).toEqual({ folder: '12', seed: 12, quick: true });
    expect(() => parseParameters(['seed=many'], notebook)).toThrow(
      'Expected seed to be a number, but got many.',
    );
    expect(() => parseParameters(['seed'], notebook)).toThrow('name=value');
  });

  it('are injected as one typed cell after the tagged one, replacing an earlier one', () => {
    const once = injectParameters(notebook, { seed: 1 });
    const twice = injectParameters(once, { folder: 'a"b', quick: true });
    expect(twice.cells).toHaveLength(4);
    expect(textOf(twice.cells[2].source)).toBe('let folder: string = "a\\"b";\nlet quick: boolean = true;');
    expect(twice.cells[2].metadata.tags).toEqual(['injected-parameters']);
    expect(notebook.cells).toHaveLength(3);
  });

  it('must be declared, and of the declared type', () => {
    expect(() => injectParameters(notebook, { sed: 1 })).toThrow('which declares folder, seed, quick');
    expect(() => injectParameters(notebook, { seed: 'one' })).toThrow(
      'Expected seed to be a number, but got "one".',
    );
  });
});
