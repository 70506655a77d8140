import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import {
  distributionMeasures,
  distributionPoints,
  parallelVsSequential,
  thresholds,
} from '../../lib/experiments/parallel-vs-sequential.js';
import { toRows } from '../../lib/report/frame.js';
import { temporaryFolder } from '../folder.js';
import { result, writeSyntheticAnswers, writeSyntheticTiming } from './synthetic.js';
import { withResamples } from './resamples.js';

const folder = temporaryFolder();
await writeSyntheticAnswers(folder, { perTemplate: 8 });
await writeSyntheticTiming(folder);
const results = await withResamples(20, () => parallelVsSequential.result!(folder));

it('counts the questions of each type next to those of Table 5', () => {
  const sizes = toRows(results.frames!.sizes);
  const counts = (benchmark: string) =>
    matching(sizes, { benchmark }).map(({ paper, here }) => [paper, here]);
  expect(counts('hotpotqa')).toEqual([
    [1487, 8],
    [5918, 8],
  ]);
  expect(counts('MultihopRAG')).toEqual([
    [856, null],
    [816, null],
  ]);
});

it('has the paper’s +12.7, and our gain with every question counted once', () => {
  const instruct = { subset: 'parallelizable', model: 'instruct' };
  const gains = matching(toRows(results.frames!.gains), instruct);
  const [mean] = matching(gains, { counts_once: 'data set', kind: 'difference' });
  expect(mean).toMatchObject({ value: null });
  expect(mean.paper).toBeCloseTo((1.947 - 1.565) / 3, 12);
  const sides = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all', metric: 'em' };
  const [ratio] = matching(toRows(results.contrasts), { ...sides, ...instruct, kind: 'ratio' });
  const [gain] = matching(gains, { counts_once: 'question', kind: 'gain' });
  for (const part of ['value', 'low', 'high'])
    expect(gain[part]).toBeCloseTo(Number(ratio[part]) - 1, 12);
});

it('recomputes the costs of Table 3: 69.7 % of the calls, 89.6 % of the seconds', () => {
  const whole = { subset: 'parallelizable', model: 'all' };
  const costs = matching(toRows(results.frames!.paperCosts), whole);
  expect(costs.map(({ metric, paper }) => [metric, Number(paper).toFixed(3)])).toEqual([
    ['model_calls', '0.697'],
    ['seconds', '0.896'],
  ]);
});

it('adds seconds next to the paper’s', () => {
  const cell = { subset: 'parallelizable', method: 'parallelsearch', model: 'base' };
  const seconds = matching(toRows(results.rows), { ...cell, metric: 'seconds' });
  expect(matching(seconds, { benchmark: 'all' })[0].value).toBeCloseTo(0.02, 6);
  expect(matching(seconds, { benchmark: 'hotpotqa' })[0].paper).toBe(2.16);
  expect(results.provenance).toHaveProperty('timing');
});

describe('cumulative distributions', () => {
  it('give the share of questions with at most a given number of calls, and skip other rows', () => {
    const calls = [2, 2, 3, 5];
    const answers = calls.map((modelCalls, i) => result({ questionId: `q${i}`, modelCalls }));
    const measures = [{ metric: 'em', numerator: () => 1 }, ...distributionMeasures(answers)];
    const points = distributionPoints(summariseResults(answers, { measures, resamples: 5 }).rows);
    const whole = { metric: 'model_calls', benchmark: 'all', subset: 'all' };
    const rows = matching(points, whole);
    expect(rows.map((row) => row.at_most)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rows.map((row) => row.value)).toEqual([0, 0, 0.5, 0.75, 0.75, 1]);
    expect(points.map(({ metric }) => metric)).not.toContain('em');
  });

  it('reach the maximum in a few round steps', () => {
    expect(thresholds(3)).toEqual([0, 1, 2, 3]);
    expect(thresholds(0)).toEqual([0]);
    for (const largest of [16, 131, 1000, 123_456]) {
      const steps = thresholds(largest);
      expect(steps.at(-1)).toBeGreaterThanOrEqual(largest);
      expect(steps.length).toBeLessThanOrEqual(17);
    }
  });
});
