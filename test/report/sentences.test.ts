import { describe, expect, it } from 'vitest';
import { frameOf } from '../../lib/report/frame.js';
import { compared, finding, sideOf, stated } from '../../lib/report/sentences.js';

const contrast = {
  ...{
    method: 'parallelsearch',
    against: 'search-r1',
    model: 'all',
    benchmark: 'all',
    subset: 'parallelizable',
  },
  ...{ metric: 'em', kind: 'difference', value: 0.05, low: 0.02, high: 0.08 },
};
const said = (fields: object): string => compared(frameOf([{ ...contrast, ...fields }]));

describe('compared', () => {
  it.each([
    [
      {},
      'ParallelSearch is ahead of Search-R1 in exact match: +5.0 [+2.0, +8.0] points (parallelizable questions, both models).',
    ],
    [
      { value: -0.05, low: -0.08, high: -0.02 },
      'ParallelSearch is behind Search-R1 in exact match: −5.0 [−8.0, −2.0] points (parallelizable questions, both models).',
    ],
    [
      { low: 0, subset: 'all', benchmark: 'nq', model: 'base' },
      'Between ParallelSearch and Search-R1 exact match is undecided: +5.0 [0.0, +8.0] points (NQ, base).',
    ],
    [
      { subset: 'parallelizable_2_to_4' },
      'ParallelSearch is ahead of Search-R1 in exact match: +5.0 [+2.0, +8.0] points (parallelizable questions of 2 to 4 entities, both models).',
    ],
    [
      { metric: 'model_calls', value: -1, low: -2, high: -0.5 },
      'ParallelSearch has less than Search-R1 in model calls: −1.00 [−2.00, −0.50] (parallelizable questions, both models).',
    ],
    [
      { metric: 'model_calls', kind: 'ratio', value: 0.5, low: 0.4, high: 0.6 },
      'ParallelSearch takes less: 0.50 [0.40, 0.60] of what Search-R1 takes in model calls (parallelizable questions, both models).',
    ],
    [
      { against: 'parallelsearch', model: 'base', against_model: 'instruct' },
      'ParallelSearch from base is ahead of ParallelSearch from instruct in exact match: +5.0 [+2.0, +8.0] points (parallelizable questions).',
    ],
  ])('says what a contrast shows: %j', (fields, sentence) => {
    expect(said(fields)).toBe(sentence);
  });
});

describe('stated', () => {
  it('tells rows metric by metric', () => {
    const row = {
      method: 'r1',
      model: 'base',
      benchmark: 'all',
      subset: 'all',
      value: 0.1,
      low: 0,
      high: 0.2,
    };
    const rows = [
      { ...row, metric: 'em' },
      { ...row, metric: 'em', method: 'search-r1' },
      { ...row, metric: 'turns' },
    ];
    expect(stated(frameOf(rows))).toBe(
      'Exact match: R1 (no search) 0.100 [0.000, 0.200] (base) and Search-R1 0.100 [0.000, 0.200] (base). ' +
        'Search turns: R1 (no search) 0.10 [0.00, 0.20] (base).',
    );
  });
});

it('a finding says something', () => {
  expect(finding('A.', '', 'B.')).toEqual({ kind: 'finding', text: 'A. B.' });
  expect(() => finding('')).toThrow('Expected a sentence');
});

it('an interval lies above, below, or holds the limit', () => {
  expect([
    sideOf({ low: 0.1, high: 1 }),
    sideOf({ low: 0, high: 1 }),
    sideOf({ low: 0, high: 0.9 }, 1),
  ]).toEqual(['above', 'undecided', 'below']);
});
