import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuestionShape } from '../../lib/data/question.js';
import { decompositionReward, isDecomposed } from '../../lib/rewards/decomposition.js';
import { formatReward } from '../../lib/rewards/format.js';
import { outcomeReward } from '../../lib/rewards/outcome.js';
import { REWARD_PRESET_NAMES, REWARD_PRESETS, rewardOptions, rewardsOf } from '../../lib/rewards/presets.js';
import { searchCountReward } from '../../lib/rewards/search-count.js';
import { scoreRollout, type RewardComponents } from '../../lib/rewards/reward.js';
import type { Rollout } from '../../lib/rewards/rollout.js';
import { rolloutLike } from './rollouts.js';

const paper = rewardOptions('paper');
const authors = rewardOptions('authors-code');
/** Hand-worked figures are sums of a few decimals: equal to 12 places. */
const PLACES = 12;

const shapes: (QuestionShape | undefined)[] = [
  'parallelizable',
  'sequential',
  'single_hop',
  'hybrid',
  undefined,
];
const shapeArbitrary = fc.constantFrom(...shapes);
const turnsArbitrary = fc.array(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), { maxLength: 5 });
const rolloutArbitrary = fc
  .record({
    answer: fc.constantFrom('right', 'wrong', null),
    formatOk: fc.boolean(),
    searchTurns: turnsArbitrary,
    shape: shapeArbitrary,
  })
  .map(rolloutLike);
const scoreOf = (preset: string, change: Partial<Rollout>): RewardComponents =>
  scoreRollout(rewardsOf(preset), rolloutLike(change)).components;

describe('outcomeReward (Eq. 3)', () => {
  it.each([
    ['The Mole', ['mole'], 1],
    ['Mole', ['A mole rat', 'rat'], 0],
    [null, ['mole'], 0],
  ])('gives %j against %j the reward %d', (answer, goldens, expected) => {
    expect(outcomeReward(answer, goldens)).toBe(expected);
  });
});

describe('decompositionReward (Eq. 4), lambda_d = 0.15, alpha = 3', () => {
  const whole = [['a']];
  const split = [['a', 'b']];
  it.each<[QuestionShape | undefined, string[][], number]>([
    ['parallelizable', split, 0.45],
    ['parallelizable', whole, 0],
    ['parallelizable', [], 0],
    ['sequential', whole, 0.15],
    ['sequential', split, 0],
    ['sequential', [], 0.15],
    ['hybrid', whole, 0.15],
    ['hybrid', split, 0],
    ['single_hop', whole, 0.15],
    ['single_hop', split, 0],
    [undefined, whole, 0.15],
    [undefined, split, 0],
  ])('gives a %s question searched %j the reward %d', (shape, searchTurns, expected) => {
    expect(decompositionReward({ searchTurns, shape }, paper)).toBeCloseTo(expected, PLACES);
  });

  it('looks at every turn, or with first-turn at the first alone', () => {
    const late = [['a'], ['b', 'c']];
    expect(isDecomposed(late)).toBe(true);
    expect(isDecomposed(late, 'first-turn')).toBe(false);
    expect(decompositionReward({ searchTurns: late, shape: 'parallelizable' }, paper)).toBeCloseTo(
      0.45,
      PLACES,
    );
    expect(decompositionReward({ searchTurns: late, shape: 'parallelizable' }, authors)).toBe(0);
    expect(decompositionReward({ searchTurns: late, shape: 'sequential' }, authors)).toBe(0.15);
  });

  it('is 0, lambda_d or alpha times lambda_d, and decomposing changes it for every shape', () => {
    const weight = fc.double({ min: 0.01, max: 2, noNaN: true });
    fc.assert(
      fc.property(turnsArbitrary, shapeArbitrary, weight, weight, (searchTurns, shape, lambdaD, alpha) => {
        const options = { ...paper, lambdaD, alpha };
        const reward = decompositionReward({ searchTurns, shape }, options);
        expect([0, lambdaD, alpha * lambdaD]).toContain(reward);
        const other = isDecomposed(searchTurns) ? [['a']] : [['a', 'b']];
        expect((decompositionReward({ searchTurns: other, shape }, options) === 0) === (reward !== 0)).toBe(
          true,
        );
      }),
    );
  });

  it('takes P from the options', () => {
    const options = rewardOptions('paper', { parallelizableShapes: ['parallelizable', 'hybrid'] });
    expect(decompositionReward({ searchTurns: split, shape: 'hybrid' }, options)).toBeCloseTo(0.45, PLACES);
  });
});

describe('searchCountReward (Eq. 5), lambda_s = 0.35', () => {
  it.each<[QuestionShape | undefined, number[]]>([
    ['parallelizable', [-0.35, 0, -0.35, -0.7, -1.05]],
    ['single_hop', [-0.35, 0, -0.35, -0.7, -1.05]],
    ['sequential', [-0.7, -0.35, 0, 0, 0]],
    ['hybrid', [-0.7, -0.35, 0, 0, 0]],
    [undefined, [-0.7, -0.35, 0, 0, 0]],
  ])('gives a %s question 0 to 4 searches the rewards %j', (shape, expected) => {
    expected.forEach((reward, numTurns) => {
      expect(searchCountReward({ numTurns, shape }, paper)).toBeCloseTo(reward, PLACES);
      expect(searchCountReward({ numTurns, shape }, authors)).toBeCloseTo(reward + 0.35, PLACES);
    });
  });

  it('is at most 0, and with the shift differs by lambda_s alone', () => {
    fc.assert(
      fc.property(fc.nat(20), shapeArbitrary, (numTurns, shape) => {
        const reward = searchCountReward({ numTurns, shape }, paper);
        expect(reward).toBeLessThanOrEqual(0);
        expect(searchCountReward({ numTurns, shape }, authors) - reward).toBeCloseTo(0.35, PLACES);
      }),
    );
  });

  it('gives no negative zero', () => {
    expect(searchCountReward({ numTurns: 1, shape: 'single_hop' }, paper)).toBe(0);
    expect(formatReward({ correct: true, formatOk: false }, rewardOptions('search-r1'))).toBe(0);
  });
});

describe('formatReward (Eq. 6), lambda_f = 0.1', () => {
  it.each([
    [true, true, 0],
    [true, false, -0.1],
    [false, true, 0.1],
    [false, false, 0],
  ])('gives correct = %s, format = %s the reward %d', (correct, formatOk, expected) => {
    expect(formatReward({ correct, formatOk }, paper)).toBe(expected);
  });
});

describe('rewardsOf (Eq. 7)', () => {
  it.each<[string, Partial<Rollout>, number, number]>([
    ['the ideal comparison', {}, 1.45, 1.8],
    ['a comparison asked one by one', { searchTurns: [['a'], ['b']] }, 0.65, 1],
    ['the ideal sequential answer', { shape: 'sequential', searchTurns: [['a'], ['b']] }, 1.15, 1.5],
    ['a sequential question parallelized', { shape: 'sequential' }, 0.65, 1],
    [
      'a single hop, right without the format',
      { shape: 'single_hop', searchTurns: [['a']], formatOk: false },
      1.05,
      1.4,
    ],
    ['nothing at all', { answer: null, formatOk: false, searchTurns: [], shape: 'single_hop' }, -0.2, 0.15],
  ])('adds up for %s', (_, change, byPaper, byAuthors) => {
    expect(scoreOf('paper', change).total).toBeCloseTo(byPaper, PLACES);
    expect(scoreOf('authors-code', change).total).toBeCloseTo(byAuthors, PLACES);
    expect(scoreOf('search-r1', change).total).toBe(change.answer === null ? 0 : 1);
  });

  it('sums finite components, and rewards no wrong answer above the same response with the right one', () => {
    fc.assert(
      fc.property(rolloutArbitrary, fc.constantFrom(...REWARD_PRESET_NAMES), (random, preset) => {
        const { total, ...parts } = scoreOf(preset, random);
        expect(Object.keys(parts)).toEqual(['outcome', 'decomposition', 'search_count', 'format']);
        expect(total).toBeCloseTo(
          Object.values(parts).reduce((a, b) => a + b, 0),
          PLACES,
        );
        const [right, wrong] = ['right', 'wrong'].map((answer) => scoreOf(preset, { ...random, answer }));
        expect(right.total).toBeGreaterThan(wrong.total);
      }),
    );
  });

  it('puts overrides over the preset, and refuses a weight that is negative or no number', () => {
    expect(scoreRollout(rewardsOf('paper', { lambdaD: 1 }), rolloutLike()).components.decomposition).toBe(3);
    expect(() => rewardsOf('paper', { lambdaS: -1 })).toThrow(
      'Expected lambdaS to be a number >= 0, but got -1.',
    );
    expect(() => rewardsOf('paper', { alpha: Number.NaN })).toThrow('alpha');
  });
});

describe('presets', () => {
  it('say what they follow, are copied, and refuse an unknown name', () => {
    for (const name of REWARD_PRESET_NAMES) expect(REWARD_PRESETS[name].source).toMatch(/arXiv|authors/);
    rewardOptions('paper').lambdaD = 9;
    expect(rewardOptions('paper').lambdaD).toBe(0.15);
    expect(() => rewardOptions('toString')).toThrow('but got toString');
  });
});
