import { describe, expect, it } from 'vitest';
import { rewardOptions } from '../../lib/rewards/presets.js';
import { addReward, PAPER_REWARD } from '../../lib/rewards/reward.js';
import { totalReward, type RewardInput } from '../../lib/rewards/total.js';

const OPTIONS = rewardOptions('paper');
const INPUT: RewardInput = {
  answer: 'A',
  goldenAnswers: ['A'],
  formatOk: true,
  searchTurns: [['A', 'B']],
  shape: 'parallelizable',
};

describe('PAPER_REWARD', () => {
  it('is Eq. 7', () => {
    expect(PAPER_REWARD.score(INPUT, OPTIONS)).toEqual(totalReward(INPUT, OPTIONS));
  });
});

describe('addReward', () => {
  it("adds a part of one's own to the paper's, and keeps the others as they are", () => {
    const brief = addReward('brief', ({ searchTurns }) => -0.1 * searchTurns.flat().length);
    expect(brief.name).toBe('brief');
    const { own, total, ...paper } = brief.score(INPUT, OPTIONS);
    expect({ ...paper, total: 1.45 }).toEqual({ ...totalReward(INPUT, OPTIONS), total: 1.45 });
    expect(own).toBeCloseTo(-0.2, 12);
    expect(total).toBeCloseTo(1.25, 12);
  });

  it.each([NaN, Infinity])('refuses %d, and names the reward', (value) => {
    expect(() => addReward('broken', () => value).score(INPUT, OPTIONS)).toThrow(
      `Expected the reward "broken" to be a finite number, but got ${value}.`,
    );
  });
});
