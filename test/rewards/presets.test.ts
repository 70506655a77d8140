import { sum } from 'd3-array';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuestionType } from '../../lib/data/question.js';
import { decomposition, isDecomposed, outcomeReward } from '../../lib/rewards/parallelsearch.js';
import {
  REWARD_PRESET_NAMES,
  REWARD_PRESETS,
  rewardConstants,
  presetRewards,
  readsQuestionTypes,
  scoringRules,
} from '../../lib/rewards/presets.js';
import { scoreRollout, type ScoringInput } from '../../lib/rewards/reward.js';
import type { RewardComponents } from '../../lib/rollout/trajectory.js';
import { rolloutLike } from './rollouts.js';

/** Tolerance for sums of decimals. */
const PLACES = 12;

const turnArbitrary = fc.array(fc.string(), { minLength: 1, maxLength: 4 });
const TYPES = ['parallelizable', 'sequential', 'single_hop', 'hybrid', undefined] as const;
const rolloutArbitrary = fc
  .record({
    answer: fc.constantFrom('right', 'wrong', null),
    formatOk: fc.boolean(),
    searchTurns: fc.array(turnArbitrary, { maxLength: 5 }),
    questionType: fc.constantFrom<(QuestionType | undefined)[]>(...TYPES),
  })
  .map(rolloutLike);
const scoreOf = (preset: string, change: Partial<ScoringInput>): RewardComponents =>
  scoreRollout(presetRewards(preset), rolloutLike(change)).components;

describe('outcome (Eq. 3)', () => {
  it.each([
    ['The Mole', ['mole'], 1],
    ['Mole', ['A mole rat', 'rat'], 0],
    [null, ['mole'], 0],
  ])('gives %j against %j the reward %d', (answer, goldenAnswers, expected) => {
    expect(outcomeReward(answer, goldenAnswers)).toBe(expected);
    const { outcome, total } = scoreOf('search-r1', { answer, goldenAnswers });
    expect([outcome, total]).toEqual([expected, expected]);
  });
});

describe('decomposition (Eq. 4), lambda_d = 0.15, alpha = 3', () => {
  it.each<[QuestionType | undefined, split: number, whole: number, none: number]>([
    ['parallelizable', 0.45, 0, 0],
    ['sequential', 0, 0.15, 0.15],
    ['hybrid', 0, 0.15, 0.15],
    ['single_hop', 0, 0.15, 0.15],
    [undefined, 0, 0.15, 0.15],
  ])(
    'gives a %s question searched in parts, whole and not at all %d, %d and %d',
    (questionType, ...expected) => {
      [[['a', 'b']], [['a']], []].forEach((searchTurns, i) => {
        const score = scoreOf('paper', { searchTurns, questionType }).decomposition;
        expect(score).toBeCloseTo(expected[i], PLACES);
      });
    },
  );

  it('checks every turn, or only the first with `first-turn`', () => {
    const searchTurns = [['a'], ['b', 'c']];
    expect(isDecomposed(searchTurns)).toBe(true);
    expect(isDecomposed(searchTurns, 'first-turn')).toBe(false);
    const score = (preset: string, questionType: QuestionType) =>
      scoreOf(preset, { searchTurns, questionType }).decomposition;
    expect(score('paper', 'parallelizable')).toBeCloseTo(0.45, PLACES);
    expect(score('authors-code', 'parallelizable')).toBe(0);
    expect(score('authors-code', 'sequential')).toBe(0.15);
  });

  it('is 0, lambda_d or alpha times lambda_d, and depends on decomposing for every question type', () => {
    const weight = fc.double({ min: 0.01, max: 2, noNaN: true });
    fc.assert(
      fc.property(rolloutArbitrary, weight, weight, (rollout, lambdaD, alpha) => {
        const eq4 = decomposition({ ...rewardConstants('paper'), lambdaD, alpha });
        const reward = eq4.score(rollout, []);
        expect([0, lambdaD, alpha * lambdaD]).toContain(reward);
        const other = isDecomposed(rollout.searchTurns) ? [['a']] : [['a', 'b']];
        expect(eq4.score({ ...rollout, searchTurns: other }, []) === 0).toBe(reward !== 0);
      }),
    );
  });

  it('takes P from the options', () => {
    const options = rewardConstants('paper', { parallelizableTypes: ['parallelizable', 'hybrid'] });
    const score = decomposition(options).score(rolloutLike({ questionType: 'hybrid' }), []);
    expect(score).toBeCloseTo(0.45, PLACES);
  });
});

describe('search count (Eq. 5), lambda_s = 0.35', () => {
  it.each<[QuestionType | undefined, number[]]>([
    ['parallelizable', [-0.35, 0, -0.35, -0.7, -1.05]],
    ['single_hop', [-0.35, 0, -0.35, -0.7, -1.05]],
    ['sequential', [-0.7, -0.35, 0, 0, 0]],
    ['hybrid', [-0.7, -0.35, 0, 0, 0]],
    [undefined, [-0.7, -0.35, 0, 0, 0]],
  ])(
    'gives a %s question 0 to 4 searches the rewards %j; the shift adds lambda_s',
    (questionType, expected) => {
      expected.forEach((reward, length) => {
        const change = { searchTurns: Array.from({ length }, () => ['a']), questionType };
        expect(scoreOf('paper', change).search_count).toBeCloseTo(reward, PLACES);
        expect(scoreOf('authors-code', change).search_count).toBeCloseTo(reward + 0.35, PLACES);
      });
    },
  );
});

describe('format (Eq. 6), lambda_f = 0.1', () => {
  it.each([
    ['right', true, 0],
    ['right', false, -0.1],
    ['wrong', true, 0.1],
    ['wrong', false, 0],
  ])('gives a %s answer with format = %s the reward %d', (answer, formatOk, expected) => {
    expect(scoreOf('paper', { answer, formatOk }).format).toBe(expected);
  });

  it('is not negative zero with weight 0', () => {
    expect(scoreOf('search-r1', { formatOk: false }).format).toBe(0);
  });
});

describe('Search-R1’s format reward', () => {
  // `compute_score_em` of the authors' `qa_em_format.py` with the scores of their script:
  // structure_format_score 0.2, final_format_score 0.1, retrieval_score 0.
  it.each<[string | null, boolean, number]>([
    ['right', true, 1],
    ['right', false, 0.8],
    ['wrong', true, 0.2],
    ['wrong', false, 0.1],
    [null, false, 0],
  ])('gives the answer %s with format = %s the total %d', (answer, formatOk, total) => {
    expect(scoreOf('search-r1-format', { answer, formatOk }).total).toBeCloseTo(total, PLACES);
  });

  it('only reads answer and format', () => {
    fc.assert(
      fc.property(rolloutArbitrary, rolloutArbitrary, (one, { answer, formatOk }) => {
        const change = { answer, formatOk };
        const [a, b] = [{ ...one, ...change }, change].map((it) => scoreOf('search-r1-format', it));
        expect(a.total).toBe(b.total);
      }),
    );
  });
});

describe('presetRewards (Eq. 7)', () => {
  it.each<[string, Partial<ScoringInput>, number, number]>([
    ['the ideal comparison', {}, 1.45, 1.8],
    ['a comparison searched one by one', { searchTurns: [['a'], ['b']] }, 0.65, 1],
    ['the ideal chain', { questionType: 'sequential', searchTurns: [['a'], ['b']] }, 1.15, 1.5],
    ['a sequential question parallelized', { questionType: 'sequential' }, 0.65, 1],
    [
      'a single hop with a right answer in the wrong format',
      { questionType: 'single_hop', searchTurns: [['a']], formatOk: false },
      1.05,
      1.4,
    ],
    [
      'an empty rollout',
      { answer: null, formatOk: false, searchTurns: [], questionType: 'single_hop' },
      -0.2,
      0.15,
    ],
  ])('adds up for %s', (_, change, byPaper, byAuthors) => {
    expect(scoreOf('paper', change).total).toBeCloseTo(byPaper, PLACES);
    expect(scoreOf('authors-code', change).total).toBeCloseTo(byAuthors, PLACES);
    expect(scoreOf('search-r1', change).total).toBe(change.answer === null ? 0 : 1);
  });

  it('is finite, and never higher for a wrong answer', () => {
    const presets = fc.constantFrom('paper', 'authors-code', 'search-r1', 'search-r1-format');
    fc.assert(
      fc.property(rolloutArbitrary, presets, (random, preset) => {
        const { total, ...parts } = scoreOf(preset, random);
        expect(Object.keys(parts).join()).toBe('outcome,decomposition,search_count,format');
        expect(total).toBeCloseTo(sum(Object.values(parts)), PLACES);
        const totalOf = (answer: string) => scoreOf(preset, { ...random, answer }).total;
        expect(totalOf('right')).toBeGreaterThan(totalOf('wrong'));
      }),
    );
  });

  it('rewards word overlap with the preset f1', () => {
    const score = (answer: string) =>
      scoreRollout(presetRewards('f1'), rolloutLike({ answer })).components;
    expect(score('right')).toEqual({ outcome: 1, answer_f1: 1, total: 1 });
    expect(score('right or wrong').total).toBeCloseTo(0.5, PLACES);
  });

  it('applies overrides and rejects invalid weights', () => {
    const { components } = scoreRollout(presetRewards('paper', { lambdaD: 1 }), rolloutLike());
    expect(components.decomposition).toBe(3);
    expect(() => presetRewards('paper', { lambdaS: -1 })).toThrow('lambdaS');
    expect(() => presetRewards('paper', { alpha: Number.NaN })).toThrow('alpha');
    expect(() => presetRewards('f1', { lambdaD: 1 })).toThrow(/no weights.*lambdaD/);
  });
});

describe('presets', () => {
  it.each<[string, object, boolean]>([
    ['paper', {}, true],
    ['paper', { lambdaD: 0 }, true],
    ['paper', { lambdaS: 0 }, true],
    ['paper', { lambdaD: 0, lambdaS: 0 }, false],
    ['search-r1', {}, false],
    ['f1', {}, false],
  ])('read question types: %s with %j: %s', (name, overrides, expected) => {
    expect(readsQuestionTypes(name, overrides)).toBe(expected);
  });

  it('without weights have none to give', () => {
    expect(() => rewardConstants('f1')).toThrow(/paper.*have weights, but got f1/);
  });

  it('say which searches count as decomposed', () => {
    const { rewards, decomposedBy } = scoringRules('authors-code');
    expect([rewards.length, decomposedBy]).toEqual([4, 'first-turn']);
    expect(scoringRules('f1').decomposedBy).toBe('any');
  });

  it('have a source, are copied, and reject unknown names', () => {
    for (const name of REWARD_PRESET_NAMES)
      expect(REWARD_PRESETS[name].source).toMatch(/arXiv|authors/);
    expect(rewardConstants()).toEqual(rewardConstants('paper'));
    rewardConstants('paper').lambdaD = 9;
    expect(rewardConstants('paper').lambdaD).toBe(0.15);
    const names = REWARD_PRESET_NAMES.join(', ');
    const message = `Expected a reward preset of ${names}, but got toString.`;
    expect(() => rewardConstants('toString')).toThrow(message);
  });
});
