import { cross, mean } from 'd3-array';
import { expect, it } from 'vitest';
import type { Interval } from '../../lib/evaluation/estimate.js';
import type { QuestionResult } from '../../lib/evaluation/measurement.js';
import { MANY } from '../../lib/evaluation/selections.js';
import { matching } from '../../lib/evaluation/figures.js';
import { mainResults } from '../../lib/experiments/main-results.js';
import { loadAnswers } from '../../lib/experiments/running/load-answers.js';
import { toRows } from '../../lib/report/frame.js';
import type { Table } from '../../lib/report/table.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticAnswers } from './synthetic.js';
import { withResamples } from './resamples.js';

const folder = temporaryFolder();
await writeSyntheticAnswers(folder, { perTemplate: 7 });
const results = await withResamples(5, () => mainResults.result!(folder));

it('checks predictions against figures, and shows subsets of all and of many questions', () => {
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

it('states the difference over all questions, without hybrid ones, and by benchmark', async () => {
  const { contrasts, figures, finding } = results;
  const gap = { method: 'parallelsearch', against: 'search-r1', model: 'all', metric: 'em' };
  const value = (benchmark: string, subset: string): number =>
    (matching(contrasts, { ...gap, benchmark, subset, kind: 'difference' }) as Interval[])[0].value;
  const { answers } = await loadAnswers(mainResults, folder);
  const inAll = answers.filter(({ benchmark }) => benchmark !== MANY);
  const rights = (method: string, isCounted: (answer: QuestionResult) => boolean): number =>
    mean(['base', 'instruct'], (model) =>
      mean(matching(inAll, { method, model }).filter(isCounted), ({ em }) => em),
    )!;
  const difference = (isCounted: (answer: QuestionResult) => boolean): number =>
    rights('parallelsearch', isCounted) - rights('search-r1', isCounted);
  const everywhere = difference(() => true);
  expect(value('all', 'all')).toBeCloseTo(everywhere, 5);
  const withoutHybrid = difference(({ subset }) => subset !== 'hybrid');
  expect(value('all', 'without_hybrid')).toBeCloseTo(withoutHybrid, 5);
  const { cells } = figures!.overall as Table;
  const labels = cross(['each question', 'each benchmark'], ['all questions', 'without hybrid']);
  expect(cells.rows.map(([benchmark, questions]) => [benchmark, questions])).toEqual(labels);
  expect(finding).toMatch(
    /^On comparisons of two, .* model calls than Search-R1.* hybrid questions .*: \d+ % right instead of \d+ %\.$/,
  );
});
