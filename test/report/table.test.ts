import { inspect } from 'node:util';
import { DataFrame } from 'danfojs-node';
import { describe, expect, it } from 'vitest';
import { mimeBundle } from '../../lib/report/display.js';
import { createFrame, toRows } from '../../lib/report/frame.js';
import { markupHtml } from '../../lib/report/markup.js';
import { tableCsv, tableMarkup } from '../../lib/report/table-formats.js';
import {
  dataTable,
  figure,
  interval,
  plainTable,
  points,
  table,
  text,
} from '../../lib/report/table.js';
import { intervalText, pointsText } from '../../lib/report/text.js';
import { where } from './fixtures.js';

const row = (method: string, model: string, value: number, paper: number | null = null) => {
  const interval = { value, low: value - 0.1, high: value + 0.1 };
  return { method, model, metric: 'em', benchmark: 'nq', ...interval, paper };
};
const ROWS = [
  row('parallelsearch', 'base', 0.5, 0.4),
  row('search-r1', 'base', 0.3, 0.2),
  row('search-r1-parallel-prompt', 'base', 0.35),
  row('parallelsearch', 'instruct', 0.6, 0.5),
  row('search-r1', 'instruct', 0.4),
];

describe('figures as text', () => {
  it('have interval, sign and unit', () => {
    expect(intervalText({ value: 0.5234, low: 0.4, high: 0.6 })).toBe('0.523 [0.400, 0.600]');
    const below = intervalText({ value: -0.01, low: -0.02, high: -0.0001 });
    expect(below).toBe('−0.010 [−0.020, 0.000]');
    expect(intervalText(undefined)).toBe('–');
    const points = [0.0551, -0.0149, 0.0001, null].map((x) => pointsText(x));
    expect(points).toEqual(['+5.5', '−1.5', '+0.010', '–']);
  });

  it.each([
    [{ metric: 'em' }, '0.123 [0.100, 0.200]'],
    [{ metric: 'model_calls' }, '0.12 [0.10, 0.20]'],
    [{ metric: 'em', kind: 'difference' }, '+12.3 [+10.0, +20.0]'],
    [{ metric: 'turns', kind: 'difference' }, '0.12 [0.10, 0.20]'],
    [{ metric: 'em', kind: 'ratio' }, '0.123 [0.100, 0.200]'],
    [{ metric: 'em', value: null }, '–'],
  ])('depend on metric and kind: %j', (row, text) => {
    expect(interval({ value: 0.1234, low: 0.1, high: 0.2, ...row })).toBe(text);
  });
});

describe('table', () => {
  it('pivots a frame: methods in order, one column per format, no empty columns', () => {
    const cells = { paper: figure('paper'), 'here [95 %]': interval };
    const spec = { caption: 'T', rows: ['model'], columns: ['method'], cells };
    const { cells: found } = table(createFrame(ROWS), spec);
    expect(found.columns).toEqual([
      'Initial model',
      'Search-R1 · paper',
      'Search-R1 · here [95 %]',
      'Search-R1 + parallel prompt · here [95 %]',
      'ParallelSearch · paper',
      'ParallelSearch · here [95 %]',
    ]);
    expect(found.rows.map((cells) => cells.join('; '))).toEqual([
      'base; 0.200; 0.300 [0.200, 0.400]; 0.350 [0.250, 0.450]; 0.400; 0.500 [0.400, 0.600]',
      'instruct; –; 0.400 [0.300, 0.500]; –; 0.500; 0.600 [0.500, 0.700]',
    ]);
  });

  it('accepts custom titles of fields and values', () => {
    const titles = { method: 'Who', 'search-r1': 'the other' };
    const spec = { caption: 'T', rows: ['method'], titles };
    const { cells } = table(createFrame(ROWS.slice(0, 2)), spec);
    expect([cells.columns, cells.rows.map(([who]) => who)]).toEqual([
      ['Who', ''],
      ['the other', 'ParallelSearch'],
    ]);
  });

  it('writes differences as points', () => {
    const difference = { ...ROWS[0], kind: 'difference' };
    const cells = { paper: points('paper'), here: interval };
    const made = table(createFrame([difference]), { caption: 'T', rows: ['benchmark'], cells });
    expect(made.cells.rows).toEqual([['NQ', '+40.0', '+50.0 [+40.0, +60.0]']]);
  });

  it('rejects numbers that are text, as of a CSV file, instead of leaving them out', () => {
    const rows = [{ method: 'a', metric: 'em', value: '0.5', low: '0.4', high: '0.6' }];
    expect(() => table(rows, { caption: 'T', rows: ['method'] })).toThrow(
      'Expected a number, but got "0.5".',
    );
  });

  it('rejects an empty frame, an unknown field, and two rows for a cell', () => {
    const spec = { caption: 'T', rows: ['model'] };
    expect(() => table(createFrame([]), spec)).toThrow(/rows/);
    const elsewhere = { ...spec, columns: ['nowhere'] };
    expect(() => table(createFrame(ROWS), elsewhere)).toThrow('but got nowhere');
    expect(() => table(createFrame(ROWS), spec)).toThrow(/one row per cell/);
  });
});

describe('a data frame', () => {
  it('can be filtered repeatedly and after sorting', () => {
    const frame = createFrame(ROWS);
    const base = where(frame, ({ model }) => model === 'instruct');
    const ours = where(base, ({ method }) => method === 'parallelsearch');
    expect(toRows(ours).map(({ value }) => value)).toEqual([0.6]);
    const sorted = frame.sortValues('value', { ascending: false });
    const low = sorted.query(sorted.column('value').lt(0.45));
    expect(toRows(low).map(({ value }) => value)).toEqual([0.4, 0.35, 0.3]);
    expect(toRows(where(low, ({ model }) => model === 'nowhere'))).toEqual([]);
  });

  it('ignores missing numbers in group statistics', () => {
    const rows = [
      { group: 'a', value: 1 },
      { group: 'a', value: null },
      { group: 'a', value: 2 },
      { group: 'b', value: null },
      { group: 'b' },
    ];
    const groups = createFrame(rows).groupby(['group']);
    const statistics = groups.agg({ value: ['mean', 'min', 'count'] });
    expect(toRows(statistics)).toEqual([
      { group: 'a', value_mean: 1.5, value_min: 1, value_count: 2 },
      { group: 'b', value_mean: null, value_min: null, value_count: 0 },
    ]);
    const means = toRows(groups.col(['value']).mean());
    expect(means.map((row) => row.value_mean)).toEqual([1.5, null]);
  });

  it('neither compares nor adds missing numbers, as pandas', () => {
    const frame = createFrame([{ x: 1 }, { x: null }, {}, { x: NaN }, { x: 5 }]);
    const found = (rows: boolean[]) => toRows(frame.query(rows)).map(({ x }) => x);
    expect(found(frame.column('x').lt(4).values as boolean[])).toEqual([1]);
    expect(found(frame.column('x').ge(0).values as boolean[])).toEqual([1, 5]);
    expect(frame.column('x').add(1).values).toEqual([2, NaN, NaN, NaN, 6]);
    expect(frame.column('x').mean()).toBe(3);
  });

  it.each([
    [
      [3, null, 1, 10],
      [1, 3, 10, null],
      [10, 3, 1, null],
    ],
    [
      ['b', null, 'a', 'c'],
      ['a', 'b', 'c', null],
      ['c', 'b', 'a', null],
    ],
  ])('sorts missing values last, as pandas: %j', (values, upwards, downwards) => {
    const frame = createFrame(values.map((k) => ({ k })));
    const sorted = (ascending?: boolean) =>
      toRows(frame.sortValues('k', { ascending })).map(({ k }) => k);
    expect(sorted()).toEqual(upwards);
    expect(sorted(false)).toEqual(downwards);
  });

  it('rejects groups that danfo.js would mix up', () => {
    const rows = (...keys: (string | number)[][]) => keys.map(([a, b]) => ({ a, b, value: 1 }));
    const frame = createFrame(rows(['x-y', 'z'], ['x', 'y-z']));
    expect(() => frame.groupby(['a', 'b'])).toThrow('2 groups would become 1');
    const means = (...keys: string[][]) =>
      toRows(
        createFrame(rows(...keys))
          .groupby(['a', 'b'])
          .col(['value'])
          .sum(),
      );
    expect(means(['search-r1', 'base'], ['r1', 'base'], ['r1', 'base'])).toEqual([
      { a: 'search-r1', b: 'base', value_sum: 1 },
      { a: 'r1', b: 'base', value_sum: 2 },
    ]);
  });

  it.each(['columns', 'dtypes', 'index', 'shape', 'values'])(
    'rejects a column called %s, which danfo.js needs',
    (name) => expect(() => createFrame([{ [name]: 1 }])).toThrow(`but got ${name}. Rename it.`),
  );

  it('gives null for missing fields', () => {
    expect(toRows(createFrame([{ a: 1 }, { b: 'x' }]))).toEqual([
      { a: 1, b: null },
      { a: null, b: 'x' },
    ]);
  });

  it('is displayed as an escaped table', async () => {
    const bundle = await mimeBundle(new DataFrame([{ '<a>': 1.23456, b: '<script>' }]));
    expect(Object.keys(bundle)).toEqual([
      'text/html',
      'application/vnd.parallelsearch.table+json',
      'text/plain',
    ]);
    expect(bundle['text/plain']).toContain('1.2346');
    const { cells } = plainTable([{ method: 'search-r1', initial_models: 3 }], 'Trainings');
    expect([cells.columns, cells.rows]).toEqual([
      ['Method', 'Initial models'],
      [['Search-R1', '3']],
    ]);
    const hostile = plainTable(new DataFrame([{ b: '<script>' }]));
    expect(markupHtml(tableMarkup(hostile.cells))).not.toContain('<script>');
  });
});

describe('an unknown column', () => {
  const frame = createFrame(ROWS);
  it.each([
    ['a property', () => (frame.methd as { eq(value: string): boolean[] }).eq('r1')],
    ['a group', () => frame.groupby(['methd'])],
    ['a sort key', () => frame.sortValues('methd')],
    ['a selection', () => frame.loc({ columns: ['methd'] })],
    ['a property after a filter', () => where(frame, () => true).methd as unknown],
  ])('throws an error with the existing columns, as %s', (_, read) => {
    expect(read).toThrow(/columns?.*method.*but got methd/);
  });

  it('does not interfere with await and JSON', async () => {
    expect((await Promise.resolve(frame)).columns).toEqual(frame.columns);
    expect(JSON.stringify(frame)).toContain('parallelsearch');
    expect((frame.method as { values: unknown[] }).values[0]).toBe(ROWS[0].method);
  });
});

it('console.log prints the rows of a data frame and of a series', () => {
  const frame = createFrame([{ name: 'Vera', year: 1951 }]);
  expect(inspect(frame)).toMatch(/name.*year[^]*Vera.*1951/);
  expect(inspect(frame)).not.toContain('$data');
  expect(inspect(frame.column('year'))).toMatch(/1951/);
});

describe('columns named by numbers, which objects sort before others,', () => {
  it.each([
    ['of a data frame', new DataFrame([['a', 1, 2]], { columns: ['name', '2020', '2019'] })],
    ['of records', [{ name: 'a', 2020: 1 }, { 2019: 2 }]],
  ])('have their own values: %s', (_, frame) => {
    const [{ columns, rows }, captioned] = [plainTable(frame), plainTable(frame, 'Years')].map(
      ({ cells }) => cells,
    );
    expect(captioned.rows).toEqual(rows);
    const found = rows.flatMap((row) => row.map((cell, c) => `${columns[c]} ${cell}`));
    expect(found).toEqual(expect.arrayContaining(['name a', '2020 1', '2019 2']));
  });
});

it('shows the labels of rows, without which statistics have no names', () => {
  const { cells } = plainTable(new DataFrame([[1], [3]], { columns: ['v'] }).describe());
  expect(cells.columns).toEqual(['index', 'v']);
  expect(cells.rows).toEqual(
    expect.arrayContaining([
      ['count', '2'],
      ['mean', '2'],
      ['max', '3'],
    ]),
  );
  const [unlabelled] = [plainTable(createFrame([{ v: 1 }, { v: 3 }]))];
  expect(unlabelled.cells.columns).toEqual(['v']);
});

it('shows every column, also those with the same heading', () => {
  const { cells } = plainTable([{ exact_match: 1, 'exact match': 2 }], 'Answers');
  expect([cells.columns, cells.rows]).toEqual([['Exact match', 'Exact match'], [['1', '2']]]);
});

it('shows objects and lists as JSON', () => {
  const { cells } = plainTable([{ metadata: { type: 'nq' }, answers: ['a, b', 'c'] }]);
  expect(cells.rows).toEqual([['{"type":"nq"}', '["a, b","c"]']]);
});

describe('CSV of tables', () => {
  it('has data frames in full precision, with their texts as they are', () => {
    const { cells } = plainTable([{ a: 1 / 3, b: '3−2' }, { a: -1e-7 }, { a: 1e21, b: '–' }]);
    expect(cells.rows[0]).toEqual(['0.3333', '3−2']);
    expect(tableCsv(cells)).toBe('a,b\r\n0.3333333333333333,3−2\r\n-1e-7,\r\n1e+21,–\r\n');
  });

  it('has pivoted numbers in full precision and in the unit shown', () => {
    const third = { name: 'a', metric: 'em', value: 1 / 3, low: 0.25, high: null, kind: 'gain' };
    const plain = { ...third, name: 'b', low: null, value: null };
    const own = ({ value }: { value?: unknown }): string => (value === null ? '–' : '−1.5');
    const cells = { interval, f: figure('value'), points: points('value'), t: text('value'), own };
    expect(tableCsv(table([third, plain], { caption: '', rows: ['name'], cells }).cells)).toBe(
      'name,interval,f,points,t,own\r\n' +
        `a,"33.33333333333333 [25, ]",${1 / 3},33.33333333333333,${1 / 3},-1.5\r\nb,,,,,\r\n`,
    );
  });
});

it('shows four significant digits of numbers below 1', () => {
  const rows = [0.00123456, -0.0123456, 0.99996, 1.23456].map((a) => ({ a }));
  expect(dataTable(rows).cells.rows.flat()).toEqual(['0.001235', '-0.01235', '1', '1.2346']);
});

it.each([1, 'ab', null])('rejects rows that are not objects: %j', (row) => {
  const rows = [{ a: 1 }, row] as object[];
  expect(() => dataTable(rows)).toThrow(`objects, but got ${JSON.stringify(row)}`);
});

it('does not show small numbers as 0', () => {
  const rates = [1e-6, 5e-7, -2.00004e-5, 0, 0.12345, null];
  const { cells } = plainTable(rates.map((learningRate) => ({ learningRate })));
  expect(cells.rows.flat()).toEqual(['0.000001', '5e-7', '-0.00002', '0', '0.1235', '–']);
});
