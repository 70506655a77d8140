import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/table.js';
import { judgeConditions, readPredictions } from '../../lib/experiments/conditions.js';
import { drawHybrids } from '../../lib/experiments/conditions-charts.js';
import {
  HYBRID_TRAININGS,
  hybridRuns,
  hybrids,
  loadHybrids,
  type HybridResults,
} from '../../lib/experiments/hybrids.js';
import type { Chart } from '../../lib/report/vega-lite.js';
import { trainerSettings } from '../../lib/training/config.js';
import { isTrained, trainConfigForRun } from '../../lib/training/stored-policies.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticHybrids } from './synthetic-hybrids.js';

describe('runs with hybrid questions', () => {
  it('compare both methods, and differ in nothing else', () => {
    for (const ours of hybridRuns().filter(({ method }) => method === 'parallelsearch')) {
      const theirs = { ...ours, method: 'search-r1' };
      expect(hybridRuns()).toContainEqual(theirs);
      const [a, b] = [ours, theirs].map((run) => trainerSettings(trainConfigForRun(run)));
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

  it('answer the same test, each with a job of its own', async () => {
    const jobs = await hybrids.computation!.jobs();
    const stages = Object.values(HYBRID_TRAININGS).flatMap((list) => list());
    expect(jobs).toHaveLength(stages.filter(({ run }) => isTrained(run)).length);
    expect(new Set(jobs.map(({ key }) => key)).size).toBe(jobs.length);
  });
});

const trained = Object.entries(HYBRID_TRAININGS).flatMap(([training, list]) =>
  list().every(({ run }) => isTrained(run)) ? [training] : [],
);

describe.skipIf(!trained.includes('mixed'))('results (skipped before the runs are trained)', () => {
  let results: HybridResults;
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticHybrids(folder);
    results = (await loadHybrids(folder, { resamples: 20 }))!;
  });

  it('compare the methods by how they were trained', () => {
    const cell = { benchmark: 'all', subset: 'hybrid', metric: 'em', kind: 'difference' };
    const gaps = matching(results.contrasts, { ...cell, method: 'parallelsearch' });
    expect(gaps.map(({ training, value }) => [training, value])).toEqual(
      trained.map((training) => [training, training === 'main' ? -1 : 0]),
    );
  });

  it('are judged by their predictions, and in charts', () => {
    const judged = judgeConditions(results, readPredictions());
    const find = (id: string) => matching(judged, { id })[0];
    expect(find('main-hybrid')).toMatchObject({ value: -1, found: 'fewer', holds: true });
    expect(find('mixed-hybrid')).toMatchObject({ value: 0, found: 'same', holds: true });
    const { hybrid_leads, hybrid_answers } = drawHybrids(results.rows, judged);
    const values = (chart: unknown): unknown[] =>
      ((chart as Chart).spec.data as { values: unknown[] }).values;
    expect(values(hybrid_leads)).toHaveLength(matching(judged, { metric: 'em' }).length);
    expect(values(hybrid_answers)).toHaveLength(2 * trained.length);
  });
});
