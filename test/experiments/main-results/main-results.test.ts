import { expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { loadMainResults, mainRuns } from '../../../lib/experiments/main-results/experiment.js';
import { runName } from '../../../lib/experiments/runs.js';
import { rowsOf } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { writeSyntheticAnswers } from '../synthetic.js';

const folder = temporaryFolder();

it('the runs are every method from both initial models; an untrained one needs one seed', () => {
  expect(mainRuns().slice(0, 4).map(runName)).toEqual([
    ...['instruct-parallelsearch-seed1', 'instruct-search-r1-seed1'],
    ...['base-parallelsearch-seed1', 'base-search-r1-seed1'],
  ]);
  expect(mainRuns()).toHaveLength(20);
  expect(mainRuns().filter(({ method }) => method === 'r1')).toHaveLength(2);
});

it('the predictions are answered by the figures, and go into the tidy table', async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 10 });
  const { predictions, tidy } = await loadMainResults(folder, { resamples: 50 });
  const rows = rowsOf(predictions);
  expect(rows).toHaveLength(6);
  expect(tidy.provenance).toMatchObject({ predictions: rows, backend: 'a made-up backend' });
  const [em, calls, , sequential] = rows;
  expect(em.found).toMatch(/^[+−]\d/);
  // Made-up ParallelSearch decomposes all parallelizable questions and no other.
  expect([calls, sequential].map(({ holds }) => holds)).toEqual([true, true]);
  expect(sequential.found).toBe('0.000 [0.000, 0.000]');
  expect(matching(tidy.rows, { subset: 'parallelizable_5' })).not.toEqual([]);
});
