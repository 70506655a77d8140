import { expect, it } from 'vitest';
import { frameOf } from '../../lib/report/frame.js';
import { compared, finding, sideOf, stated } from '../../lib/report/sentences.js';

const contrast = {
  method: 'parallelsearch',
  against: 'search-r1',
  model: 'all',
  benchmark: 'all',
  subset: 'parallelizable',
  metric: 'em',
  kind: 'difference',
  value: 0.05,
  low: 0.02,
  high: 0.08,
};
const fewer = { metric: 'model_calls', value: -1, low: -2, high: -0.5 };
const ratio = { metric: 'model_calls', kind: 'ratio', value: 0.5, low: 0.4, high: 0.6 };
const models = { against: 'parallelsearch', model: 'base', against_model: 'instruct' };

it.each([
  [
    {},
    'is ahead of Search-R1 in exact match: +5.0 [+2.0, +8.0] points (parallelizable questions, both models pooled).',
  ],
  [
    { value: -0.05, low: -0.08, high: -0.02, subset: 'all' },
    'is behind Search-R1 in exact match: −5.0 [−8.0, −2.0] points (all questions, both models pooled).',
  ],
  [
    { low: 0, subset: 'all', benchmark: 'nq', model: 'base' },
    'and Search-R1 exact match is undecided: +5.0 [0.0, +8.0] points (NQ, base).',
  ],
  [
    { subset: 'entities_3' },
    'in exact match: +5.0 [+2.0, +8.0] points (comparisons of 3, both models pooled).',
  ],
  [
    { subset: 'wording_unseen' },
    'in exact match: +5.0 [+2.0, +8.0] points (questions worded as never before, both models pooled).',
  ],
  [
    fewer,
    'has less than Search-R1 in model calls: −1.00 [−2.00, −0.50] (parallelizable questions, both models pooled).',
  ],
  [
    ratio,
    'takes less: 0.50 [0.40, 0.60] of what Search-R1 takes in model calls (parallelizable questions, both models pooled).',
  ],
  [
    models,
    'from base is ahead of ParallelSearch from instruct in exact match: +5.0 [+2.0, +8.0] points (parallelizable questions).',
  ],
])('compared says what a contrast shows: %j', (fields, sentence) => {
  const said = compared(frameOf([{ ...contrast, ...fields }]));
  expect(said).toMatch(/^(Between )?ParallelSearch /);
  expect(said.endsWith(` ${sentence}`)).toBe(true);
});

it('stated tells rows metric by metric', () => {
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
    'Exact match: R1 (no search) 0.100 [0.000, 0.200] (all questions, base) and Search-R1 0.100 [0.000, 0.200] (all questions, base). ' +
      'Search turns: R1 (no search) 0.10 [0.00, 0.20] (all questions, base).',
  );
});

it('a finding says something', () => {
  expect(finding('A.', '', 'B.')).toEqual({ kind: 'finding', text: 'A. B.' });
  expect(() => finding('')).toThrow('Expected a sentence');
});

it.each([
  [{ low: 0.1, high: 1 }, 0, 'above'],
  [{ low: 0, high: 1 }, 0, 'undecided'],
  [{ low: 0, high: 0.9 }, 1, 'below'],
])('the interval %j lies, of the limit %d, %s', (interval, limit, side) => {
  expect(sideOf(interval, limit)).toBe(side);
});
