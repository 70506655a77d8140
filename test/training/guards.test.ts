import { describe, expect, it } from 'vitest';
import { alarmsOf } from '../../lib/training/guards.js';

const HEALTHY = {
  entropy: 0.4,
  kl: 0.01,
  frac_reward_zero_std: 0.5,
  'completions/clipped_ratio': 0.05,
  turns: 1.5,
  'decomposition_ratio/sequential': 0.02,
  reward: 0.9,
};

describe('alarmsOf', () => {
  it('is silent about a healthy step, and does not ask for metrics that a step does not have', () => {
    expect(alarmsOf(HEALTHY)).toEqual([]);
    expect(alarmsOf({ reward: 1 })).toEqual([]);
  });

  it.each([
    ['entropy', 0.0001, 'entropy collapse'],
    ['kl', 0.6, 'far from the reference'],
    ['frac_reward_zero_std', 1, 'anything to teach'],
    ['completions/clipped_ratio', 0.6, 'do not end in an answer'],
    ['turns', 0.2, 'stopped searching'],
    ['decomposition_ratio/sequential', 0.7, 'over-parallelization'],
  ])('names %s at %d, with its value and what it means', (metric, value, meaning) => {
    const alarms = alarmsOf({ ...HEALTHY, [metric]: value });
    expect(alarms).toHaveLength(1);
    expect(alarms[0].startsWith(`${metric} ${value.toFixed(3)}: `)).toBe(true);
    expect(alarms[0]).toContain(meaning);
  });

  it.each([NaN, Infinity])('ends the run at a metric of %d, and names it', (value) => {
    expect(() => alarmsOf({ ...HEALTHY, loss: value })).toThrow(
      `Expected loss to be a number, but got ${value}.`,
    );
  });
});
