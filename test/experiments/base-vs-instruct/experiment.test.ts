import { beforeAll, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import {
  loadBaseVsInstruct,
  type BaseVsInstruct,
} from '../../../lib/experiments/base-vs-instruct.js';
import { rowsOf, type Frame, type Row } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { numTrainedSteps } from '../cut-short.js';
import { writeSyntheticAnswers } from '../synthetic.js';

const folder = temporaryFolder();
let results: BaseVsInstruct;
beforeAll(async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 8 });
  results = await loadBaseVsInstruct(folder, { resamples: 60 });
}, 60_000);

const find = (frame: Frame, fields: Row): Row => matching(rowsOf(frame), fields)[0];

it('the two models differ by their rows, and in the paper by +3.3 points on average', () => {
  const cell = { method: 'parallelsearch', benchmark: 'average', subset: 'all', metric: 'em' };
  const [base, instruct] = ['base', 'instruct'].map((model) =>
    find(results.rows, { ...cell, model }),
  );
  const gap = find(results.contrasts, { ...cell, against: 'parallelsearch', kind: 'difference' });
  expect(gap).toMatchObject({ model: 'base', against_model: 'instruct' });
  expect(gap.value).toBeCloseTo(Number(base.value) - Number(instruct.value), 5);
  expect(gap.paper).toBeCloseTo(0.033, 12);
});

it('training stands in the tidy table and in frames of its own: all of it, and in ten windows', () => {
  const { rows, training, tenths, tidy } = results;
  expect(tidy.rows).toHaveLength(rows.shape[0] + training.shape[0]);
  expect(rowsOf(rows).some(({ benchmark }) => benchmark === 'training')).toBe(false);
  const turns = {
    metric: 'turns',
    benchmark: 'training',
    subset: 'all',
    seeds: 6,
    band: 'range of seeds',
  };
  expect(find(training, { metric: 'turns' })).toMatchObject(turns);
  expect(new Set(rowsOf(tenths).map(({ step }) => step)).size).toBe(Math.min(10, numTrainedSteps));
});
