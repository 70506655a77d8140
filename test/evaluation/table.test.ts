import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import { meanMetrics } from '../../lib/evaluation/metrics.js';
import { BENCHMARK_TITLES, MANY } from '../../lib/evaluation/selections.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import { paperFigure } from '../../lib/experiments/results/paper.js';
import { syntheticResults } from '../experiments/synthetic.js';

const results = syntheticResults();
const tidy = summariseResults(results, {
  resamples: 20,
  provenance: { commit: 'abc' },
  paper: paperFigure,
});
const find = <T extends object>(items: T[], wanted: Partial<T>): T => {
  const found = matching(items, wanted);
  expect(found).toHaveLength(1);
  return found[0];
};

describe('rows', () => {
  it('have these fields, in order, with one row per cell', () => {
    expect(Object.keys(tidy)).toEqual(['rows', 'contrasts', 'provenance']);
    const fields = 'method model benchmark subset metric value low high n seeds paper';
    expect(Object.keys(tidy.rows[0]).join(' ')).toBe(fields);
    const names = tidy.rows.map((r) =>
      [r.method, r.model, r.benchmark, r.subset, r.metric].join('/'),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it('contain the mean and the number of questions', () => {
    const cell = { method: 'parallelsearch', model: 'base', benchmark: 'hotpotqa' } as const;
    const row = find(tidy.rows, { ...cell, subset: 'all', metric: 'em' });
    expect(row.value).toBeCloseTo(meanMetrics(matching(results, cell)).em, 6);
    expect([row.n, row.seeds]).toEqual([24, 6]);
    expect(row.low).toBeLessThanOrEqual(row.value);
    expect(row.high).toBeGreaterThanOrEqual(row.value);
  });

  it('average the seven benchmarks with equal weight', () => {
    const cell = { method: 'search-r1', model: 'base', subset: 'all', metric: 'em' };
    const em = matching(tidy.rows, cell);
    const benchmarks = em.filter((r) => r.benchmark in BENCHMARK_TITLES);
    expect(benchmarks).toHaveLength(7);
    const mean = benchmarks.reduce((sum, r) => sum + r.value, 0) / 7;
    expect(find(em, { benchmark: 'average' }).value).toBeCloseTo(mean, 5);
  });

  it('split by number of entities, wording and yes/no', () => {
    const sizes = (benchmark: string, subsets: string[]): number[] =>
      subsets.map((subset) => find(tidy.rows, { ...KEY, benchmark, subset, metric: 'em' }).n);
    const KEY = { method: 'r1', model: 'base' };
    const subsets = ['parallelizable', 'wording_seen', 'wording_unseen', 'yes_no'];
    expect(sizes('all', subsets)).toEqual([24, 60, 60, 12]);
    expect(sizes(MANY, ['all', 'entities_2', 'entities_8'])).toEqual([12, 2, 1]);
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
      meanMetrics(
        matching(
          results.filter(({ benchmark }) => benchmark !== MANY),
          { method, subset: 'parallelizable' },
        ),
      ).model_calls;
    const ratio = { model: 'all', subset: 'parallelizable', kind: 'ratio' } as const;
    const contrast = find(tidy.contrasts, { ...key, ...ratio });
    expect(contrast.value).toBeCloseTo(calls('parallelsearch') / calls('search-r1'), 6);
    const fields = 'method against model benchmark subset metric kind value low high';
    expect(Object.keys(contrast).join(' ')).toBe(fields);
  });

  it('are differences of the rows', () => {
    const cell = { model: 'base', benchmark: 'nq', subset: 'all', metric: 'em' } as const;
    const row = (method: string) => find(tidy.rows, { ...cell, method });
    const contrast = find(tidy.contrasts, { ...key, ...cell, kind: 'difference' });
    expect(contrast.value).toBeCloseTo(row('parallelsearch').value - row('search-r1').value, 5);
  });

  it('omit ratios to methods that never search', () => {
    expect(matching(tidy.contrasts, { against: 'r1', metric: 'turns', kind: 'ratio' })).toEqual([]);
  });
});
