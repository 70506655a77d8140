import { expect, it } from 'vitest';
import { alwaysF1, decompositionClaims } from '../../../lib/experiments/decomposition.js';

const interval = { value: 0.9, low: 0.8, high: 1 };
const sizes = [
  { ...interval, benchmark: 'all', subset: 'all', metric: 'parallelizing_f1', n: 72 },
  { ...interval, benchmark: 'all', subset: 'parallelizable', metric: 'coverage', n: 16 },
];

it('a policy that decomposes every question finds all 16 of 72 that it should: F1 = 2 · 16 / (72 + 16)', () => {
  expect(alwaysF1(sizes)).toBeCloseTo(32 / 88, 12);
  expect(alwaysF1(sizes.slice(0, 1))).toBeNull();
});

it('F1 from each model must be above that', () => {
  const rows = ['base', 'instruct'].map((model) => ({
    ...sizes[0],
    method: 'parallelsearch',
    model,
  }));
  const [{ evidence }] = decompositionClaims;
  if ('untestable' in evidence) throw new Error('Expected evidence.');
  const parts = evidence.parts({ rows: [...rows, sizes[1]], contrasts: [] });
  expect(parts.map(({ of, threshold, side }) => [of, threshold, side])).toEqual([
    ['F1 (base; always: 0.364)', 32 / 88, 'above'],
    ['F1 (instruct; always: 0.364)', 32 / 88, 'above'],
  ]);
  expect(evidence.parts({ rows, contrasts: [] })).toEqual([]);
});
