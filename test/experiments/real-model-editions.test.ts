import { readFileSync } from 'node:fs';
import { mean, rollup } from 'd3-array';
import { describe, expect, it } from 'vitest';
import type { Interval } from '../../lib/evaluation/estimate.js';
import { matching, type Fields } from '../../lib/evaluation/figures.js';
import {
  answeringRun,
  freshRollout,
  MULTI_HOP_TEST,
  readerPath,
  realModelFresh,
  realModelOthers,
  type FreshRun,
} from '../../lib/experiments/real-model/answering.js';
import { realModel } from '../../lib/experiments/real-model/experiment.js';
import { realModelFacts } from '../../lib/experiments/real-model/facts.js';
import { percent } from '../../lib/experiments/results/summary.js';
import type { Answers } from '../../lib/experiments/running/answers.js';
import { requireResults } from '../../lib/experiments/running/records.js';
import { packagePath } from '../../lib/io/paths.js';
import { TRAINED_MODELS } from '../../lib/policy/folders/trained-models.js';
import { figureText } from '../../lib/report/text.js';
import { readTrainConfig } from '../../lib/training/models.js';
import { temporaryFolder } from '../folder.js';
import { cases } from '../full.js';
import { withResamples } from './resamples.js';

const none = temporaryFolder();
const result = await withResamples(cases(200, 10_000), () => realModel.result!(none));
const done = await requireResults<FreshRun, Answers<FreshRun>>(realModelFresh, none);
const recorded = done.flatMap(({ record: { value } }) =>
  value.measurements.map((measurement) => ({ ...value.run, ...measurement })),
);

const all = { benchmark: 'all', subset: 'all' };
const find = (fields: Fields): Interval =>
  matching(result.rows, { ...all, ...fields })[0] as Interval;
const ours = { edition: 'second', method: 'parallelsearch' };
const em = { metric: 'em' };
const decomposed = { metric: 'decomposition_ratio', subset: 'parallelizable' };

it('every run answered the same fresh questions, with provenance', () => {
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
  const meanEm = (fields: Fields): number => mean(matching(answers, fields), (one) => one.em)!;
  expect(find({ ...ours, ...em }).value).toBeCloseTo(meanEm({}), 5);
  const comparisons = matching(answers, { subset: 'parallelizable' });
  const share = mean(comparisons, (answer) => Number(answer.decomposed))!;
  expect(find({ ...ours, ...decomposed }).value).toBeCloseTo(share, 5);
  const reading = find({ ...ours, metric: 'em_if_evidence' });
  expect(reading.value).toBeCloseTo(meanEm({ evidenceSeen: 1 }), 5);
  const [seed] = matching(result.frames!.seeds, { ...all, ...em, seed: 2 }) as Interval[];
  expect(seed.value).toBeCloseTo(meanEm({ seed: 2 }), 5);
});

it('a method without a kept step answers as before RL', () => {
  for (const run of matching(MULTI_HOP_TEST.runs, { method: 'search-r1' }))
    expect(answeringRun(run).method).toBe('untrained:search-r1');
  const [after, before] = ['search-r1', 'untrained:search-r1'].map(
    (method) => find({ ...ours, method, ...em }).value,
  );
  expect(after).toBe(before);
});

it('every run uses the limits and the prompt of its training', async () => {
  for (const run of matching(MULTI_HOP_TEST.runs, {
    ...ours,
    method: ['parallelsearch', 'search-r1'],
  }))
    expect(freshRollout(run)).toEqual((await readTrainConfig(readerPath(run)))!.rollout);
});

it('the adapter is the one that `ask` uses', () => {
  const { adapter } = TRAINED_MODELS.get('smollm2-parallelsearch');
  expect(adapter).toBe(readerPath({ method: 'parallelsearch', seed: 2 }));
});

it('predictions are judged by the recorded figures', () => {
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
  '%s has these figures',
  (file) => {
    const text = readFileSync(packagePath(...file.split('/')), 'utf8').replace(/\s+/g, ' ');
    const before = { ...ours, method: 'untrained:search-r1', ...em };
    const figures = [find(before), find({ ...before, edition: 'first' }), find({ ...ours, ...em })];
    for (const { value } of [...figures, find({ ...ours, ...decomposed })])
      expect(text).toMatch(new RegExp(`${percent(value)}|\\b${figureText(value, 2)}\\b`));
  },
);

describe('stated facts', async () => {
  const facts = await requireResults<FreshRun, Answers<FreshRun>>(realModelFacts, none);

  it('asks every model the same comparisons', () => {
    const asked = facts.map(({ record }) =>
      record.value.measurements.map(({ questionId, subset }) => `${questionId} ${subset}`),
    );
    expect(new Set(asked.map((ids) => ids.join())).size).toBe(1);
    expect(asked[0]).toHaveLength(80);
    expect(asked[0].every((name) => name.endsWith(' parallelizable'))).toBe(true);
  });

  it('gives the means of the recorded answers', () => {
    const shown = (fields: Fields): Interval =>
      matching(result.frames!.facts as Interval[], { ...ours, ...fields })[0];
    const answered = facts.flatMap(({ record: { value } }) =>
      value.measurements.map((measurement) => ({ ...value.run, ...measurement })),
    );
    const afterRl = matching(answered, ours);
    expect(shown(em).value).toBeCloseTo(mean(afterRl, (one) => one.em)!, 5);
    const isYesNo = mean(matching(afterRl, { isYesNo: true }), (one) => one.em)!;
    expect(shown({ metric: 'em_yes_no' }).value).toBeCloseTo(isYesNo, 5);
  });
});

describe('other benchmarks', async () => {
  const others = await requireResults<FreshRun, Answers<FreshRun>>(realModelOthers, none);

  it('have the same 50 questions of each for every run', () => {
    for (const { record } of others) {
      const { measurements } = record.value;
      const sizes = rollup(
        measurements,
        (some) => some.length,
        ({ benchmark }) => benchmark,
      );
      expect([...sizes.values()]).toEqual(Array(5).fill(50));
      const ids = measurements.map(({ questionId }) => questionId);
      expect(new Set(ids).size).toBe(250);
    }
    const asked = others.map(({ record }) =>
      record.value.measurements.map(({ questionId }) => questionId).join(),
    );
    expect(new Set(asked).size).toBe(1);
  });

  it('list predictions and results', () => {
    const judged = result.frames!.otherPredictions as { holds: boolean }[];
    expect(judged.map(({ holds }) => holds)).toEqual([
      ...Array<boolean>(5).fill(true),
      false, // 1.21 times Search-R1's calls
      false, // 78 % well formed, not 85 %
    ]);
  });
});
