import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import {
  lambdaRuns,
  lambdaSettings,
  learningRows,
  lambdaAblation,
  onLines,
  parseLambdas,
  rewardsTitle,
} from '../../lib/experiments/lambda-ablation.js';
import { mainRuns } from '../../lib/experiments/main-results.js';
import { lambdaName } from '../../lib/experiments/results/paper.js';
import type { CurvePoint } from '../../lib/report/training-rows.js';
import { tradeOffChart } from '../../lib/report/charts/trade-off.js';
import { toRows, type Row } from '../../lib/report/frame.js';
import { trainConfigForRun, runName } from '../../lib/experiments/running/policy-runs.js';
import { temporaryFolder } from '../folder.js';
import { writeSyntheticLambdaAblation } from './synthetic-lambda-ablation.js';
import { withResamples } from './resamples.js';

describe('lambda settings', () => {
  it('are those of Table 4 and a control, with parsable names', () => {
    for (const setting of lambdaSettings())
      expect(parseLambdas(lambdaName(setting))).toEqual(setting);
    expect(() => parseLambdas('parallelsearch')).toThrow(/parallelsearch/);
    const kinds = lambdaSettings().map((setting) => {
      return [`${setting.lambdaD} ${setting.lambdaS}`, rewardsTitle(setting)];
    });
    expect(Object.fromEntries(kinds)).toEqual({
      '0 0': 'neither',
      '0 0.35': 'one',
      '0.15 0': 'one',
      '0.15 0.35': 'paper',
      '0.35 0.35': 'both',
      '0.5 0.35': 'both',
      '0.15 0.15': 'both',
      '0.15 0.5': 'both',
    });
  });

  it('lie on two lines that cross at the paper’s setting', () => {
    const rows = lambdaSettings().map((setting) => ({ method: lambdaName(setting) }));
    const weights = onLines(rows).map(({ line, weight }) => `${line.slice(0, 8)} ${weight}`);
    expect(weights.toSorted()).toEqual(
      ['lambda_d', 'lambda_s'].flatMap((line) =>
        ['0', '0.15', '0.35', '0.5'].map((weight) => `${line} ${weight}`),
      ),
    );
  });

  it('are trained from three models with their own weights; the paper’s shares the main runs', () => {
    const names = lambdaRuns().map(runName);
    expect(new Set(names).size).toBe(8 * 3);
    const main = new Set(mainRuns().map(runName));
    expect(names.filter((name) => main.has(name))).toHaveLength(3);
    const run = lambdaRuns().find(({ lambdas }) => lambdas?.lambdaD === 0.5)!;
    const weights = { preset: 'paper', lambdaD: 0.5, lambdaS: 0.35 };
    expect(trainConfigForRun(run).rewards).toMatchObject(weights);
  });
});

describe('learningRows', () => {
  /** A seed's curve; a step without parallelizable questions has no share. */
  const curve = (method: string, seed: number, shares: readonly (number | null)[]): CurvePoint[] =>
    shares.map((share, step) => ({
      method,
      model: 'instruct',
      seed,
      step,
      'decomposition_ratio/parallelizable': share,
      turns: 1 + seed,
      'rewards/outcome': step / 10,
    }));
  const rows = learningRows([
    // Means of three: 0.5, 0.8, 0.9 after the fifth step.
    ...curve('quick', 1, [0, 0.5, 1, 0.9, 0.8, 1]),
    // The fourth step has no share: the third mean is reached after five that have one.
    ...curve('quick', 2, [0.1, 0.9, 0.9, null, 0.9, 0.2]).toReversed(),
    ...curve('never', 1, [0, 0, 1, 0, 0, 1]),
  ]);

  it('counts the steps until nine in ten are decomposed, or all steps', () => {
    expect(matching(rows, { metric: 'steps_to_decompose' })).toMatchObject([
      { method: 'quick', value: 4.5, low: 4, high: 5, seeds: 2 },
      { method: 'never', value: 6, low: 6, high: 6, seeds: 1 },
    ]);
  });

  it('averages the last steps, and turns and outcome over all steps', () => {
    const [quick, never] = matching(rows, { metric: 'decomposed_at_end' });
    expect(quick.value).toBeCloseTo((4.2 / 6 + 3 / 5) / 2);
    expect(never.value).toBeCloseTo(2 / 6);
    const [turns] = matching(rows, { metric: 'turns_over_training' });
    expect(turns).toMatchObject({ value: 2.5, low: 2, high: 3 });
    expect(matching(rows, { metric: 'outcome_over_training' })[0].value).toBe(0.25);
  });
});

describe('figures', () => {
  const onParallel = { benchmark: 'all', subset: 'parallelizable' };
  let rows: Row[];
  let contrasts: Row[];
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticLambdaAblation(folder);
    const results = await withResamples(5, () => lambdaAblation.result!(folder));
    [rows, contrasts] = [toRows(results.rows), toRows(results.contrasts)];
  });

  it('name the setting and include the figures of Table 4', () => {
    const cell = { rewards: 'paper', benchmark: '2wikimultihopqa', subset: 'parallelizable' };
    const figures = matching(rows, { ...cell, setting: '(0.15, 0.35)', lambda_d: 0.15 });
    expect(Object.fromEntries(figures.map(({ metric, paper }) => [metric, paper]))).toEqual({
      em: 0.65,
      decomposition_ratio: 0.9975,
      model_calls: 2.03,
      coverage: null,
      turns: null,
    });
    expect(tradeOffChart(matching(rows, onParallel)).alt).toMatch(/with 4\.00 calls/);
  });

  it('compare the paper’s setting with all others, twins, and each reward with none', () => {
    const calls = { ...onParallel, kind: 'difference', metric: 'model_calls' };
    expect(matching(contrasts, { ...calls, setting: '(0.15, 0.35)' })).toHaveLength(7);
    const [twin] = matching(contrasts, { ...calls, setting: '(0.5, 0.35)' });
    expect(twin.against_setting).toBe('(0.15, 0.5)');
    // In the made-up answers any lambda_s saves two calls.
    const alone = matching(contrasts, { ...calls, against_setting: '(0, 0)' });
    expect(Object.fromEntries(alone.map(({ setting, value }) => [setting, value]))).toEqual({
      '(0.15, 0.35)': -2,
      '(0, 0.35)': -2,
      '(0.15, 0)': 0,
    });
  });
});
