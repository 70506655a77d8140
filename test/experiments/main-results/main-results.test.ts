import { expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { MANY } from '../../../lib/evaluation/selections.js';
import { loadMainResults } from '../../../lib/experiments/main-results.js';
import { rowsOf } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { writeSyntheticAnswers } from '../synthetic.js';

const folder = temporaryFolder();

it('the predictions are answered by the figures, and go into the tidy table', async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 10 });
  const { predictions, tidy } = await loadMainResults(folder, { resamples: 50 });
  const rows = rowsOf(predictions);
  expect(tidy.provenance).toMatchObject({ predictions: rows, backend: 'a made-up backend' });
  const about = (words: string) => {
    const found = rows.filter(({ prediction }) => String(prediction).includes(words));
    return found.map(({ holds }) => holds);
  };
  expect(about('Reinforcement teaches')).toHaveLength(2 * 2 * 3);
  // Two calls in place of three, two in place of six; made-up ParallelSearch decomposes
  // all parallelizable questions and no other.
  expect(about('comparisons of two')).toEqual([true]);
  expect(about('comparisons of up to eight')).toEqual([true]);
  expect(about('of sequential questions')).toEqual([true, true]);
  expect(about('Repeats at most 5 %')).toEqual([true, true]);
  const sequential = rows.find(({ prediction }) => String(prediction).includes('of sequential'))!;
  expect(sequential.found).toBe('0.000 [0.000, 0.000]');
});

it('subsets are given of all questions and of comparisons of many; single benchmarks are whole', async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 10 });
  const rows = rowsOf((await loadMainResults(folder, { resamples: 5 })).rows);
  expect(matching(rows, { benchmark: MANY, subset: 'entities_8' })).not.toEqual([]);
  expect(matching(rows, { benchmark: 'average', subset: 'wording_unseen' })).not.toEqual([]);
  const subsets = matching(rows, { benchmark: 'hotpotqa' }).map(({ subset }) => subset);
  expect(new Set(subsets)).toEqual(new Set(['all']));
});
