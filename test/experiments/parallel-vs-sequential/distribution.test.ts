import { describe, expect, it } from 'vitest';
import {
  atMostName,
  distributionMeasures,
  parseAtMost,
  thresholds,
} from '../../../lib/experiments/parallel-vs-sequential/distribution.js';
import { result } from '../synthetic.js';

describe('cumulative distributions', () => {
  it('count the answers with at most so many calls', () => {
    const answers = [2, 2, 3, 5].map((modelCalls) => result({ modelCalls }));
    const shares = distributionMeasures('model_calls', answers).map(({ metric, of }) => [
      parseAtMost(metric)!.atMost,
      answers.filter((answer) => of(answer) === 1).length / answers.length,
    ]);
    expect(shares).toEqual([
      [0, 0],
      [1, 0],
      [2, 0.5],
      [3, 0.75],
      [4, 0.75],
      [5, 1],
    ]);
  });

  it('reach the largest in round steps, and few of them', () => {
    expect(thresholds(3)).toEqual([0, 1, 2, 3]);
    expect(thresholds(131)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140]);
    expect(thresholds(0)).toEqual([0]);
    for (const largest of [16, 97, 1000, 123_456]) {
      const steps = thresholds(largest);
      expect(steps.at(-1)).toBeGreaterThanOrEqual(largest);
      expect(steps.length).toBeLessThanOrEqual(17);
    }
  });

  it('write names that can be read again', () => {
    const point = { metric: 'response_tokens', atMost: 40 } as const;
    expect(parseAtMost(atMostName(point))).toEqual(point);
    expect(parseAtMost('em')).toBeNull();
  });
});
