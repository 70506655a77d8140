import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import type { Measure } from '../../lib/evaluation/metrics.js';
import type { QuestionResult } from '../../lib/evaluation/measurement.js';
import { summariseResults, type TidyRow } from '../../lib/evaluation/table.js';
import {
  alwaysF1,
  countOmissions,
  decompositionClaims,
  decompositionMeasures,
  matchSubQuestions,
  parallelizingCurves,
} from '../../lib/experiments/decomposition.js';
import { COMPARISON, HYBRID, QUESTIONS, SEQUENTIAL, SINGLE } from '../training/tiny.js';
import { emptyResult } from './made-up-results.js';
import { result } from './synthetic.js';

const PEOPLE = ['Ada Stone', 'Bo Reed', 'Cy Hill'];

/**
 * Five questions: two parallelizable (one decomposed), one sequential (decomposed), one
 * single-hop, one hybrid.
 */
const second = { ...COMPARISON, id: 'second' };
const shared = { entitiesCompared: 3, subset: 'parallelizable' } as const;
const answered = (questionId: string, searches: string[][], fields: Partial<QuestionResult>) =>
  result({ benchmark: 'hotpotqa', questionId, searches, ...fields });
const answers = [
  answered('comparison', [PEOPLE], { ...shared, decomposed: true }),
  answered('second', [['Bo Reed'], ['Bo Reed']], { ...shared, em: 0, coverage: 1 / 3 }),
  answered('sequential', [['Red River', 'Bo Reed']], {
    subset: 'sequential',
    decomposed: true,
    em: 0,
  }),
  answered('single', [['Cy Hill']], {}),
  answered('hybrid', [['Red River', 'Blue Lake']], { subset: 'hybrid', decomposed: true }),
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
    // The hybrid question is decomposed: one more of 3, and of 5 questions.
    expect(find('parallelizing_f1_with_hybrid', 'all')).toMatchObject({ value: 0.4, n: 5 });
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

  it('omit a ratio whose denominator is 0 in a resample', () => {
    const never = answers.map((answer) => ({ ...answer, decomposed: false }));
    const table = summariseResults(never, { measures, resamples: 5 });
    const names = table.rows.map(({ metric }) => metric);
    expect(names).not.toContain('parallelizing_precision');
    expect(table.rows.find(({ metric }) => metric === 'parallelizing_f1')?.value).toBe(0);
  });

  it('reject a question without a graph, with its id', () => {
    const measures = decompositionMeasures([COMPARISON]);
    expect(() => summariseResults(answers, { measures, resamples: 1 })).toThrow(/second/);
  });
});

/** Numerator over denominator of a measure over all answers that it includes. */
function ratioOf({ numerator, denominator, includes = () => true }: Measure): number {
  const counted = answers.filter(includes);
  return sum(counted, numerator) / sum(counted, denominator!);
}

describe('parallelizing over training', () => {
  const curveOf = (share: number, ratio: number | null, decomposition_ratio: number) => {
    const parallel = { 'share/parallelizable': share, 'decomposition_ratio/parallelizable': ratio };
    const point = { method: 'm', model: 'base', seed: 1, step: 0, ...parallel };
    return parallelizingCurves([{ ...point, decomposition_ratio }])[0];
  };

  it('is computed from the shares and ratios of a step: 0.3 hits, 0.4 decomposed, 0.5 parallelizable', () => {
    const curve = curveOf(0.5, 0.6, 0.4);
    expect(curve.parallelizing_precision).toBeCloseTo(0.3 / 0.4, 12);
    expect(curve.parallelizing_recall).toBeCloseTo(0.6, 12);
    expect(curve.parallelizing_f1).toBeCloseTo(0.6 / 0.9, 12);
  });

  it('is null if nothing was decomposed, or if a step had no parallelizable question', () => {
    const none = { parallelizing_precision: null, parallelizing_recall: 0, parallelizing_f1: 0 };
    expect(curveOf(0.5, 0, 0)).toMatchObject(none);
    const empty = { parallelizing_precision: null, parallelizing_recall: null };
    expect(curveOf(0, null, 0.1)).toMatchObject(empty);
  });
});

describe('matchSubQuestions', () => {
  const [ADA, BO] = PEOPLE;
  const either = 'Ada Stone or Bo Reed';
  // Expected numbers: sub-queries, independent sub-questions, matched, and matched in
  // parallel.
  it.each([
    ['pairs each sub-question once', COMPARISON, [[ADA, BO], ['cy hill born']], [3, 3, 3, 2]],
    ['ignores repeats and other words', COMPARISON, [[ADA, ADA, 'weather']], [3, 3, 1, 1]],
    ['counts three names once', COMPARISON, [['Ada Stone, Bo Reed and Cy Hill']], [1, 3, 1, 1]],
    ['leaves an entity to a later sub-query', COMPARISON, [[either, ADA]], [2, 3, 2, 2]],
    ['takes the remaining entity', COMPARISON, [[ADA, either]], [2, 3, 2, 2]],
    ['ignores later hops', SEQUENTIAL, [['Red River'], [BO]], [2, 1, 1, 1]],
    [
      'uses the independent part',
      HYBRID,
      [
        ['Red River', 'Blue Lake'],
        [BO, ADA],
      ],
      [4, 2, 2, 2],
    ],
    ['has nothing to pair without searches', SINGLE, [], [0, 1, 0, 0]],
  ])('%s', (_, question, searches, expected) => {
    const { asked, independent, matched, atOnce } = matchSubQuestions(question, searches);
    expect([asked, independent, matched, atOnce]).toEqual(expected);
  });
});

describe('countOmissions', () => {
  const none = { no_search: 0, misnamed: 0, repeated: 0, overlooked: 0 };

  it('counts each sub-question under the first applicable reason', () => {
    const count = (...searches: string[][]) => countOmissions(COMPARISON, searches);
    expect(count(['Ada Stone', 'Bo Reed', 'Cy Hill'])).toEqual(none);
    expect(count()).toEqual({ ...none, no_search: 3 });
    expect(count(['Ada Stone', 'Bo Reed', 'Cy Hall'])).toEqual({ ...none, misnamed: 1 });
    expect(count(['Ada Stone'], ['Bo Reed'], ['bo reed'])).toEqual({ ...none, repeated: 1 });
    expect(count(['Ada Stone', 'Bo Reed'])).toEqual({ ...none, overlooked: 1 });
    const both = { ...none, misnamed: 1, repeated: 1 };
    expect(count(['Ada Stone', 'Ada Stone', 'Hall'])).toEqual(both);
    expect(count(['weather', 'wind', 'rain', 'snow'])).toEqual({ ...none, misnamed: 3 });
  });
});

const interval = { value: 0.9, low: 0.8, high: 1 };
const sizes = [
  { ...interval, benchmark: 'all', subset: 'all', metric: 'parallelizing_f1_with_hybrid', n: 72 },
  { ...interval, benchmark: 'all', subset: 'parallelizable', metric: 'coverage', n: 16 },
];

it('alwaysF1 is the F1 of decomposing every question: 2 · 16 / (72 + 16)', () => {
  expect(alwaysF1(sizes)).toBeCloseTo(32 / 88, 12);
  expect(alwaysF1(sizes.slice(0, 1))).toBeNaN();
});

it('the claim is an F1 above that for each model', () => {
  const ours = { ...sizes[0], method: 'parallelsearch' };
  const rows = ['base', 'instruct'].map((model) => ({ ...ours, model }));
  const [claim] = decompositionClaims;
  if ('untestable' in claim) throw new Error('Expected evidence.');
  const empty = emptyResult('decomposition');
  const parts = claim.parts({ ...empty, rows: [...rows, sizes[1]] });
  expect(parts).toHaveLength(2);
  for (const one of parts) expect(one).toMatchObject({ threshold: 32 / 88, side: 'above' });
  expect(claim.parts({ ...empty, rows })).toEqual([]);
});
