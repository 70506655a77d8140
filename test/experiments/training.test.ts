import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import {
  readPredictions,
  type ConditionPrediction,
} from '../../lib/experiments/results/judged-predictions.js';
import { isDrawn } from '../../lib/experiments/running/fresh-test.js';
import { keptSteps } from '../../lib/experiments/running/runs.js';
import type { TestedCondition } from '../../lib/experiments/training/charts.js';
import { describeTrainings, training } from '../../lib/experiments/training/experiment.js';
import { NEAR_MISSES } from '../../lib/experiments/training/near-misses.js';
import {
  HABIT,
  HABIT_STEPS,
  PAIRED,
  PASSAGES,
  REWARDS,
  TRAINING_TESTS,
} from '../../lib/experiments/training/tests.js';
import {
  listStages,
  listTestRuns,
  loadTrainingTest,
} from '../../lib/experiments/training/fresh-test-experiment.js';
import { toRows, type Row } from '../../lib/report/frame.js';
import { trainerSettings } from '../../lib/training/config.js';
import { trainConfigForRun } from '../../lib/experiments/running/policy-runs.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticTraining } from './synthetic-training.js';
import { withResamples } from './resamples.js';

describe('runs', () => {
  it('only differ from Search-R1’s in the method', () => {
    for (const runs of [HABIT, PAIRED, PASSAGES].map(listTestRuns))
      for (const { lambdas: _, ...run } of matching(runs, { method: 'parallelsearch' })) {
        const theirs = { ...run, method: 'search-r1' };
        expect(runs).toContainEqual(theirs);
        const [a, b] = [run, theirs].map((each) => trainerSettings(trainConfigForRun(each)));
        expect(a).toEqual(b);
      }
  });

  it('have a fifth of hybrid questions in RL, unless the model learned to answer them before', () => {
    for (const run of listTestRuns(PAIRED).filter(({ steps }) => steps)) {
      const { mix } = trainerSettings(trainConfigForRun(run));
      const shares = [mix.singleHop, mix.sequential, mix.hybrid ?? 0, ...mix.comparisons];
      const total = shares.reduce((sum, share) => sum + share, 0);
      expect((mix.hybrid ?? 0) / total).toBeCloseTo(run.model === 'paired' ? 0 : 0.2, 12);
    }
  });

  it('from hasty models answer before training, after the kept step and at the end', () => {
    for (const run of listTestRuns(HABIT)) {
      const { grpo } = trainConfigForRun(run);
      expect([0, ...keptSteps(run), grpo!.steps]).toEqual([...HABIT_STEPS]);
    }
  });

  it('with another reward only differ from their method’s in reward weights', () => {
    const weights = listTestRuns(REWARDS).map((run) => {
      const { rewards, ...config } = trainConfigForRun(run);
      const { rewards: _, ...method } = trainConfigForRun({ ...run, lambdas: undefined });
      expect(config).toEqual(method);
      return [run.method, rewards.lambdaD, rewards.lambdaS].join(' ');
    });
    const names = [...new Set(weights)].sort().join('; ');
    expect(names).toBe('parallelsearch  ; parallelsearch 0.15 0; search-r1  ; search-r1 0 0.35');
  });

  it('among near misses vary the passages per step, and reserve room for later turns', () => {
    const ks = Object.keys(NEAR_MISSES.recall).map(Number);
    for (const run of matching(listTestRuns(PASSAGES), { nearMisses: true })) {
      const { grpo, rollout } = trainConfigForRun(run);
      expect(grpo!.topKs).toEqual(ks);
      expect(rollout.reservePerTurn).toBe(100);
    }
  });

  it.each(TRAINING_TESTS.filter(isDrawn))(
    'answer $name once at each stage',
    async ({ experiment, groups }) => {
      const jobs = await experiment.computation!.jobs();
      const stages = listStages({ groups });
      expect(jobs).toHaveLength(stages.length);
      expect(new Set(jobs.map(({ hash }) => hash)).size).toBe(jobs.length);
    },
  );
});

describe('results', () => {
  const folder = temporaryFolder();
  let rows: Row[];
  let contrasts: Row[];
  let conditions: TestedCondition[];
  let trainings: Row[];
  beforeAll(async () => {
    await writeSyntheticTraining(folder);
    const parts = await withResamples(5, () => training.result!(folder));
    [rows, contrasts] = [toRows(parts.rows), toRows(parts.contrasts)];
    conditions = parts.frames!.conditions as TestedCondition[];
    trainings = parts.frames!.trainings as Row[];
    expect(parts.predictions).toHaveLength(conditions.length);
  });
  const sides = { method: 'parallelsearch', against: 'search-r1', kind: 'difference' };
  const everything = { benchmark: 'all', subset: 'all' };

  it('compare the methods at each step', () => {
    const cell = { ...sides, ...everything, test: 'habit', metric: 'evidence_seen' };
    expect(matching(contrasts, cell).map(({ step, value }) => [step, value])).toEqual([
      [0, 0],
      [50, 0.5],
      [100, 0],
    ]);
  });

  it('compare the methods by how they were trained', () => {
    const cell = { ...sides, benchmark: 'all', subset: 'hybrid', metric: 'em', test: 'paired' };
    expect(matching(contrasts, cell).map((row) => [row.training, row.value])).toEqual([
      ['main', -1],
      ['mixed', 0],
      ['mixed_without_rd', -1],
      ['paired_before_rl', 0],
      ['paired', 0],
    ]);
  });

  it('compare rewards by name', () => {
    const cell = { ...everything, against: 'search-r1', kind: 'difference', metric: 'em' };
    const found = matching(contrasts, { ...cell, test: 'which-reward', step: 200 });
    expect(found.map(({ method, value }) => [method, value])).toEqual([
      ['parallelsearch', 0],
      ['Search-R1 with r_s', -1],
      ['ParallelSearch without r_s', 0],
    ]);
  });

  it('compare numbers of passages, of both methods and of each', () => {
    const shown = { ...everything, test: 'passages', training: 'near_misses', metric: 'em' };
    const k = { k: 10, against_k: 1, kind: 'difference' };
    const more = matching(contrasts, { ...shown, ...k });
    expect(more.map(({ method, against, value }) => [method, against, value])).toEqual([
      ['parallelsearch', 'parallelsearch', 1],
      ['search-r1', 'search-r1', 1],
    ]);
    const same = matching(contrasts, { ...shown, ...sides });
    expect(same.map(({ k, against_k, value }) => [k, against_k, value])).toEqual(
      [1, 3, 5, 10].map((k) => [k, k, 0]),
    );
    const curve = matching(rows, { ...shown, method: 'parallelsearch' });
    expect(curve.map(({ k, value }) => [k, value])).toEqual([
      [1, 0],
      [3, 1],
      [5, 1],
      [10, 1],
    ]);
  });

  it('count model calls, and answers with evidence missing and turns left', () => {
    const before = { ...everything, test: 'habit', step: 0 };
    const calls = matching(rows, { ...before, metric: 'model_calls' });
    expect(calls.map(({ value }) => value)).toEqual([2, 2]);
    const gaveUp = { ...everything, test: 'habit', metric: 'gave_up', method: 'search-r1' };
    expect(matching(rows, gaveUp).map(({ value }) => value)).toEqual([1, 1, 0]);
  });

  it('include the means of each training', () => {
    const cell = { test: 'habit', initial_model: 'hasty-2', step: 50, metric: 'evidence_seen' };
    expect(matching(trainings, cell).map(({ method, value }) => [method, value])).toEqual([
      ['parallelsearch', 1],
      ['search-r1', 0.5],
    ]);
  });

  it('judge every prediction about training by the first applicable test', () => {
    const isAboutLimits = ({ figure }: ConditionPrediction): boolean => 'limit' in figure;
    const predicted = readPredictions().filter((one) => !isAboutLimits(one));
    expect(conditions.map(({ id }) => id).sort()).toEqual(predicted.map(({ id }) => id).sort());
    const find = (id: string) => matching(conditions, { id })[0];
    expect(find('habit-50-evidence')).toMatchObject({ test: 'habit', found: 'more', holds: true });
    expect(find('main-hybrid')).toMatchObject({ test: 'hybrids', found: 'fewer', value: -1 });
    expect(find('paired-hybrid')).toMatchObject({ test: 'paired', found: 'same', value: 0 });
    expect(find('reward-100-many')).toMatchObject({ test: 'which-reward', found: 'fewer' });
  });

  it('are in a finding that only states judged results', () => {
    expect(describeTrainings([])).toBe('');
    expect(describeTrainings(conditions)).toMatch(
      /^On hybrid questions .* 100 points worse with none of them .* makes Search-R1 100 points worse/,
    );
  });

  it('need every run', async () => {
    const untrained = { method: 'otc', model: 'paired', initSeed: 3, seed: 1 } as const;
    const group = { training: 'x', step: 0, stages: [{ run: untrained, step: 0 }] };
    const test = { ...HABIT, groups: () => [group] };
    await expect(loadTrainingTest(test, folder)).rejects.toThrow(
      'otc-seed1-step0 is not. Run "npx parallelsearch experiment habit"',
    );
  });
});
