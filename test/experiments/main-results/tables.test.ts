import { DataFrame } from 'danfojs-node';
import { describe, expect, it } from 'vitest';
import { mimeBundle } from '../../../lib/report/display.js';
import { tableHtml, tableText } from '../../../lib/html/cells.js';
import { cellsOf, tableOf } from '../../../lib/report/frame.js';
import { intervalText, pointsText } from '../../../lib/report/select.js';
import {
  behaviourTable,
  callsTable,
  claimsOf,
  claimsTable,
  gapTable,
  mainTable,
  subsetTable,
} from '../../../lib/experiments/main-results/tables.js';
import { syntheticSummary } from '../../report/fixtures.js';

const results = syntheticSummary();

describe('figures', () => {
  it('are written with their interval, sign and unit', () => {
    expect(intervalText({ value: 0.5234, low: 0.4, high: 0.6 })).toBe('0.523 [0.400, 0.600]');
    expect(intervalText({ value: -0.01, low: -0.02, high: -0.0001 })).toBe('−0.010 [−0.020, 0.000]');
    expect(intervalText(undefined)).toBe('–');
    expect([0.0551, -0.0149, 0.0001, null].map((x) => pointsText(x))).toEqual(['+5.5', '−1.5', '0.0', '–']);
  });
});

describe('tables of the report', () => {
  it('show the paper beside the reproduction for every benchmark and the average', () => {
    const { columns, rows } = cellsOf(mainTable(results, 'base'));
    expect(rows.map((row) => row[0])).toEqual([
      ...['NQ', 'TriviaQA', 'PopQA', 'HotpotQA', '2WikiMultiHopQA', 'MuSiQue', 'Bamboogle'],
      ...['Average', 'All questions'],
    ]);
    expect(columns).toContain('Search-R1 · paper');
    expect(columns).not.toContain('Search-R1 + parallel prompt · paper');
    expect(rows[7][columns.indexOf('ParallelSearch · paper')]).toBe('0.458');
    expect(rows[8][columns.indexOf('ParallelSearch · paper')]).toBe('–');
  });

  it('compare gaps and not levels, and say where the interval holds zero', () => {
    const { rows } = cellsOf(gapTable(results));
    expect(rows).toHaveLength(16);
    expect(rows[2].slice(0, 3)).toEqual(['base', 'PopQA', '−1.4']);
    for (const [, , paper, here, same] of rows) {
      const [value, low, high] = here.match(/[+−]?[\d.]+/g)!.map((x) => Number(x.replace('−', '-')));
      const decided = low > 0 || high < 0;
      const agrees = Math.sign(value) === (paper.startsWith('−') ? -1 : 1);
      expect(same).toBe(decided ? (agrees ? 'yes' : 'no') : 'undecided');
    }
  });

  it('give behaviour, the two kinds of question of the paper and the ratio of calls', () => {
    expect(cellsOf(behaviourTable(results, 'parallelizable_5')).rows).toHaveLength(8);
    expect(cellsOf(subsetTable(results, 'parallelizable')).rows).toHaveLength(12);
    expect(cellsOf(subsetTable(results, 'sequential')).caption).toContain('Table 6');
    const calls = cellsOf(callsTable(results));
    expect(calls.rows[0].slice(0, 2)).toEqual(['parallelizable', '0.697']);
  });

  it('answer the claims by the figures, yes or no', () => {
    const holds = (low: number, share: number): boolean[] => {
      const changed = structuredClone(results);
      for (const contrast of changed.tidy.contrasts) contrast.low = low;
      for (const row of changed.tidy.rows) row.value = row.subset === 'sequential' ? 1 - share : share;
      return claimsOf(changed).map((claim) => claim.holds);
    };
    expect(holds(0, 0.95)).toEqual([true, true, true, true, true, true]);
    expect(holds(-0.011, 0.85)).toEqual([false, true, false, false, false, false]);
    expect(cellsOf(claimsTable(results)).rows.map((row) => row.at(-1))).toContain('yes');
  });
});

describe('HTML and text of a table', () => {
  const table = tableOf('A < B', [
    { Name: '<script>', 'X · paper': 0.5, 'X · here': '0.123 [0.1, 0.2]', Note: 'a"b' },
  ]);
  const html = tableHtml(cellsOf(table));

  it('escape everything', () => {
    expect(html).toContain('<caption>A &lt; B</caption>');
    expect(html).toContain('<th scope="row">&lt;script&gt;</th>');
    expect(html).toContain('<td>a&quot;b</td>');
    expect(html).not.toContain('<script>');
  });

  it('group columns and align figures', () => {
    expect(html).toContain('<th scope="colgroup" colspan="2">X</th>');
    expect(html).toContain('<th scope="col" rowspan="2">Note</th>');
    expect(html).toContain('<td class="figure">0.123 [0.1, 0.2]</td>');
  });

  it('align the columns of a terminal', () => {
    expect(tableText(cellsOf(tableOf('T', [{ a: 'xx', b: 1 }]))).split('\n')).toEqual([
      'T',
      'a   b',
      'xx  1',
    ]);
  });

  it('show a bare data frame as well', async () => {
    const bundle = await mimeBundle(new DataFrame([{ a: 1, b: 'x' }]));
    expect(Object.keys(bundle)).toEqual([
      'text/html',
      'application/vnd.parallelsearch.table+json',
      'text/plain',
    ]);
  });

  it('refuse to be empty', () => {
    expect(() => tableOf('Nothing', [])).toThrow('rows for the table "Nothing"');
  });
});
