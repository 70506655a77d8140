import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { absoluteToolReward, otc, relativeToolReward } from '../../lib/rewards/otc.js';
import { scoreRollout, type ScoringInput } from '../../lib/rewards/reward.js';
import { rolloutLike } from './rollouts.js';

const calls = fc.integer({ min: 0, max: 20 });
const after = (searches: number, answer = 'right'): ScoringInput =>
  rolloutLike({ answer, searchTurns: Array.from({ length: searches }, () => ['q']) });

describe('OTC, PPO form', () => {
  it.each([
    [0, 1],
    [1, Math.cos(Math.PI / 8)],
    [3, Math.SQRT1_2],
    [6, 0.5],
  ])('gives a right answer after %d calls cos(m pi / (2m + 6))', (m, expected) => {
    expect(absoluteToolReward(m)).toBeCloseTo(expected, 12);
  });

  it('decreases with every call and stays above 0', () => {
    fc.assert(
      fc.property(calls, (m) => {
        expect(absoluteToolReward(m + 1)).toBeLessThan(absoluteToolReward(m));
        expect(absoluteToolReward(m + 1)).toBeGreaterThan(0);
      }),
    );
  });
});

describe('OTC, GRPO form', () => {
  it.each([
    ['no call when none is needed', 0, 0, 1],
    ['three calls when none is needed', 3, 0, Math.SQRT1_2],
    ['as few calls as needed', 2, 2, 1],
    // f = 2 * 4 * 2 / 6 = 8/3, and sin(8/3 * pi / 4) = sin(120 degrees)
    ['twice as many calls as needed', 4, 2, Math.sqrt(3) / 2],
    // f = 2 * 3 * 1 / 4 = 3/2, and sin(3/2 * pi / 2) = sin(135 degrees)
    ['three times as many calls as needed', 3, 1, Math.SQRT1_2],
  ])('gives a right answer with %s', (_, m, n, expected) => {
    expect(relativeToolReward(m, n)).toBeCloseTo(expected, 12);
  });

  it('is highest with the fewest calls', () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 0, max: 10 }), (more, fewest) => {
        const [some, most] = [more, more + 1].map((by) => relativeToolReward(fewest + by, fewest));
        expect(most).toBeLessThan(some);
        expect(some).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('compares with the fewest calls of a correct answer in the group; wrong answers get 0', () => {
    const group = [after(2), after(4), after(1, 'wrong')];
    const totals = group.map((one) => scoreRollout(otc('grpo'), one, group).components.total);
    expect(totals[0]).toBeCloseTo(1, 12);
    expect(totals[1]).toBeCloseTo(Math.sqrt(3) / 2, 12);
    expect(totals[2]).toBe(0);
  });

  it('records the outcome with weight 0', () => {
    const { components } = scoreRollout(otc('ppo'), after(3));
    expect(components.outcome).toBe(1);
    expect(components.total).toBeCloseTo(Math.SQRT1_2, 12);
  });
});
