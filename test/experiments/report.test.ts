import { describe, expect, it } from 'vitest';
import { callsAndAnswers, predictionsFrom, told } from '../../lib/experiments/report.js';

const sides = { method: 'parallelsearch', against: 'search-r1', model: 'all' };
const calls = {
  ...sides,
  benchmark: 'many',
  metric: 'model_calls',
  kind: 'ratio',
  value: 0.4,
  low: 0.3,
  high: 0.5,
};
const answers = (low: number, high: number) => ({
  ...sides,
  benchmark: 'average',
  metric: 'em',
  kind: 'difference',
  value: (low + high) / 2,
  low,
  high,
});

describe('the finding on calls and answers', () => {
  it.each([
    [0.01, 0.03, 'it is ahead on average: +2.0 [+1.0, +3.0] points (both, pooled)'],
    [-0.03, -0.01, 'it is behind on average: −2.0 [−3.0, −1.0] points (both, pooled)'],
    [-0.01, 0.03, 'neither is ahead on average: +1.0 [−1.0, +3.0] points (both, pooled)'],
  ])('goes by the interval: %d to %d', (low, high, outcome) => {
    const contrasts = [calls, answers(low, high), { ...calls, model: 'base', value: 0.41 }];
    expect(
      callsAndAnswers(
        contrasts,
        ['on many', { benchmark: 'many' }],
        ['on average', { benchmark: 'average' }],
      ),
    ).toBe(
      `ParallelSearch needs 0.410 [0.300, 0.500] (base) and 0.400 [0.300, 0.500] (both, pooled) of Search-R1’s model calls on many; in right answers ${outcome}.`,
    );
  });

  it('has a dash for what was not computed', () => {
    expect(told([calls], { benchmark: 'nowhere' })).toEqual({ text: '–', side: 'undecided' });
  });
});

it('a prediction names unit and pooling of its figure, and the reason beside it', () => {
  const figure = { kind: 'difference', metric: 'em' };
  const because = { where: 'in calls', figure: { kind: 'ratio', model: 'all' } };
  const [prediction] = predictionsFrom({ rows: [], contrasts: [answers(0.01, 0.03), calls] }, [
    { prediction: 'Ahead', figure, holds: ({ low }) => low > 0, because },
  ]);
  expect(prediction).toEqual({
    prediction: 'Ahead',
    holds: true,
    found:
      '+2.0 [+1.0, +3.0] points, both models pooled; in calls 0.400 [0.300, 0.500], both models pooled',
  });
});
