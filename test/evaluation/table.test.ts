import { describe, expect, it } from 'vitest';
import { meanMetrics } from '../../lib/evaluation/metrics.js';
import { loadPaperTables, paperFigure } from '../../lib/experiments/paper.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import { syntheticResults } from '../experiments/synthetic.js';

const results = syntheticResults();
const tidy = summariseResults(results, { resamples: 400, provenance: { commit: 'abc' }, paper: paperFigure });
const find = <T extends object>(items: T[], wanted: Partial<T>): T => {
  const found = items.filter((item) =>
    Object.entries(wanted).every(([key, value]) => item[key as keyof T] === value),
  );
  if (found.length !== 1) throw new Error(`Expected one item, but got ${found.length}.`);
  return found[0];
};

describe('rows', () => {
  it('have the agreed fields, in order, and one row a cell', () => {
    expect(Object.keys(tidy)).toEqual(['rows', 'contrasts', 'provenance']);
    const fields = [
      'method',
      'model',
      'benchmark',
      'subset',
      'metric',
      'value',
      'low',
      'high',
      'n',
      'seeds',
      'paper',
    ];
    expect(Object.keys(tidy.rows[0])).toEqual(fields);
    const names = tidy.rows.map((r) => [r.method, r.model, r.benchmark, r.subset, r.metric].join('/'));
    expect(new Set(names).size).toBe(names.length);
  });

  it('hold the plain mean and its size', () => {
    const mine = results.filter(
      (r) => r.method === 'parallelsearch' && r.model === 'base' && r.benchmark === 'hotpotqa',
    );
    const row = find(tidy.rows, {
      method: 'parallelsearch',
      model: 'base',
      benchmark: 'hotpotqa',
      subset: 'all',
      metric: 'em',
    });
    expect(row.value).toBeCloseTo(meanMetrics(mine).em, 6);
    expect([row.n, row.seeds]).toEqual([24, 3]);
    expect(row.low).toBeLessThanOrEqual(row.value);
    expect(row.high).toBeGreaterThanOrEqual(row.value);
  });

  it('average the seven benchmarks with equal weight', () => {
    const em = tidy.rows.filter(
      (r) => r.method === 'search-r1' && r.model === 'base' && r.subset === 'all' && r.metric === 'em',
    );
    const benchmarks = em.filter((r) => !['all', 'average'].includes(r.benchmark));
    expect(benchmarks).toHaveLength(7);
    const mean = benchmarks.reduce((sum, r) => sum + r.value, 0) / 7;
    expect(find(em, { benchmark: 'average' }).value).toBeCloseTo(mean, 5);
  });

  it('give comparisons of 5 apart', () => {
    const subsets = ['parallelizable', 'parallelizable_2_to_4', 'parallelizable_5'];
    const sizes = subsets.map(
      (subset) => find(tidy.rows, { method: 'r1', model: 'base', benchmark: 'all', subset, metric: 'em' }).n,
    );
    expect(sizes).toEqual([24, 15, 9]);
  });
});

describe('contrasts', () => {
  const key = {
    method: 'parallelsearch',
    against: 'search-r1',
    benchmark: 'all',
    metric: 'model_calls',
  } as const;

  it('divide model calls, also over both models', () => {
    const calls = (method: string): number =>
      meanMetrics(results.filter((r) => r.method === method && r.subset === 'parallelizable')).model_calls;
    const contrast = find(tidy.contrasts, { ...key, model: 'all', subset: 'parallelizable', kind: 'ratio' });
    expect(contrast.value).toBeCloseTo(calls('parallelsearch') / calls('search-r1'), 6);
    const fields = [
      'method',
      'against',
      'model',
      'benchmark',
      'subset',
      'metric',
      'kind',
      'value',
      'low',
      'high',
    ];
    expect(Object.keys(contrast)).toEqual(fields);
  });

  it('are differences of the rows', () => {
    const row = (method: string) =>
      find(tidy.rows, { method, model: 'base', benchmark: 'nq', subset: 'all', metric: 'em' });
    const contrast = find(tidy.contrasts, {
      ...key,
      metric: 'em',
      model: 'base',
      benchmark: 'nq',
      subset: 'all',
      kind: 'difference',
    });
    expect(contrast.value).toBeCloseTo(row('parallelsearch').value - row('search-r1').value, 5);
  });

  it('have no ratio to methods that never search', () => {
    expect(tidy.contrasts.some((c) => c.against === 'r1' && c.metric === 'turns' && c.kind === 'ratio')).toBe(
      false,
    );
  });
});

describe("the paper's figures", () => {
  const paper = loadPaperTables();
  const figure = (method: string, model: string, benchmark: string, subset: string, metric: string) =>
    paperFigure({ method, model, benchmark, subset, metric }, paper);

  it('come from Table 2 for whole benchmarks and their average', () => {
    expect(figure('parallelsearch', 'instruct', '2wikimultihopqa', 'all', 'em')).toBe(0.424);
    expect(figure('search-r1', 'base', 'average', 'all', 'em')).toBe(0.434);
  });

  it('come from Tables 3 and 6 for subsets, as shares and model calls', () => {
    expect(figure('parallelsearch', 'base', 'hotpotqa', 'parallelizable', 'decomposition_ratio')).toBe(
      0.9703,
    );
    expect(figure('search-r1', 'instruct', '2wikimultihopqa', 'parallelizable', 'model_calls')).toBe(3.05);
    expect(figure('search-r1-parallel-prompt', 'base', '2wikimultihopqa', 'sequential', 'em')).toBe(0.2526);
  });

  it('are null where the paper prints none', () => {
    expect(figure('parallelsearch', 'base', 'all', 'all', 'em')).toBeNull();
    expect(figure('r1', 'base', 'hotpotqa', 'parallelizable', 'em')).toBeNull();
    expect(figure('parallelsearch', 'base', 'hotpotqa', 'hybrid', 'em')).toBeNull();
    expect(figure('parallelsearch', 'base', 'nq', 'all', 'f1')).toBeNull();
  });
});

it('summarises a table of the real size within seconds of processor time', () => {
  const results = syntheticResults({ perTemplate: 250 });
  const before = process.cpuUsage();
  summariseResults(results);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(30);
}, 180_000);
