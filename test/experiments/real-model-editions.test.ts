import { readFileSync } from 'node:fs';
import { mean } from 'd3-array';
import { expect, it } from 'vitest';
import type { Fields } from '../../lib/evaluation/table.js';
import { matching } from '../../lib/evaluation/table.js';
import { realModel } from '../../lib/experiments/real-model/experiment.js';
import {
  answeringRun,
  FRESH,
  freshRollout,
  readerPath,
  realModelFresh,
  type FreshAnswers,
  type FreshRun,
} from '../../lib/experiments/real-model/fresh.js';
import { requireResults } from '../../lib/experiments/records.js';
import { percent } from '../../lib/experiments/summary.js';
import { packagePath } from '../../lib/io/paths.js';
import { figureText } from '../../lib/report/text.js';
import { TRAINED_MODELS } from '../../lib/policy/trained-models.js';
import { readTrainConfig } from '../../lib/training/models.js';
import { temporaryFolder } from '../folder.js';

const none = temporaryFolder();
const result = await realModel.result!(none);
const done = await requireResults<FreshRun, FreshAnswers>(realModelFresh, none);
const recorded = done.flatMap(({ record: { value } }) =>
  value.measurements.map((measurement) => ({ ...value.run, ...measurement })),
);

interface Figure {
  value: number;
  low: number;
  high: number;
  n: number;
}
const all = { benchmark: 'all', subset: 'all' };
const find = (fields: Fields): Figure =>
  matching('kind' in fields ? result.contrasts : result.rows, { ...all, ...fields })[0] as Figure;
const ours = { edition: 'second', method: 'parallelsearch' };
const em = { metric: 'em' };
const decomposed = { metric: 'decomposition_ratio', subset: 'parallelizable' };

it('every run answered the same fresh questions, and says where', () => {
  const asked = done.map(({ record }) =>
    record.value.measurements.map(({ questionId }) => questionId),
  );
  expect(new Set(asked.map((ids) => ids.join())).size).toBe(1);
  expect(new Set(asked[0]).size).toBe(195);
  for (const { record } of done) {
    expect(record.provenance.backend).toContain('native');
    expect(record.provenance.hardware).toContain('cores');
    expect(record.provenance.commit).toMatch(/^[\da-f]{12}$/);
  }
});

it('gives means of the recorded answers', () => {
  const answers = matching(recorded, ours);
  expect(find({ ...ours, ...em }).value).toBeCloseTo(mean(answers, (answer) => answer.em)!, 5);
  const comparisons = matching(answers, { subset: 'parallelizable' });
  expect(find({ ...ours, ...decomposed }).value).toBeCloseTo(
    mean(comparisons, (answer) => Number(answer.decomposed))!,
    5,
  );
  const complete = matching(answers, { evidenceSeen: 1 });
  expect(find({ ...ours, metric: 'em_if_evidence' }).value).toBeCloseTo(
    mean(complete, (answer) => answer.em)!,
    5,
  );
  const [seed] = matching(result.frames!.seeds, { ...all, ...em, seed: 2 }) as Figure[];
  expect(seed.value).toBeCloseTo(mean(matching(answers, { seed: 2 }), (one) => one.em)!, 5);
});

it('a method of which no step was kept answers as before RL', () => {
  const searchR1 = FRESH.filter(({ method }) => method === 'search-r1');
  expect(searchR1.map((run) => answeringRun(run).method)).toEqual([
    'untrained:search-r1',
    'untrained:search-r1',
  ]);
  const [after, before] = ['search-r1', 'untrained:search-r1'].map(
    (method) => find({ ...ours, method, ...em }).value,
  );
  expect(after).toBe(before);
});

it('asks each run within the limits and with the prompt of its training', async () => {
  for (const run of FRESH.filter(
    ({ edition, method }) => edition === 'second' && !method.includes(':'),
  ))
    expect(freshRollout(run)).toEqual((await readTrainConfig(readerPath(run)))!.rollout);
});

it('names the adapter that `ask` uses', () => {
  const { adapter } = TRAINED_MODELS.get('smollm2-parallelsearch');
  expect(adapter).toBe(readerPath({ method: 'parallelsearch', seed: 2 }));
});

it('judges what was predicted by the recorded figures', () => {
  expect(result.predictions!.map(({ holds }) => holds)).toEqual([
    false, // 33 % of answers right, not 35 %
    true, // exactly the lower end of Search-R1's interval
    false,
    true,
    false,
    false,
  ]);
});

it.each(['README.md', 'docs/real-models.md', 'reports/README.md'])(
  '%s says these figures',
  (file) => {
    const text = readFileSync(packagePath(...file.split('/')), 'utf8').replace(/\s+/g, ' ');
    const before = { ...ours, method: 'untrained:search-r1', ...em };
    const figures = [find(before), find({ ...before, edition: 'first' }), find({ ...ours, ...em })];
    for (const { value } of [...figures, find({ ...ours, ...decomposed })])
      expect(text).toMatch(new RegExp(`${percent(value)}|\\b${figureText(value, 2)}\\b`));
  },
);
