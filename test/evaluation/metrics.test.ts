import { expect, it } from 'vitest';
import { meanMetrics } from '../../lib/evaluation/metrics.js';
import { result } from '../experiments/synthetic.js';

it('meanMetrics averages each metric over the questions, and refuses to average nothing', () => {
  const quick = { em: 1, f1: 1, turns: 1, modelCalls: 2, decomposed: true } as const;
  const slow = { em: 0, f1: 0.5, turns: 3, modelCalls: 4, coverage: 0.5, criticalPathRatio: 2 } as const;
  expect(meanMetrics([result(quick), result(slow)])).toEqual({
    ...{ em: 0.5, f1: 0.75, turns: 2, model_calls: 3, decomposition_ratio: 0.5, coverage: 0.75 },
    critical_path_ratio: 1.5,
  });
  expect(() => meanMetrics([])).toThrow('at least one result');
});
