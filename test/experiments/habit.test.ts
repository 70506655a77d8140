import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/table.js';
import { judgeConditions, readPredictions } from '../../lib/experiments/conditions.js';
import { drawHabit } from '../../lib/experiments/conditions-charts.js';
import {
  habit,
  HABIT_STEPS,
  habitRuns,
  loadHabit,
  type HabitResults,
} from '../../lib/experiments/habit.js';
import { keptSteps } from '../../lib/experiments/runs.js';
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

  it('count answers with evidence missing and turns left', () => {
    const gaveUp = { benchmark: 'all', subset: 'all', metric: 'gave_up', method: 'search-r1' };
    expect(matching(results.rows, gaveUp).map(({ value }) => value)).toEqual([1, 1, 0]);
  });

  it('have the means of each training', () => {
    const cell = { initial_model: 'hasty-2', step: 50, metric: 'evidence_seen' };
    const found = matching(results.trainings, cell);
    expect(found.map(({ method, value }) => [method, value])).toEqual([
      ['parallelsearch', 1],
      ['search-r1', 0.5],
    ]);
  });

  it('are in a chart for each metric', () => {
    const judged = judgeConditions(results, readPredictions());
    const { habit_evidence_leads, habit_leads } = drawHabit(results.curves, judged);
    const numRows = [habit_evidence_leads, habit_leads].map(
      (chart) => ((chart as Chart).spec.data as { values: unknown[] }).values.length,
    );
    expect(numRows).toEqual([6, 7]);
  });
});
