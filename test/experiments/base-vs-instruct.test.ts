import { expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import { baseVsInstruct } from '../../lib/experiments/base-vs-instruct.js';
import type { Row } from '../../lib/report/frame.js';
import { temporaryFolder } from '../folder.js';
import { numTrainedSteps } from './cut-short.js';
import { writeSyntheticAnswers } from './synthetic.js';
import { withResamples } from './resamples.js';

const folder = temporaryFolder();
await writeSyntheticAnswers(folder, { perTemplate: 2 });
const result = await withResamples(5, () => baseVsInstruct.result!(folder));

const find = (rows: readonly object[], fields: Row): Row => matching(rows as Row[], fields)[0];

it('the contrast of two models is the difference of their rows; the paper’s is +3.3 points', () => {
  const cell = { method: 'parallelsearch', benchmark: 'average', subset: 'all', metric: 'em' };
  const [base, instruct] = ['base', 'instruct'].map((model) =>
    find(result.rows, { ...cell, model }),
  );
  const gap = find(result.contrasts, { ...cell, against: 'parallelsearch', kind: 'difference' });
  expect(gap).toMatchObject({ model: 'base', against_model: 'instruct' });
  expect(gap.value).toBeCloseTo(Number(base.value) - Number(instruct.value), 5);
  expect(gap.paper).toBeCloseTo(0.033, 12);
});

it('training curves are given per step and in ten windows', () => {
  const { training, tenths } = result.frames!;
  const turns = { metric: 'turns', subset: 'all', seeds: 6, band: 'range of seeds' };
  expect(find(training, { metric: 'turns' })).toMatchObject(turns);
  const steps = new Set((tenths as Row[]).map(({ step }) => step));
  expect(steps.size).toBe(Math.min(10, numTrainedSteps));
});
