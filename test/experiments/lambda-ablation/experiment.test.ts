/** The report on the weights of the two rewards, on made-up answers: its numbers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { loadLambdaAblation } from '../../../lib/experiments/lambda-ablation.js';
import { tradeOffChart } from '../../../lib/experiments/trade-off-chart.js';
import { frameOf, rowsOf, type Row } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { writeSyntheticLambdaAblation } from './synthetic.js';

const ON_PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

describe('the settings', () => {
  let rows: Row[];
  let contrasts: Row[];
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticLambdaAblation(folder);
    const results = await loadLambdaAblation(folder, { resamples: 60 });
    [rows, contrasts] = [rowsOf(results.rows), rowsOf(results.contrasts)];
    const chart = tradeOffChart(frameOf(matching(rows, ON_PARALLEL)));
    expect(chart.alt).toMatch(/\(0, 0\) 0\.\d+ with 4\.00 calls/);
  });

  const differences = (fields: object): Row[] =>
    matching(contrasts, { ...ON_PARALLEL, kind: 'difference', ...fields });

  it('are named in every row and contrast, with their weights', () => {
    expect(rows.length).toBeGreaterThan(0);
    for (const { method, lambda_d, lambda_s, setting } of [...rows, ...contrasts]) {
      expect(method).toBe(`lambda_d=${lambda_d},lambda_s=${lambda_s}`);
      expect(setting).toBe(`(${lambda_d}, ${lambda_s})`);
    }
  });

  it('stand beside the paper’s Table 4', () => {
    const cell = { ...ON_PARALLEL, rewards: 'paper', benchmark: '2wikimultihopqa' };
    const figures = matching(rows, cell);
    expect(Object.fromEntries(figures.map(({ metric, paper }) => [metric, paper]))).toEqual({
      em: 0.65,
      decomposition_ratio: 0.9975,
      model_calls: 2.03,
      coverage: null,
      turns: null,
    });
  });

  it('are compared: the paper’s with all others, the twins with each other, each reward alone with neither', () => {
    const againstOthers = differences({ setting: '(0.15, 0.35)', metric: 'model_calls' });
    expect(againstOthers).toHaveLength(7);
    expect(againstOthers.find((row) => row.against_setting === '(0.15, 0)')).toMatchObject({
      value: -2,
      low: -2,
      high: -2,
    });
    const sides = { setting: '(0.15, 0.35)', against_setting: '(0, 0.35)' };
    const decomposed = { ...sides, metric: 'decomposition_ratio' };
    expect(differences(decomposed)).toMatchObject([{ value: 1, low: 1, high: 1 }]);
    expect(differences({ setting: '(0.5, 0.35)' }).map((row) => row.against_setting)).toEqual(
      Array(5).fill('(0.15, 0.5)'),
    );
    // In the made-up answers any lambda_s saves two calls.
    const alone = differences({ against_setting: '(0, 0)', metric: 'model_calls' });
    expect(Object.fromEntries(alone.map(({ setting, value }) => [setting, value]))).toEqual({
      '(0.15, 0.35)': -2,
      '(0, 0.35)': -2,
      '(0.15, 0)': 0,
    });
  });
});
