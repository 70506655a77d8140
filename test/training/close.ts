import { expect } from 'vitest';

/** Every value is within a tolerance of the expected one. */
export function expectClose(
  actual: readonly number[],
  expected: readonly number[],
  tolerance = 1e-6,
): void {
  expect(actual).toHaveLength(expected.length);
  const worst = Math.max(...actual.map((value, i) => Math.abs(value - expected[i])));
  expect(worst).toBeLessThan(tolerance);
}
