import { describe, expect, it } from 'vitest';
import type { CurvePoint } from '../../lib/evaluation/load.js';
import { chartOf, type VegaLiteSpec } from '../../lib/report/chart.js';
import { callsChart, emChart, gapChart, trainingChart } from '../../lib/report/charts.js';
import { aggregateCurves } from '../../lib/report/curves.js';
import { renderSvg } from '../../lib/report/render.js';
import { syntheticSummary } from './fixtures.js';
import { describeCharts } from '../experiments/describe-charts.js';

const results = syntheticSummary();
const charts = [
  emChart(results),
  callsChart(results, 'model_calls'),
  callsChart(results, 'turns'),
  gapChart(results),
  trainingChart(results, 'reward'),
  trainingChart(results, 'kl'),
  // Null at every step, as precision is where nothing was ever decomposed.
  trainingChart({ curves: results.curves.map((point) => ({ ...point, precision: null })) }, 'precision'),
];

describeCharts(charts);

describe('renderSvg', () => {
  it('refuses data from outside', async () => {
    const spec: VegaLiteSpec = { data: { url: 'https://example.org/x.json' }, mark: 'point', encoding: {} };
    await expect(renderSvg(chartOf({ title: 'T', alt: 'A', spec }))).rejects.toThrow(
      'not drawn as specified',
    );
  });

  it('refuses a chart that Vega-Lite warns of', async () => {
    const spec: VegaLiteSpec = {
      data: { values: [{ a: 1 }] },
      mark: 'bar',
      encoding: { x: { type: 'nominal' }, nowhere: { field: 'a' } },
    };
    await expect(renderSvg(chartOf({ title: 'T', alt: 'A', spec }))).rejects.toThrow('nowhere');
  });
});

describe('training curves', () => {
  const point = (seed: number, step: number, reward: number | null): CurvePoint => {
    return { method: 'm', model: 'base', seed, step, reward };
  };

  it('are averaged over windows, then over seeds, with the range of the seeds', () => {
    const curves = [point(1, 0, 0), point(1, 1, 2), point(2, 0, 4), point(2, 1, 6), point(1, 2, null)];
    const bands = aggregateCurves(curves, 'reward', 1);
    expect(bands).toEqual([{ method: 'm', model: 'base', step: 0.5, mean: 3, low: 1, high: 5 }]);
  });

  it('keep every step where there are few', () => {
    const bands = aggregateCurves([point(1, 1, 1), point(1, 0, 0)], 'reward');
    expect(bands.map(({ step, mean }) => [step, mean])).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it('name the known metrics when one is missing', () => {
    expect(() => trainingChart(results, 'rewards')).toThrow(/metric rewards, but the metrics are: .*reward,/);
  });
});
