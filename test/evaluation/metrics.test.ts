import { expect, it } from 'vitest';
import { meanMetrics } from '../../lib/evaluation/metrics.js';
import { result } from '../experiments/synthetic.js';

it('meanMetrics averages each metric and rejects an empty list', () => {
  const quick = { em: 1, f1: 1, turns: 1, modelCalls: 2, decomposed: true } as const;
  const slow = {
    em: 0,
    f1: 0.5,
    turns: 3,
    modelCalls: 4,
    coverage: 0.5,
    criticalPathRatio: 2,
  } as const;
  const found = { searches: [['a', 'b'], ['c']], evidenceSeen: 0.5, responseTokens: 70 };
  expect(meanMetrics([result(quick), result({ ...slow, ...found })])).toEqual({
    em: 0.5,
    f1: 0.75,
    turns: 2,
    model_calls: 3,
    decomposition_ratio: 0.5,
    coverage: 0.75,
    critical_path_ratio: 1.5,
    retrievals: 2,
    critical_steps: 4.5,
    repeated_queries: 0,
    evidence_seen: 0.75,
    tokens_written: 55,
  });
  expect(() => meanMetrics([])).toThrow('at least one result');
});

it.each([
  ['none without a search', [], 0],
  ['none if a word differs', [['when was Red River made'], ['when was Red River']], 0],
  [
    'in a later turn, ignoring case and punctuation',
    [['Red River?', 'Cy Hill'], ['red river']],
    1 / 3,
  ],
  ['in the same turn', [['a', 'a', 'a', 'b']], 1 / 2],
])('counts repeated queries: %s', (_, searches, expected) => {
  expect(meanMetrics([result({ searches })]).repeated_queries).toBeCloseTo(expected, 12);
});
