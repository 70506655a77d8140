import { describe, expect, it } from 'vitest';
import { isInSubset, selectionsOf, selectionWeights } from '../../lib/evaluation/selections.js';
import { result } from '../experiments/synthetic.js';

describe('selections', () => {
  it.each([
    ['parallelizable', 5, [true, false]],
    ['parallelizable', 3, [false, true]],
    ['hybrid', 5, [false, false]],
  ] as const)(
    'keep comparisons of 5 apart from those of 2 to 4: %s, %i',
    (subset, entitiesCompared, expected) => {
      const question = result({ subset, entitiesCompared });
      const parts = ['parallelizable_5', 'parallelizable_2_to_4'];
      expect(parts.map((part) => isInSubset(question, part))).toEqual(expected);
    },
  );

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
