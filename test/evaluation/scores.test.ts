import { expect, it } from 'vitest';
import { MAIN_MEASURES, METRICS } from '../../lib/evaluation/metrics.js';
import type { QuestionResult } from '../../lib/evaluation/result.js';
import { scoreTable } from '../../lib/evaluation/scores.js';
import { result, syntheticResults } from '../experiments/synthetic.js';

it.each<[string, QuestionResult[], string | RegExp]>([
  [
    'the run and the question that are missing',
    [
      result({ questionId: 'a' }),
      result({ questionId: 'b' }),
      result({ questionId: 'a', seed: 2 }),
    ],
    /seed 2 .*all 2 questions.*1 are missing.* b\./,
  ],
  ['a question that a run answered twice', [result(), result()], 'answered q0 twice'],
  [
    'a figure that is no number',
    [result({ f1: NaN })],
    'to have a number for f1 of q0, but got NaN',
  ],
])('rejects %s', (_, results, message) => {
  expect(() => scoreTable(results, MAIN_MEASURES)).toThrow(message);
});

it('arranges questions as rows and runs as columns', () => {
  const table = scoreTable(syntheticResults({ perTemplate: 2, warmUps: 2 }), MAIN_MEASURES);
  expect([table.questions.length, table.runs.length]).toEqual([22, 46]);
  expect(table.values.length).toBe(22 * 46 * METRICS.length);
});
