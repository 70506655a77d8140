import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/table.js';
import { judgeConditions, readPredictions } from '../../lib/experiments/conditions.js';
import { drawHybrids } from '../../lib/experiments/conditions-charts.js';
import {
  HYBRIDS,
  hybridRuns,
  hybridStages,
  hybrids,
  loadHybrids,
  PAIRED,
  paired,
  type HybridResults,
  type HybridTest,
} from '../../lib/experiments/hybrids.js';
import type { Chart } from '../../lib/report/vega-lite.js';
import { trainerSettings } from '../../lib/training/config.js';
import { isTrained, trainConfigForRun } from '../../lib/training/stored-policies.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticHybrids } from './synthetic-hybrids.js';

describe('runs with hybrid questions', () => {
  it('compare both methods, and differ in nothing else', () => {
    const ours = hybridRuns().filter(({ method }) => method === 'parallelsearch');
    for (const { lambdas: _, ...run } of ours) {
      const theirs = { ...run, method: 'search-r1' };
      expect(hybridRuns()).toContainEqual(theirs);
      const [a, b] = [run, theirs].map((each) => trainerSettings(trainConfigForRun(each)));
      expect(a).toEqual(b);
    }
  });

  it('have a fifth of them in RL where the initial model has not been shown them at once', () => {
    for (const run of hybridRuns()) {
      const { mix } = trainerSettings(trainConfigForRun(run));
      const shares = [mix.singleHop, mix.sequential, mix.hybrid ?? 0, ...mix.comparisons];
      const total = shares.reduce((sum, share) => sum + share, 0);
      expect((mix.hybrid ?? 0) / total).toBeCloseTo(run.model === 'paired' ? 0 : 0.2, 12);
    }
  });

  it.each([
    [HYBRIDS, hybrids],
    [PAIRED, paired],
  ])('answer the same test, each with a job of its own: $name', async (test, experiment) => {
    const jobs = await experiment.computation!.jobs();
    const stages = hybridStages(test);
    expect(jobs).toHaveLength(stages.filter(({ run }) => isTrained(run)).length);
    expect(new Set(jobs.map(({ key }) => key)).size).toBe(jobs.length);
  });
});

/** Whether the runs of a test are all trained. */
const isReady = (test: HybridTest): boolean =>
  hybridStages(test).every(({ run }) => isTrained(run));

describe.each([
  { name: 'hybrid' as const, test: HYBRIDS, unused: ['main'] },
  { name: 'paired' as const, test: PAIRED, unused: ['main', 'mixed_without_rd'] },
])('results of $test.name (needs its trained runs)', ({ name, test, unused }) => {
  let results: HybridResults;
  beforeAll(async () => {
    if (!isReady(test)) return;
    const folder = temporaryFolder();
    await writeSyntheticHybrids(folder);
    results = (await loadHybrids(test, folder, { resamples: 20 }))!;
  });

  it.skipIf(!isReady(test))('compare the methods by how they were trained', () => {
    const cell = { benchmark: 'all', subset: 'hybrid', metric: 'em', kind: 'difference' };
    const gaps = matching(results.contrasts, { ...cell, method: 'parallelsearch' });
    expect(gaps.map(({ training, value }) => [training, value])).toEqual(
      test.trainings.map((training) => [training, unused.includes(training) ? -1 : 0]),
    );
  });

  it.skipIf(!isReady(test))('are judged by their predictions, and in charts', () => {
    const judged = judgeConditions(results, readPredictions());
    const find = (id: string) => matching(judged, { id })[0];
    expect(find('main-hybrid')).toMatchObject({ value: -1, found: 'fewer', holds: true });
    expect(find('mixed-hybrid')).toMatchObject({ value: 0, found: 'same', holds: true });
    const charts = drawHybrids(name, results.rows, judged);
    const values = (chart: unknown): unknown[] =>
      ((chart as Chart).spec.data as { values: unknown[] }).values;
    expect(values(charts[`${name}_leads`])).toHaveLength(matching(judged, { metric: 'em' }).length);
    expect(values(charts[`${name}_answers`])).toHaveLength(2 * test.trainings.length);
  });
});
