import { describe, expect, it } from 'vitest';
import { isInSubset, meanMetrics, selectionsOf, selectionWeights } from '../../lib/evaluation/metrics.js';
import { scoreTable } from '../../lib/evaluation/scores.js';
import { result, syntheticResults } from '../experiments/synthetic.js';

describe('meanMetrics', () => {
  it('averages each metric over the questions', () => {
    const means = meanMetrics([
      result({ em: 1, f1: 1, turns: 1, modelCalls: 2, decomposed: true, coverage: 1, criticalPathRatio: 1 }),
      result({
        em: 0,
        f1: 0.5,
        turns: 3,
        modelCalls: 4,
        decomposed: false,
        coverage: 0.5,
        criticalPathRatio: 2,
      }),
    ]);
    expect(means).toEqual({
      em: 0.5,
      f1: 0.75,
      turns: 2,
      model_calls: 3,
      decomposition_ratio: 0.5,
      coverage: 0.75,
      critical_path_ratio: 1.5,
    });
  });

  it('refuses to average nothing', () => {
    expect(() => meanMetrics([])).toThrow('at least one result');
  });
});

describe('selections', () => {
  it('keep comparisons of 5 apart from those of 2 to 4', () => {
    const five = result({ subset: 'parallelizable', entitiesCompared: 5 });
    const three = result({ subset: 'parallelizable', entitiesCompared: 3 });
    const hybrid = result({ subset: 'hybrid', entitiesCompared: 5 });
    expect([five, three, hybrid].map((q) => isInSubset(q, 'parallelizable_5'))).toEqual([true, false, false]);
    expect([five, three, hybrid].map((q) => isInSubset(q, 'parallelizable_2_to_4'))).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('count every question once under "all" and every benchmark once under "average"', () => {
    const questions = [
      result({ questionId: 'a', benchmark: 'nq' }),
      ...['b', 'c', 'd'].map((questionId) => result({ questionId, benchmark: 'hotpotqa' })),
    ];
    expect([...selectionWeights(questions, { benchmark: 'all', subset: 'all' })]).toEqual([
      0.25, 0.25, 0.25, 0.25,
    ]);
    const average = selectionWeights(questions, { benchmark: 'average', subset: 'all' });
    expect(average[0]).toBeCloseTo(1 / 2, 12);
    expect(average[3]).toBeCloseTo(1 / 6, 12);
  });

  it('list only what the test set holds', () => {
    const names = selectionsOf([result({ benchmark: 'nq', subset: 'single_hop' })]);
    expect(names).toEqual([
      { benchmark: 'average', subset: 'all' },
      { benchmark: 'all', subset: 'all' },
      { benchmark: 'all', subset: 'single_hop' },
      { benchmark: 'nq', subset: 'all' },
      { benchmark: 'nq', subset: 'single_hop' },
    ]);
  });
});

describe('scoreTable', () => {
  it('names the run and the question that are missing', () => {
    const results = [
      result({ questionId: 'a' }),
      result({ questionId: 'b' }),
      result({ questionId: 'a', seed: 2 }),
    ];
    expect(() => scoreTable(results)).toThrow(/seed 2 .*all 2 questions.*1 are missing.*first is b/);
  });

  it('refuses two results of one run for one question', () => {
    expect(() => scoreTable([result(), result()])).toThrow('answered q0 twice');
  });

  it('puts questions in rows and runs in columns', () => {
    const table = scoreTable(syntheticResults({ perTemplate: 2, seeds: 2 }));
    expect([table.questions.length, table.runs.length]).toEqual([20, 14]);
    expect(table.values.length).toBe(20 * 14 * 7);
  });
});
