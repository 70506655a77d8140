import { describe, expect, it } from 'vitest';
import type { With } from '../../lib/rollout/trajectory.js';
import {
  groupAdvantages,
  isZeroVariance,
  tokenAdvantages,
  turnAdvantages,
  withAdvantages,
} from '../../lib/training/advantages.js';
import { readFixture } from '../fixtures/read.js';

interface Fixture {
  settings: { G: number };
  inputs: { rewards: number[] };
  advantages_unbiased: number[];
  advantages_biased: number[];
  equal_rewards: { rewards: number[]; advantages_unbiased: number[] };
}
const fixture = readFixture<Fixture>('grpo.json');
const { G } = fixture.settings;

const expectClose = (actual: readonly number[], expected: readonly number[]): void =>
  expect(actual).toEqual(expected.map((value) => expect.closeTo(value, 8) as number));

describe('groupAdvantages', () => {
  it('equals the reference within 1e-8 with both standard deviations', () => {
    const { rewards } = fixture.inputs;
    expectClose(groupAdvantages(rewards, G), fixture.advantages_unbiased);
    expectClose(groupAdvantages(rewards, G, { unbiased: false }), fixture.advantages_biased);
  });

  it('gives zeros when all rewards of a group are equal, and treats groups separately', () => {
    const { rewards, advantages_unbiased } = fixture.equal_rewards;
    expect(groupAdvantages(rewards, G).slice(0, G)).toEqual([0, 0, 0]);
    expectClose(groupAdvantages(rewards, G), advantages_unbiased);
    expect(groupAdvantages([0.1 + 0.2, 0.3], 2)).toEqual([0, 0]);
    const [a, b] = [
      [1, 0, 0.5],
      [7, 9, 8.5],
    ];
    expect(groupAdvantages([...a, ...b], 3)).toEqual([
      ...groupAdvantages(a, 3),
      ...groupAdvantages(b, 3),
    ]);
  });

  it('rejects an invalid group size or number of rewards', () => {
    for (const size of [1, 1.5])
      expect(() => groupAdvantages([1, 2, 3], size)).toThrow(
        `Expected groupSize to be an integer >= 2, but got ${size}.`,
      );
    expect(() => groupAdvantages([1, 2, 3], 2)).toThrow(
      'Expected a multiple of groupSize 2 rewards, but got 3.',
    );
  });

  it.each([NaN, Infinity, undefined])('rejects a reward of %s', (wrong) => {
    expect(() => groupAdvantages([wrong!, 1, 3, 2], 4)).toThrow(
      `Expected finite rewards, or null to leave a rollout out, but got ${wrong}.`,
    );
  });
});

describe('turnAdvantages', () => {
  it('compares each turn with the same turn of the other rollouts', () => {
    const [[a, b, none, c]] = turnAdvantages([[[1, 5], [3, 5, 9], [], [2]]]);
    expectClose([a[0], b[0], c[0]], groupAdvantages([1, 3, 2], 3));
    // Equal values, and a turn without another to compare with.
    expect([a[1], b[1], b[2]]).toEqual([0, 0, 0]);
    expect(none).toEqual([]);
  });
});

describe('tokenAdvantages', () => {
  const segment = (kind: 'prompt' | 'policy' | 'information' | 'notice', numTokens: number) => ({
    kind,
    text: '',
    tokenIds: new Array<number>(numTokens).fill(7),
  });
  const rewarded = (total: number, turnRewards?: number[]): With<'rewards'> => ({
    questionId: 'q',
    question: 'q',
    goldenAnswers: [],
    searchTurns: [],
    answer: null,
    modelCalls: 3,
    finish: 'answer',
    questionType: 'sequential',
    subQuestionRecall: 0,
    rewards: { total },
    turnRewards,
    // An invalid action before the second search belongs to its turn.
    segments: [
      segment('prompt', 4),
      segment('policy', 2),
      segment('information', 3),
      segment('policy', 1),
      segment('notice', 2),
      segment('policy', 1),
      segment('information', 5),
      segment('policy', 2),
    ],
  });

  it("equals the rollout's advantage at each policy token without turn rewards", () => {
    const [first] = withAdvantages([rewarded(1), rewarded(0)], 2);
    expect(first).not.toHaveProperty('turnAdvantages');
    expect(tokenAdvantages(first)).toEqual(new Array(6).fill(first.advantage));
  });

  it('adds the advantage of a search turn to the tokens of that turn only', () => {
    const [first, second] = withAdvantages([rewarded(1, [0, 4]), rewarded(0, [1, 3])], 2);
    const { advantage: a } = first;
    expectClose([a], groupAdvantages([1, 0], 2).slice(0, 1));
    expectClose(tokenAdvantages(first), [a - a, a - a, a + a, a + a, a, a]);
    expectClose(tokenAdvantages(second), [-a + a, -a + a, -a - a, -a - a, -a, -a]);
  });

  it('has variance if only turn rewards differ', () => {
    const group = (values: number[]) =>
      withAdvantages(
        values.map((value) => rewarded(1, [value])),
        2,
      );
    expect(isZeroVariance(group([2, 2]))).toBe(true);
    expect(isZeroVariance(group([2, 1]))).toBe(false);
  });
});

it('isZeroVariance checks all rollouts of a group', () => {
  const group = [1, 0, -1].map((advantage) => ({ advantage }) as With<'rewards' | 'advantage'>);
  expect(isZeroVariance(group)).toBe(false);
  expect(isZeroVariance([group[1], group[1]])).toBe(true);
});
