import { describe, expect, it } from 'vitest';
import {
  isSelected,
  MANY,
  selectionWeights,
  listSelections,
} from '../../lib/evaluation/selections.js';
import { result } from '../experiments/synthetic.js';

/** The subsets that contain a question. */
const subsetsOf = (fields: Parameters<typeof result>[0]): string[] =>
  listSelections([result(fields)])
    .filter(({ benchmark }) => benchmark === 'all')
    .map(({ subset }) => subset);

describe('selections', () => {
  it.each([
    [
      { subset: 'parallelizable', entitiesCompared: 5, wording: 'unseen', isYesNo: true },
      ['all', 'parallelizable', 'entities_5', 'wording_unseen', 'yes_no'],
    ],
    [
      { subset: 'parallelizable', entitiesCompared: 2, wording: 'seen' },
      ['all', 'parallelizable', 'entities_2', 'wording_seen'],
    ],
    [{ subset: 'hybrid', hops: 2, wording: undefined }, ['all', 'hybrid']],
    [
      { subset: 'sequential', hops: 4, wording: 'seen' },
      ['all', 'sequential', 'hops_3', 'wording_seen'],
    ],
  ] as const)(
    'depend on question type, entities compared, chain length, wording and yes/no: %o',
    (fields, expected) => {
      expect(subsetsOf(fields)).toEqual(expected);
    },
  );

  it('weight questions equally in "all" and benchmarks equally in "average"', () => {
    const questions = [
      result({ questionId: 'a', benchmark: 'nq' }),
      ...['b', 'c', 'd'].map((questionId) => result({ questionId, benchmark: 'hotpotqa' })),
    ];
    const all = selectionWeights(questions, { benchmark: 'all', subset: 'all' });
    expect([...all]).toEqual([0.25, 0.25, 0.25, 0.25]);
    const average = selectionWeights(questions, { benchmark: 'average', subset: 'all' });
    expect(average[0]).toBeCloseTo(1 / 2, 12);
    expect(average[3]).toBeCloseTo(1 / 6, 12);
  });

  it('keep the benchmark "many" separate', () => {
    const many = result({ benchmark: MANY, subset: 'parallelizable', entitiesCompared: 3 });
    const isIn = (benchmark: string, subset = 'all'): boolean =>
      isSelected(many, { benchmark, subset });
    expect([isIn(MANY), isIn(MANY, 'entities_3')]).toEqual([true, true]);
    const others = ['all', 'average', 'hotpotqa'].map((name) => isIn(name));
    expect([...others, isIn(MANY, 'entities_2')]).toEqual(Array(4).fill(false));
    const weights = selectionWeights([many, result()], { benchmark: 'all', subset: 'all' });
    expect([...weights]).toEqual([0, 1]);
  });

  it('list only selections with questions', () => {
    const names = listSelections([result({ benchmark: 'nq', subset: 'single_hop' })]);
    const subsets = ['all', 'single_hop', 'wording_seen'];
    expect(names.map(({ benchmark, subset }) => `${benchmark} ${subset}`)).toEqual([
      'average all',
      'average wording_seen',
      ...['all', 'nq'].flatMap((name) => subsets.map((subset) => `${name} ${subset}`)),
    ]);
  });
});
