import { describe, expect, it } from 'vitest';
import { coverage } from '../../lib/rewards/coverage.js';
import { COMPARISON, HYBRID, SEQUENTIAL, SINGLE } from '../training/tiny.js';

describe('coverage', () => {
  it('is the share of independent sub-questions that some search asks, together or one by one', () => {
    expect(coverage(COMPARISON, [['Ada Stone', 'Bo Reed', 'Cy Hill']])).toBe(1);
    expect(coverage(COMPARISON, [['Ada Stone'], ['when was bo reed born'], ['Cy Hill']])).toBe(1);
    expect(coverage(COMPARISON, [['Ada Stone', 'Ada Stone']])).toBeCloseTo(1 / 3, 12);
    expect(coverage(COMPARISON, [])).toBe(0);
  });

  it('wants the whole name as words', () => {
    expect(coverage(COMPARISON, [['Ada'], ['Bo Reeds'], ['Bo Cy', 'Hill']])).toBe(0);
    expect(coverage(COMPARISON, [['the "Ada Stone"!']])).toBeCloseTo(1 / 3, 12);
  });

  it('looks at the roots only: a later hop cannot be asked at once', () => {
    expect(coverage(SEQUENTIAL, [['Red River']])).toBe(1);
    expect(coverage(HYBRID, [['Red River'], ['Bo Reed']])).toBe(0.5);
    expect(coverage({ ...SINGLE, metadata: {} }, [['x']])).toBe(0);
  });
});
