import { describe, expect, it } from 'vitest';
import { trainingRows, type CurvePoint } from '../../lib/report/training-rows.js';

describe('trainingRows', () => {
  const run = { method: 'm', model: 'base' };
  const point = (seed: number, step: number, reward: number | null): CurvePoint => {
    return { ...run, seed, step, reward };
  };

  it('averages over windows, then over seeds, with the range over seeds', () => {
    const rewards = [point(1, 0, 0), point(1, 1, 2), point(2, 0, 4), point(2, 1, 6)];
    const cell = { ...run, benchmark: 'training', subset: 'all', metric: 'reward' };
    const figures = { value: 3, low: 1, high: 5, seeds: 2, band: 'range of seeds' };
    expect(trainingRows([...rewards, point(1, 2, null)], ['reward'], 1)).toEqual([
      { ...cell, step: 0.5, ...figures },
    ]);
  });

  it('keeps every step of short curves, and splits metrics by question type', () => {
    const name = 'coverage/parallelizable';
    const points = [1, 0].map((step) => ({ ...point(1, step, 0), [name]: step }));
    expect(trainingRows(points, [name])).toMatchObject([
      { metric: 'coverage', subset: 'parallelizable', step: 0, value: 0 },
      { metric: 'coverage', subset: 'parallelizable', step: 1, value: 1 },
    ]);
  });
});
