import { describe, expect, it } from 'vitest';
import { describeHabit } from '../../lib/experiments/conditions.js';
import { drawHabit } from '../../lib/experiments/conditions-charts.js';
import { habit, HABIT_STEPS, habitRuns, stepsToEnough } from '../../lib/experiments/habit.js';
import { keptSteps } from '../../lib/experiments/runs.js';
import type { TrainingRow } from '../../lib/report/curves.js';
import { isTrained, trainConfigForRun } from '../../lib/training/stored-policies.js';

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
    const { habit_evidence: chart } = drawHabit([
      ...curves,
      row({ benchmark: 'training', metric: 'turns' }),
    ]);
    expect(JSON.stringify(chart)).toContain('0.97');
  });
});
