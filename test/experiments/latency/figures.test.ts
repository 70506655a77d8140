import { describe, expect, it } from 'vitest';
import { timePartsChart } from '../../../lib/experiments/latency/figures.js';
import { partsOf } from '../../../lib/experiments/latency/measures.js';
import { frameOf } from '../../../lib/report/frame.js';
import { renderSvg } from '../../../lib/report/render.js';
import { syntheticLatency } from './synthetic.js';

describe('timePartsChart', () => {
  it('says in words where the time goes, and can be drawn', async () => {
    const parts = partsOf(syntheticLatency()) as { sub_queries: number }[];
    const four = frameOf(parts.filter(({ sub_queries: n }) => n === 4));
    const chart = timePartsChart(four, { title: 'Where the time goes', unit: '4 sub-queries' });
    expect(chart.alt).toContain(
      'HTTP, 50 ms delay, waiting 200 ms; HTTP, 50 ms delay, requests 8.00 ms; HTTP, 50 ms delay, searching 4.00 ms',
    );
    expect(await renderSvg(chart)).toContain('<svg');
  });
});
