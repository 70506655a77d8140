import { quantileSorted, range, sort } from 'd3-array';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  contrastEstimate,
  meanEstimate,
  percentileInterval,
  tails,
  type Estimate,
} from '../../lib/evaluation/estimate.js';
import { createRandom } from '../../lib/random.js';

const estimate = (value: number, samples: number[]): Estimate => ({
  value,
  samples: Float64Array.from(samples),
});

it('computes differences, ratios and means per resample', () => {
  const [a, b] = [estimate(2, [1, 3]), estimate(4, [2, 6])];
  expect(contrastEstimate(a, b, 'difference')).toEqual(estimate(-2, [-1, -3]));
  expect(contrastEstimate(a, b, 'ratio')).toEqual(estimate(0.5, [0.5, 0.5]));
  expect(meanEstimate([a, b])).toEqual(estimate(3, [1.5, 4.5]));
});

it('gives no ratio if the denominator can be 0', () => {
  const ratio = (a: Estimate, b: Estimate) => contrastEstimate(a, b, 'ratio');
  const [one, some] = [estimate(1, [1, 1]), estimate(0, [0, 1])];
  expect(ratio(one, estimate(1, [0, 1]))).toBeNull();
  expect(ratio(one, estimate(0, [1, 1]))).toBeNull();
  expect(ratio(some, one)).toEqual(some);
});

it('interpolates percentiles linearly', () => {
  const interval = percentileInterval(estimate(20, range(41).reverse()));
  expect(interval.value).toBe(20);
  expect(interval.low).toBeCloseTo(1, 12);
  expect(interval.high).toBeCloseTo(39, 12);
  const narrow = percentileInterval(estimate(20, range(41)), 0.5);
  expect([narrow.low, narrow.high]).toEqual([10, 30]);
});

it('gives the percentiles of the sorted samples without sorting them in place', () => {
  const reals = fc.double({ noNaN: true, min: -1, max: 1 });
  const values = fc.oneof(fc.integer({ min: 0, max: 5 }), reals);
  const many = fc.array(values, { minLength: 1, maxLength: 700, size: 'max' });
  fc.assert(
    fc.property(many, fc.constantFrom(0.5, 0.9, 0.95), (samples, level) => {
      const given = estimate(0, samples);
      const { low, high } = percentileInterval(given, level);
      expect([...given.samples]).toEqual(samples);
      const sorted = sort(samples);
      expect(low).toBeCloseTo(quantileSorted(sorted, (1 - level) / 2)!, 12);
      expect(high).toBeCloseTo(quantileSorted(sorted, (1 + level) / 2)!, 12);
    }),
  );
});

it('sorts only a small fraction of many samples', () => {
  const random = createRandom(3);
  const samples = Float64Array.from({ length: 10_000 }, () => random.uniform());
  const { lowTail, highTail } = tails(samples, 250, 9749);
  const sorted = samples.toSorted();
  expect(lowTail.toSorted()).toEqual(sorted.subarray(0, lowTail.length));
  expect(highTail.toSorted()).toEqual(sorted.subarray(10_000 - highTail.length));
  for (const { length } of [lowTail, highTail])
    expect([length > 250, length < 1000]).toEqual([true, true]);
});
