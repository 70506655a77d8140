import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import {
  decompositionMeasures,
  parallelizingCurves,
} from '../../../lib/experiments/decomposition.js';
import type { Measure } from '../../../lib/evaluation/metrics.js';
import { summariseResults, type TidyRow } from '../../../lib/evaluation/table.js';
import { COMPARISON, QUESTIONS } from '../../training/tiny.js';
import { result } from '../synthetic.js';

const PEOPLE = ['Ada Stone', 'Bo Reed', 'Cy Hill'];

/**
 * Five questions: two parallelizable (one decomposed), one sequential (decomposed), one
 * single-hop, one hybrid.
 */
const second = { ...COMPARISON, id: 'second' };
const shared = { benchmark: 'hotpotqa', entitiesCompared: 3, subset: 'parallelizable' } as const;
const answers = [
  result({ ...shared, questionId: 'comparison', decomposed: true, em: 1, searches: [PEOPLE] }),
  result({
    ...shared,
    questionId: 'second',
    decomposed: false,
    em: 0,
    coverage: 1 / 3,
    searches: [['Bo Reed'], ['Bo Reed']],
  }),
  result({
    questionId: 'sequential',
    benchmark: 'hotpotqa',
    subset: 'sequential',
    decomposed: true,
    em: 0,
    searches: [['Red River', 'Bo Reed']],
  }),
  result({
    questionId: 'single',
    benchmark: 'hotpotqa',
    decomposed: false,
    em: 1,
    searches: [['Cy Hill']],
  }),
  result({
    questionId: 'hybrid',
    benchmark: 'hotpotqa',
    subset: 'hybrid',
    decomposed: true,
    searches: [['Red River', 'Blue Lake']],
  }),
];
const measures = decompositionMeasures([...QUESTIONS, second]);
const { rows } = summariseResults(answers, { measures, resamples: 20 });
const find = (metric: string, subset: string): TidyRow | undefined =>
  rows.find((r) => r.metric === metric && r.subset === subset && r.benchmark === 'all');

describe('measures against the graphs', () => {
  it('give precision 1/2, recall 1/2 and F1 1/2 without the hybrid question', () => {
    expect(find('parallelizing_recall', 'all')).toMatchObject({ value: 0.5, n: 4 });
    expect(find('parallelizing_f1', 'all')).toMatchObject({ value: 0.5, n: 4 });
    const precision = measures.find(({ metric }) => metric === 'parallelizing_precision')!;
    expect(ratioOf(precision)).toBe(0.5);
    expect(find('parallelizing_f1', 'parallelizable')).toBeUndefined();
  });

  it('pool sub-queries and sub-questions: 4 pairs of 5 sub-queries and 6 sub-questions', () => {
    expect(find('match_precision', 'parallelizable')?.value).toBeCloseTo(4 / 5, 6);
    expect(find('match_recall', 'parallelizable')?.value).toBeCloseTo(4 / 6, 6);
    expect(find('match_f1', 'parallelizable')?.value).toBeCloseTo(8 / 11, 6);
    expect(find('asked_at_once', 'parallelizable')?.value).toBeCloseTo((1 + 1 / 3) / 2, 6);
    expect(find('complete_at_once', 'parallelizable')?.value).toBe(0.5);
    expect(find('complete_at_once', 'hybrid')?.value).toBe(1);
  });

  it('separate right from wrong answers', () => {
    const measure = (name: string): Measure => measures.find(({ metric }) => metric === name)!;
    expect(ratioOf(measure('decomposition_ratio_if_right'))).toBeCloseTo(2 / 3, 12);
    expect(ratioOf(measure('decomposition_ratio_if_wrong'))).toBeCloseTo(1 / 2, 12);
    expect(ratioOf(measure('coverage_if_wrong'))).toBeCloseTo((1 / 3 + 1) / 2, 12);
    expect(ratioOf(measure('em_if_decomposed'))).toBeCloseTo(2 / 3, 12);
    expect(ratioOf(measure('em_if_not_decomposed'))).toBeCloseTo(1 / 2, 12);
  });

  it('give no row for a ratio whose denominator is 0 in a resample', () => {
    const never = answers.map((answer) => ({ ...answer, decomposed: false }));
    const table = summariseResults(never, { measures, resamples: 5 });
    const names = table.rows.map(({ metric }) => metric);
    expect(names).not.toContain('parallelizing_precision');
    expect(table.rows.find(({ metric }) => metric === 'parallelizing_f1')?.value).toBe(0);
  });

  it('name a question without a graph', () => {
    expect(() =>
      summariseResults(answers, { measures: decompositionMeasures([COMPARISON]), resamples: 1 }),
    ).toThrow('Expected a dependency graph of question second');
  });
});

/** Numerator over denominator of a measure over all answers that it is about. */
function ratioOf({ of, per, among = () => true }: Measure): number {
  const counted = answers.filter(among);
  return sum(counted, of) / sum(counted, per!);
}

describe('parallelizing over training', () => {
  const curveOf = (share: number, ratio: number | null, decomposed: number) =>
    parallelizingCurves([
      {
        method: 'm',
        model: 'base',
        seed: 1,
        step: 0,
        'share/parallelizable': share,
        'decomposition_ratio/parallelizable': ratio,
        decomposition_ratio: decomposed,
      },
    ])[0];

  it('follows from the shares and ratios of a step: 0.3 hits, 0.4 decomposed, 0.5 parallelizable', () => {
    const curve = curveOf(0.5, 0.6, 0.4);
    expect(curve.parallelizing_precision).toBeCloseTo(0.3 / 0.4, 12);
    expect(curve.parallelizing_recall).toBeCloseTo(0.6, 12);
    expect(curve.parallelizing_f1).toBeCloseTo(0.6 / 0.9, 12);
  });

  it('is null where nothing was decomposed, or a step had no parallelizable question', () => {
    const none = { parallelizing_precision: null, parallelizing_recall: 0, parallelizing_f1: 0 };
    expect(curveOf(0.5, 0, 0)).toMatchObject(none);
    const empty = { parallelizing_precision: null, parallelizing_recall: null };
    expect(curveOf(0, null, 0.1)).toMatchObject(empty);
  });
});
