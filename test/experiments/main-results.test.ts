import { expect, it } from 'vitest';
import { MANY } from '../../lib/evaluation/selections.js';
import { matching } from '../../lib/evaluation/table.js';
import { mainResults } from '../../lib/experiments/main-results.js';
import { toRows } from '../../lib/report/frame.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticAnswers } from './synthetic.js';

it('checks predictions by figures, and shows subsets of all questions and of many', async () => {
  const folder = temporaryFolder();
  await writeSyntheticAnswers(folder, { perTemplate: 8 });
  const results = await mainResults.result!(folder, { resamples: 5 });
  const predictions = results.predictions!;
  const outcomes = (words: string) =>
    predictions.filter(({ prediction }) => prediction.includes(words)).map(({ holds }) => holds);
  expect(outcomes('After reinforcement')).toHaveLength(2 * 2 * 3);
  // Two calls instead of three, two instead of six; made-up ParallelSearch decomposes all
  // parallelizable questions and no other.
  expect(outcomes('comparisons of two')).toEqual([true]);
  expect(outcomes('comparisons of up to eight')).toEqual([true]);
  expect(outcomes('of sequential questions')).toEqual([true, true]);
  expect(outcomes('Repeats')).toEqual([true, true]);

  const rows = toRows(results.rows);
  expect(matching(rows, { benchmark: MANY, subset: 'entities_8' })).not.toEqual([]);
  expect(matching(rows, { benchmark: 'average', subset: 'wording_unseen' })).not.toEqual([]);
  const subsets = matching(rows, { benchmark: 'hotpotqa' }).map(({ subset }) => subset);
  expect(new Set(subsets)).toEqual(new Set(['all']));
});
