import { describe, expect, it } from 'vitest';
import { matching, summariseResults } from '../../../lib/evaluation/table.js';
import {
  distributionMeasures,
  distributionPoints,
  thresholds,
} from '../../../lib/experiments/parallel-vs-sequential.js';
import { result } from '../synthetic.js';

describe('cumulative distributions', () => {
  it('give the share of questions with at most so many calls, and leave other rows alone', () => {
    const answers = [2, 2, 3, 5].map((modelCalls, i) =>
      result({ questionId: `q${i}`, modelCalls }),
    );
    const em = { metric: 'em', of: () => 1 };
    const measures = [em, ...distributionMeasures(answers)];
    const { rows } = summariseResults(answers, { measures, resamples: 5 });
    const whole = { metric: 'model_calls', benchmark: 'all', subset: 'all' };
    const calls = matching(distributionPoints(rows), whole);
    expect(calls.map((row) => row.at_most)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(calls.map((row) => row.value)).toEqual([0, 0, 0.5, 0.75, 0.75, 1]);
    const metrics = new Set(distributionPoints(rows).map(({ metric }) => metric));
    expect([...metrics]).toEqual(['model_calls', 'tokens_written']);
  });

  it('reach the largest in round steps, and few of them', () => {
    expect(thresholds(3)).toEqual([0, 1, 2, 3]);
    expect(thresholds(131)).toEqual([
      0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140,
    ]);
    expect(thresholds(0)).toEqual([0]);
    for (const largest of [16, 97, 1000, 123_456]) {
      const steps = thresholds(largest);
      expect(steps.at(-1)).toBeGreaterThanOrEqual(largest);
      expect(steps.length).toBeLessThanOrEqual(17);
    }
  });
});
