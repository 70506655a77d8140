import { expect, it } from 'vitest';
import { timeParts } from '../../lib/experiments/latency/experiment.js';
import { frameOf } from '../../lib/report/frame.js';
import { renderSvg } from '../../lib/report/render.js';
import { stackedChart } from '../../lib/report/chart.js';
import { syntheticLatency } from '../experiments/synthetic-latency.js';

it('says in words what each bar is made of, and can be drawn', async () => {
  const parts = timeParts(syntheticLatency()) as { sub_queries: number }[];
  const four = frameOf(parts.filter(({ sub_queries: n }) => n === 4));
  const axes = { y: 'asked', panel: 'retriever', xTitle: 'Wall clock (ms)', mark: 'measured' };
  const chart = stackedChart(four, { title: 'Where the time goes', ...axes });
  expect(chart.alt).toContain('HTTP, 50 ms delay, in turns: waiting 200');
  const svg = await renderSvg(chart);
  expect(svg).toContain('<svg');
  expect(svg.match(/diamond|in turns/g)!.length).toBeGreaterThan(1);
});
