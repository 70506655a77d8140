import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/table.js';
import {
  describeHabit,
  judgeConditions,
  readPredictions,
} from '../../lib/experiments/conditions.js';
import { drawHabit } from '../../lib/experiments/conditions-charts.js';
import {
  habit,
  HABIT_STEPS,
  habitRuns,
  loadHabit,
  stepsToEnough,
  type HabitResults,
} from '../../lib/experiments/habit.js';
import { keptSteps } from '../../lib/experiments/runs.js';
import type { TrainingRow } from '../../lib/report/curves.js';
import type { Chart } from '../../lib/report/vega-lite.js';
import { isTrained, trainConfigForRun } from '../../lib/training/stored-policies.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticHabit } from './synthetic-habit.js';

describe('runs from hasty models', () => {
  it('compare both methods from each model, and differ in nothing else', () => {
    const runs = habitRuns();
    expect(runs.map(({ model }) => model)).toEqual(runs.map(() => 'hasty'));
    for (const initSeed of [1, 2, 3]) {
      const own = runs.filter((run) => run.initSeed === initSeed);
      expect(own.map(({ method }) => method)).toEqual(['parallelsearch', 'search-r1']);
      const [ours, theirs] = own.map((run) => trainConfigForRun(run));
      expect(ours.grpo).toEqual(theirs.grpo);
    }
  });

  it('are trained if they are missing, with an estimate from the main comparison', async () => {
    const plan = await habit.computation!.prepare!.plan();
    const missing = habitRuns().filter((run) => !isTrained(run));
    expect(plan === null).toBe(missing.length === 0);
    if (plan) expect(plan.seconds).toBeGreaterThan(60 * missing.length);
  });

  it('answer before training, after the step that is kept, and at the end', async () => {
    for (const run of habitRuns()) {
      const { grpo } = trainConfigForRun(run);
      expect([0, ...keptSteps(run), grpo!.steps]).toEqual([...HABIT_STEPS]);
    }
    const jobs = await habit.computation!.jobs();
    expect(jobs).toHaveLength(3 * habitRuns().filter((run) => isTrained(run)).length);
    expect(new Set(jobs.map(({ hash }) => hash)).size).toBe(jobs.length);
  });
});

describe('results', () => {
  const sides = { benchmark: 'all', subset: 'all', metric: 'evidence_seen', kind: 'difference' };
  let results: HabitResults;
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticHabit(folder);
    results = (await loadHabit(folder, { resamples: 20 }))!;
  });

  it('compare the methods at each step', () => {
    const gaps = matching(results.contrasts, { ...sides, method: 'parallelsearch' });
    expect(gaps.map(({ step, value }) => [step, value])).toEqual([
      [0, 0],
      [50, 0.5],
      [100, 0],
    ]);
  });

  it('count model calls, which are two where a model searches once', () => {
    const calls = { ...sides, metric: 'model_calls' };
    const before = matching(results.rows, { benchmark: 'all', subset: 'all', step: 0 });
    expect(matching(before, { metric: 'model_calls' }).map(({ value }) => value)).toEqual([2, 2]);
    const [ratio] = matching(results.contrasts, { ...calls, kind: 'ratio', step: 100 });
    expect(ratio.value).toBeLessThan(1);
  });

  it('are in a chart with a panel for each metric', () => {
    const judged = judgeConditions(results, readPredictions());
    expect(judged).toHaveLength(13);
    const { habit_leads: chart } = drawHabit(results.curves, judged);
    const { spec } = chart as Chart;
    expect(spec.facet).toMatchObject({ sort: ['Evidence recall', 'Exact match'] });
  });
});

const row = (fields: Partial<TrainingRow>): TrainingRow => ({
  method: 'search-r1',
  model: 'hasty',
  benchmark: 'dev',
  subset: 'all',
  metric: 'evidence_seen',
  step: 0,
  value: 0,
  low: 0,
  high: 1,
  seeds: 3,
  band: 'range of seeds',
  ...fields,
});

describe('the steps until enough is found', () => {
  const curves = [
    row({ step: 25, value: 1, benchmark: 'training' }),
    row({ step: 25, value: 1, metric: 'turns' }),
    row({ step: 50, value: 0.94 }),
    row({ step: 75, value: 0.95 }),
    row({ step: 50, value: 0.97, method: 'parallelsearch' }),
  ];

  it('are those of dev answers, by method', () => {
    expect(stepsToEnough(curves, 'search-r1')).toBe(75);
    expect(stepsToEnough(curves, 'parallelsearch')).toBe(50);
    expect(stepsToEnough(curves.slice(0, 3), 'search-r1')).toBeNull();
  });

  it('are in the finding, or that there were not enough', () => {
    expect(describeHabit(null)).toBe('');
    expect(describeHabit({ curves })).toMatch(/ParallelSearch .* 50 .*Search-R1 .* 75 /);
    expect(describeHabit({ curves: curves.slice(0, 3) })).toContain('not within 100');
  });

  it('are seen in a chart of the dev answers', () => {
    const training = row({ benchmark: 'training', metric: 'turns' });
    const { habit_evidence: chart } = drawHabit([...curves, training], []);
    expect(JSON.stringify(chart)).toContain('0.97');
  });
});
