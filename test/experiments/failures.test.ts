import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../lib/evaluation/result.js';
import { pickCases, FAILURES, failureRates } from '../../lib/experiments/failures.js';
import { scoredLine } from '../../lib/experiments/trajectories.js';
import type { Segment } from '../../lib/rollout/trajectory.js';
import { SEQUENTIAL } from '../training/tiny.js';
import { syntheticResults } from './synthetic.js';

/** A comparison asked at once and answered right: nothing goes wrong. */
const PERFECT = {
  subset: 'parallelizable',
  em: 1,
  turns: 1,
  decomposed: true,
  coverage: 1,
  evidenceSeen: 1,
  answer: 'A',
  searches: [['A born', 'B born']],
} as Measurement;
const failuresOf = (change: Partial<Measurement>): string[] => {
  const answer = { ...PERFECT, ...change };
  return FAILURES.filter(
    ({ of, isSeen }) => (of ?? answer.subset) === answer.subset && isSeen(answer),
  ).map(({ metric }) => metric.replace('failure_', ''));
};

describe('failures', () => {
  it.each<[string, Partial<Measurement>, string[]]>([
    ['a perfect answer', {}, []],
    ['two parts of a chain at once', { subset: 'sequential' }, ['over_parallelized']],
    ['the same at a hybrid question', { subset: 'hybrid' }, []],
    [
      'an answer without search',
      { turns: 0, decomposed: false, coverage: 0, evidenceSeen: 0, searches: [] },
      ['no_search', 'from_memory'],
    ],
    [
      'a part that is never asked',
      { coverage: 0.5, evidenceSeen: 0.5 },
      ['half_decomposed', 'from_memory'],
    ],
    ['a wrong answer with all parts at hand', { em: 0 }, ['aggregation']],
    ['the same asked one by one', { em: 0, decomposed: false }, ['ignored_evidence']],
    ['a query asked twice', { searches: [['A born', 'B born'], ['A born']] }, ['repeats']],
    [
      'no answer at all',
      { em: 0, answer: null, coverage: 0.5, evidenceSeen: 0.5 },
      ['half_decomposed'],
    ],
  ])('in %s', (_, change, expected) => {
    expect(failuresOf(change)).toEqual(expected);
  });

  it('are shares of the questions that can fail so, and lead to the cases', () => {
    const answers = syntheticResults({ perTemplate: 4 }).filter(
      ({ method }) => method === 'parallelsearch',
    );
    const { rows } = failureRates({ answers, provenance: {} }, { resamples: 20 });
    const row = rows.find(
      ({ metric, model }) => metric === 'failure_over_parallelized' && model === 'base',
    )!;
    const chains = answers.filter(
      ({ subset, model, benchmark }) =>
        subset === 'sequential' && model === 'base' && benchmark !== 'many',
    );
    expect(row.n).toBe(new Set(chains.map(({ questionId }) => questionId)).size);
    const share = chains.filter(({ decomposed }) => decomposed).length / chains.length;
    expect(row.value).toBeCloseTo(share, 5);
  });
});

it('cases are the first answers of a method that failed so', () => {
  const segment = (kind: Segment['kind'], text: string): Segment => ({ kind, tokenIds: [], text });
  const lineOf = (method: string) =>
    scoredLine({ method, model: 'base', initSeed: 1, seed: 1 }, SEQUENTIAL, {
      questionId: SEQUENTIAL.id,
      question: SEQUENTIAL.question,
      goldenAnswers: SEQUENTIAL.goldenAnswers,
      segments: [segment('policy', '<think> t </think><answer> 1904 </answer>')],
      searchTurns: [],
      answer: '1904',
      modelCalls: 1,
      finish: 'answer',
    });
  const lines = ['search-r1', ...Array<string>(4).fill('parallelsearch')].map(lineOf);
  const cases = pickCases(lines, [SEQUENTIAL]);
  expect(cases.map(({ failure }) => failure)).toEqual([
    ...Array<string>(3).fill('failure_no_search'),
    ...Array<string>(3).fill('failure_from_memory'),
  ]);
  expect(new Set(cases.map(({ line }) => line.run.method))).toEqual(new Set(['parallelsearch']));
  const [page, criteria] = cases[0].address.split('#');
  expect(page).toBe('trajectories.html');
  expect(Object.fromEntries(new URLSearchParams(criteria))).toEqual({
    search: `"${SEQUENTIAL.question}"`,
    method: cases[0].line.method,
    partner: lines[0].method,
  });
});
