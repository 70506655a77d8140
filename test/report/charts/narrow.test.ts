import { expect, it } from 'vitest';
import { narrowed } from '../../../lib/report/charts/narrow.js';

const sort = ['NQ', 'TriviaQA', 'HotpotQA', '2WikiMultiHopQA', 'MuSiQue'];
const x = { field: 'a', type: 'nominal', sort, axis: { labelAngle: 0 } };
const view = { width: { step: 17 }, layer: [{ mark: { type: 'point' }, encoding: { x } }] };

it('stacks panels, slants long labels and wraps the title', () => {
  const title = { text: 'A long title of a chart, with intervals', anchor: 'start' };
  const column = { sort: ['base', 'instruct'] };
  const narrow = narrowed({ title, facet: { column }, spec: view }, 300);
  expect(narrow).toMatchObject({
    columns: 1,
    facet: { type: 'nominal', sort: ['base', 'instruct'] },
    title: { text: ['A long title of a chart, with', 'intervals'], anchor: 'start' },
    config: { legend: { orient: 'bottom', columns: 1, labelLimit: 220 } },
    spec: { width: 208, layer: [{ encoding: { x: { ...x, axis: { labelAngle: -40 } } } }] },
  });
  expect(narrow.facet).not.toHaveProperty('column');
});

it('divides the width between the columns of a grid, and keeps short labels', () => {
  const facet = { row: { sort: ['NQ'] }, column: { sort: ['base', 'instruct'] } };
  const short = {
    ...view,
    layer: [{ mark: { type: 'point' }, encoding: { x: { ...x, sort: [2, 3] } } }],
  };
  const narrow = narrowed({ facet, spec: short }, 300);
  expect(narrow).toMatchObject({ facet, spec: { width: 98, layer: short.layer } });
  expect(narrow).not.toHaveProperty('columns');
});

it('stacks a grid whose panels would be too narrow', () => {
  const column = { field: 'b', sort: ['BM25', 'exact', 'HNSW'] };
  const facet = { row: { field: 'a\\.c', sort: ['NQ'] }, column };
  expect(narrowed({ facet, spec: view }, 300)).toMatchObject({
    transform: [{ calculate: `datum["a.c"] + ', ' + datum["b"]`, as: 'panel' }],
    facet: { field: 'panel', sort: ['NQ, BM25', 'NQ, exact', 'NQ, HNSW'] },
    columns: 1,
    spec: { width: 208 },
  });
});

it.each([
  ['column names', ['RL among near misses', 'base'], 'k'],
  ['axis titles', ['base', 'instruct'], 'k (passages per query)'],
])('stacks a grid whose %s would overlap', (_, sort, title) => {
  const facet = { row: { field: 'a', sort: ['NQ'] }, column: { field: 'b', sort } };
  const spec = { layer: [{ mark: { type: 'point' }, encoding: { x: { field: 'k', title } } }] };
  expect(narrowed({ facet, spec }, 300)).toHaveProperty('columns', 1);
});

it('fits a chart without panels', () => {
  expect(narrowed(view, 300)).toMatchObject({ width: 208 });
});

it('wraps long names on the vertical axis, with enough room', () => {
  const long = 'RL without hybrids, as in the main comparison: hybrid questions';
  const y = { field: 'b\\.c', type: 'nominal', axis: { labelLimit: 300 } };
  const bars = {
    height: { step: 20 },
    layer: [{ mark: { type: 'point' }, encoding: { y } }, { mark: { type: 'rule' } }],
  };
  const chart = (name: string) => ({ data: { values: [{ 'b.c': name }] }, ...bars });
  const { layer, height } = narrowed(chart(long), 300);
  const { axis } = layer![0].encoding!.y as { axis: { labelLimit: number; labelExpr: string } };
  const lines = ['RL without', 'hybrids, as in the', 'main comparison', 'hybrid questions'];
  expect(axis.labelExpr).toBe(`${JSON.stringify({ [long]: lines })}[datum.label]`);
  expect(axis.labelLimit).toBe(300);
  expect((height as { step: number }).step).toBeGreaterThan(4 * 13);
  expect(narrowed(chart('short'), 300)).toMatchObject(bars);
});

it('wraps the title to the width of chart and axes', () => {
  const title = { text: 'A long title of a chart, with intervals' };
  expect(narrowed({ ...view, title }, 100, 340).title!.text).toHaveLength(2);
  expect((narrowed({ ...view, title }, 100).title!.text as string[]).length).toBeGreaterThan(3);
});
