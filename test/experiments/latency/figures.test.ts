import { describe, expect, it } from 'vitest';
import { summariseLatency } from '../../../lib/experiments/latency/measures.js';
import { MIME, mimeBundle } from '../../../lib/report/display.js';
import { cellsOf } from '../../../lib/report/frame.js';
import {
  concurrencyChart,
  questionTimeChart,
  timePartsChart,
  wallClockChart,
} from '../../../lib/experiments/latency/charts.js';
import {
  concurrencyTable,
  modelFitTable,
  msText,
  questionSpeedUp,
  questionTimeTable,
  requestCostTable,
  wallClockTable,
} from '../../../lib/experiments/latency/tables.js';
import { syntheticLatency } from './synthetic.js';
import { describeCharts } from '../describe-charts.js';

const generation = { msPerCall: 100, source: 'a test' };
const results = summariseLatency(syntheticLatency(), generation);
const unstated = summariseLatency(syntheticLatency(), null);
const charts = [
  wallClockChart(results),
  concurrencyChart(results),
  timePartsChart(results),
  questionTimeChart(results),
];

describeCharts(charts, { ofSmallWorld: false });

describe('charts of the latency report', () => {
  it('say in words what they show', () => {
    expect(charts[0].alt).toContain(
      'HTTP, 50 ms delay: 424 ms in turns, 74.0 ms in one turn, 60.0 ms in one request.',
    );
    // work ends at 3, 6 of each wave of 53 ms: 4 waves and 3 ms
    expect(charts[1].alt).toContain('HTTP, 50 ms delay: 424 ms (1), 215 ms (2),');
    expect(charts[2].alt).toContain(
      'HTTP, 50 ms delay, waiting 200 ms; HTTP, 50 ms delay, requests 8.00 ms;',
    );
    expect(charts[3].alt).toContain('with 10,000 ms');
  });

  it('show the stated time of a call only where one is stated', () => {
    const rules = (chart: { spec: object }): number =>
      JSON.stringify(chart.spec).split('"datum":100').length - 1;
    expect([rules(charts[3]), rules(questionTimeChart(unstated))]).toEqual([1, 0]);
  });
});

describe('tables of the latency report', () => {
  it('show the prediction beside what was measured', () => {
    const { caption, columns, rows } = cellsOf(wallClockTable(results, 'slow-50'));
    expect(caption).toContain('HTTP, 50 ms delay, median of 5 repeats over 2 seeds');
    const row = Object.fromEntries(columns.map((column, c) => [column, rows[3][c]]));
    expect(row).toEqual({
      'Sub-queries': '4',
      'in turns · ms [quartiles]': '212 [191, 254]',
      'in turns · model': '212',
      'one turn, no limit · ms [quartiles]': '62.0 [55.8, 74.4]',
      'one turn, no limit · model': '62.0',
      'one turn, one request · ms [quartiles]': '56.0 [50.4, 67.2]',
      'one turn, one request · model': '56.0',
      'one turn / in turns · measured': '0.29',
      'one turn / in turns · model': '0.29',
    });
  });

  it('show what a limit costs, and the three costs', () => {
    const { columns, rows } = cellsOf(concurrencyTable(results));
    expect(columns).toHaveLength(1 + 2 * 4);
    expect(rows.map((row) => row[columns.indexOf('2 at a time · model')])).toEqual(['12.0', '24.0', '215']);
    expect(cellsOf(requestCostTable(results)).rows).toEqual([
      ['embedded', '0.500', '1.00', '0'],
      ['local HTTP', '2.00', '1.00', '0'],
      ['HTTP, 50 ms delay', '2.00', '1.00', '50'],
    ]);
  });

  it('show how far the model is off', () => {
    const record = syntheticLatency();
    const off = record.measurements.find(
      (m) => m.retriever === 'slow-50' && m.method === 'one-request' && m.numQueries === 8,
    )!;
    off.samplesMs = [120]; // the model says 60
    const { columns, rows } = cellsOf(modelFitTable(summariseLatency(record, null)));
    expect(rows[2][columns.indexOf('one turn, one request')]).toBe('0.50 to 1.00');
    expect(rows[0].slice(1)).toEqual(Array(6).fill('1.00 to 1.00'));
  });

  it('give whole questions at the stated time of a call, and dashes without', () => {
    const { columns, rows } = cellsOf(questionTimeTable(results, [3]));
    const slow = Object.fromEntries(columns.map((column, c) => [column, rows[2][c]]));
    // 4 calls and 3 * 53 ms; 2 calls and 3 * 3 + 50 ms
    expect(slow).toMatchObject({
      'calls of the model · in turns': '4',
      'calls of the model · one turn, no limit': '2',
      'question, ms · in turns': '559',
      'question, ms · one turn, no limit': '259',
      'times as fast': '2.16',
    });
    expect(cellsOf(questionTimeTable(unstated, [3])).rows[2].slice(-3)).toEqual(['–', '–', '–']);
    expect(cellsOf(questionTimeTable(unstated)).caption).toContain('No evaluation is there');
  });

  it('approach the ratio of calls as the model gets slower', () => {
    const at = (generationMs: number): number =>
      questionSpeedUp(results, { retriever: 'embedded', numQueries: 5, generationMs });
    expect(at(0)).toBe(1);
    expect(at(1e9)).toBeCloseTo(6 / 2, 6);
    expect(() => questionSpeedUp(results, { retriever: 'http', numQueries: 9, generationMs: 1 })).toThrow(
      'Expected in turns to be measured with 9 sub-queries',
    );
  });

  it('write milliseconds with sensible decimals', () => {
    expect([0.0123, 1.234, 12.34, 123.4].map(msText)).toEqual(['0.012', '1.23', '12.3', '123']);
  });
});

describe('results of the latency report', () => {
  it('are shown as a sentence, with the tidy table for the file beside the page', async () => {
    const bundle = await mimeBundle(results);
    expect(bundle[MIME.tidy]).toBe(results.tidy);
    expect(bundle[MIME.text]).toContain('a call of the model takes 100.0 ms (a test)');
  });
});
