import { describe, expect, it } from 'vitest';
import { chartData } from '../../lib/report/charts/spec.js';
import { latexText, tableCsv, tableLatex, tableMarkdown } from '../../lib/report/table-formats.js';

const grouped = {
  caption: 'Levels of 50 % & more',
  columns: ['Name', 'A_1 · paper', 'A_1 · here [95 %]', 'n'],
  rows: [
    ['[x] | *y*', '0.5', '−1.5 [−2.0, 0.1]', '3'],
    ['say "a, b"\nc', '–', '0.1 [0.0, 0.2]', '–'],
  ],
};

describe('tableCsv', () => {
  it('quotes commas, quotes and line breaks, and writes machine-readable numbers', () => {
    expect(tableCsv(grouped)).toBe(
      [
        'Name,A_1 · paper,A_1 · here [95 %],n',
        '[x] | *y*,0.5,"-1.5 [-2.0, 0.1]",3',
        '"say ""a, b""\nc",,"0.1 [0.0, 0.2]",',
        '',
      ].join('\r\n'),
    );
  });
});

describe('tableMarkdown', () => {
  it('keeps cells in their columns, with numbers aligned right', () => {
    const lines = tableMarkdown(grouped).split('\n');
    expect(lines).toEqual([
      'Levels of 50 % \\& more',
      '',
      '| Name | A\\_1 · paper | A\\_1 · here \\[95 %\\] | n |',
      '| --- | ---: | ---: | ---: |',
      '| \\[x\\] \\| \\*y\\* | 0.5 | −1.5 \\[−2.0, 0.1\\] | 3 |',
      '| say "a, b" c | – | 0.1 \\[0.0, 0.2\\] | – |',
      '',
    ]);
    // GitHub sets text between dollars as a formula.
    expect(tableMarkdown({ ...grouped, caption: '$x$' })).toMatch(/^\\\$x\\\$\n/);
    // A carriage return ends a line of Markdown, too.
    const progress = { caption: '', columns: ['a'], rows: [['50 %\r100 %\r\nok']] };
    expect(tableMarkdown(progress)).toContain('| 50 % 100 % ok |');
  });
});

describe('tableLatex', () => {
  it('is a booktabs table with grouped headers', () => {
    expect(tableLatex(grouped, 'levels-1')).toBe(
      [
        '% \\usepackage{booktabs}',
        '\\begin{table}',
        '  \\centering',
        '  \\caption{Levels of 50 \\% \\& more}',
        '  \\label{tab:levels-1}',
        '  \\begin{tabular}{lrrr}',
        '    \\toprule',
        '     & \\multicolumn{2}{c}{A\\_1} &  \\\\',
        '    \\cmidrule(lr){2-3}',
        '    Name & paper & here [95 \\%] & n \\\\',
        '    \\midrule',
        '    {[}x] \\textbar{} *y* & 0.5 & $-$1.5 [$-$2.0, 0.1] & 3 \\\\',
        "    say ''a, b'' c & -- & 0.1 [0.0, 0.2] & -- \\\\",
        '    \\bottomrule',
        '  \\end{tabular}',
        '\\end{table}',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [
      '\\ { } $ & # % _ ^ ~',
      '\\textbackslash{} \\{ \\} \\$ \\& \\# \\% \\_ \\textasciicircum{} \\textasciitilde{}',
    ],
    ['a<b>c|d', 'a\\textless{}b\\textgreater{}c\\textbar{}d'],
    ['λ ≥ 0.5 · é', '$\\lambda$ $\\geq$ 0.5 $\\cdot$ é'],
    ['-0.5 [-1, +2] Search-R1 2-4', '$-$0.5 [$-$1, +2] Search-R1 2-4'],
  ])('escapes %s', (text, latex) => {
    expect(latexText(text)).toBe(latex);
  });
});

describe('chartData', () => {
  it('has one row per datum and one column per field, in full precision', () => {
    const spec = {
      layer: [
        { data: { values: [{ a: 1 / 3, b: 'x' }] } },
        { data: { values: [{ a: null, c: [1] }, 2] } },
      ],
      encoding: { x: { field: 'a', title: 'data' } },
    };
    const rows = [
      [String(1 / 3), 'x', '', ''],
      ['', '', '[1]', ''],
      ['', '', '', '2'],
    ];
    const columns = ['a', 'b', 'c', 'data'];
    expect(chartData(spec, 'C')).toEqual({ caption: 'C', columns, rows, exact: rows });
  });

  it('lists the data of several views once', () => {
    const [data, other] = [{ name: 'd' }, { values: [{ a: 2 }] }];
    const spec = { hconcat: [{ data }, { data: other }, { data }], datasets: { d: [{ a: 1 }] } };
    expect(chartData(spec, '').rows).toEqual([['1'], ['2']]);
  });

  it('keeps dashes and minus signs of texts in CSV', () => {
    const data = { values: [{ a: '–', b: '3−2' }] };
    expect(tableCsv(chartData({ data }, ''))).toBe('a,b\r\n–,3−2\r\n');
  });
});
