import { describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import { presetRewards } from '../../lib/rewards/presets.js';
import { checkRewards, scoreRollout, type Reward } from '../../lib/rewards/reward.js';
import { rolloutLike } from './rollouts.js';

const TWO_TURNS = rolloutLike({ searchTurns: [['a'], ['b', 'c']] });
const numQueries: Reward = {
  name: 'queries',
  weight: -0.1,
  score: ({ searchTurns }) => searchTurns.flat().length,
};

describe('scoreRollout', () => {
  it('adds custom rewards by weight and records them unweighted', () => {
    const rewards = [...presetRewards('paper'), numQueries];
    const { components, turns } = scoreRollout(rewards, rolloutLike());
    const { total, ...parts } = components;
    expect(parts).toEqual({
      outcome: 1,
      search_count: 0,
      format: 0,
      queries: 2,
      decomposition: expect.closeTo(0.45, 12) as number,
    });
    expect(total).toBeCloseTo(1.45 - 0.2, 12);
    expect(turns).toBeNull();
  });

  it('treats weight 0 as a metric', () => {
    const metric = { ...numQueries, weight: 0 };
    expect(scoreRollout([metric], rolloutLike()).components).toEqual({ queries: 2, total: 0 });
  });

  it('passes the whole group to a reward', () => {
    const shortest: Reward = {
      name: 'shortest',
      score: (one, group) =>
        Number(group.every((other) => other.searchTurns.length >= one.searchTurns.length)),
    };
    const group = [rolloutLike(), TWO_TURNS];
    const totals = group.map((one) => scoreRollout([shortest], one, group).components.total);
    expect(totals).toEqual([1, 0]);
  });

  it('sums turn rewards by weight, outside the total', () => {
    const perTurn: Reward = {
      name: 'new queries',
      weight: 2,
      score: ({ searchTurns }) => ({
        value: 1,
        turns: searchTurns.map((queries) => queries.length),
      }),
    };
    const again = { ...perTurn, name: 'again', weight: 1 };
    const { components, turns } = scoreRollout([perTurn, again], TWO_TURNS);
    expect(components).toEqual({ 'new queries': 1, again: 1, total: 3 });
    expect(turns).toEqual([3, 6]);
  });

  it.each<[unknown, string]>([
    [NaN, 'but got NaN (number)'],
    [Infinity, 'but got Infinity (number)'],
    ['1', 'but got "1" (string)'],
    [true, 'but got true (boolean)'],
    [null, 'but got null (object)'],
    [undefined, 'but got undefined (undefined)'],
    [Promise.resolve(1), 'but got [object Promise] (object)'],
    [{ value: '1', turns: [0, 0] }, 'but got "1" (string)'],
    [{ value: 1, turns: [0, NaN] }, 'but got NaN (number)'],
    [{ value: 1, turns: [0, '0'] }, 'but got "0" (string)'],
    [{ value: 1, turns: [0] }, '2 turn values'],
  ])('rejects %j, naming the reward', (given, message) => {
    const broken = { name: 'broken', score: () => given as number };
    expect(() => scoreRollout([broken], TWO_TURNS)).toThrow(/the reward "broken" to/);
    expect(() => scoreRollout([broken], TWO_TURNS)).toThrow(message);
  });

  it('uses a single rollout as its own group', () => {
    const size: Reward = { name: 'size', score: (_, group) => group.length };
    expect(scoreRollout([size], TWO_TURNS).components.size).toBe(1);
  });

  it('names the reward and the question of an exception', () => {
    const question: Question = { id: 'q7', question: 'Who?', goldenAnswers: [], metadata: {} };
    const cause = new Error('no graph');
    const score = (): number => {
      throw cause;
    };
    const scoring = (rollout: typeof TWO_TURNS) => () =>
      scoreRollout([{ name: 'broken', score }], rollout);
    const message = 'The reward "broken" failed on the question q7 ("Who?"): no graph';
    expect(scoring({ ...TWO_TURNS, question })).toThrow(
      expect.objectContaining({ message, cause }),
    );
    expect(scoring(TWO_TURNS)).toThrow('"broken" failed: no graph');
  });

  it.each([['no graph'], [null]])('names what is thrown instead of an error: %j', (thrown) => {
    const score = (): number => {
      AbortSignal.abort(thrown).throwIfAborted();
      return 0;
    };
    const message = `The reward "broken" failed: ${thrown}`;
    expect(() => scoreRollout([{ name: 'broken', score }], TWO_TURNS)).toThrow(message);
  });

  it('names the question, and rejects a non-finite sum', () => {
    const question: Question = { id: 'q7', question: 'Who?', goldenAnswers: [], metadata: {} };
    const asked = { ...TWO_TURNS, question };
    const broken = { name: 'broken', score: () => NaN };
    expect(() => scoreRollout([broken], asked)).toThrow('on the question q7 ("Who?"), but got NaN');
    expect(() => scoreRollout([broken], TWO_TURNS)).toThrow('NaN (number). Return a');
    const huge = { name: 'huge', weight: 10, score: () => Number.MAX_VALUE };
    expect(() => scoreRollout([huge], asked)).toThrow('the weighted sum of the rewards to be');
  });
});

describe('checkRewards', () => {
  it.each([
    ['a repeated name', { name: 'format' }, 'but got "format"'],
    ['no name', { name: '' }, 'but got ""'],
    ['the name of the sum', { name: 'total' }, 'but got "total"'],
    ['a weight of NaN', { weight: NaN }, 'reward "queries" to be a number'],
  ])('rejects %s', (_, change, message) => {
    const rewards = [...presetRewards('paper'), { ...numQueries, ...change }];
    expect(() => checkRewards(rewards)).toThrow(message);
    expect(() => scoreRollout(rewards, TWO_TURNS)).toThrow(message);
  });
});
