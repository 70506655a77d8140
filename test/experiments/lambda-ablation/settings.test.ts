import { describe, expect, it } from 'vitest';
import {
  lambdaGrid,
  lambdaMethod,
  lambdaRuns,
  lambdaSettings,
  lambdasOf,
  lambdasOfMethod,
  lambdaTitle,
  onLines,
  PAPER,
  rewardsOf,
} from '../../../lib/experiments/lambda-ablation.js';
import { mainRuns } from '../../../lib/experiments/main-results.js';
import { configOf, runName } from '../../../lib/methods/checkpoints.js';

describe('the settings of Table 4', () => {
  it('are seven, each once, with lambda_d and lambda_s in 0, 0.15, 0.35, 0.5', () => {
    const grid = lambdaGrid();
    expect(grid).toHaveLength(7);
    expect(new Set(grid.map(lambdaMethod)).size).toBe(7);
    for (const value of [0, 0.15, 0.35, 0.5]) {
      expect(grid).toContainEqual({ lambdaD: value, lambdaS: 0.35 });
      expect(grid).toContainEqual({ lambdaD: 0.15, lambdaS: value });
    }
  });

  it('have names that can be read back', () => {
    for (const setting of lambdaSettings())
      expect(lambdasOfMethod(lambdaMethod(setting))).toEqual(setting);
    expect(lambdaMethod(PAPER)).toBe('lambda_d=0.15,lambda_s=0.35');
    expect(() => lambdasOfMethod('parallelsearch')).toThrow('but got "parallelsearch"');
  });

  it('are told apart by which of the two rewards they have', () => {
    const kinds = lambdaSettings().map((setting) => [lambdaTitle(setting), rewardsOf(setting)]);
    expect(Object.fromEntries(kinds)).toEqual({
      '(0, 0)': 'neither',
      '(0, 0.35)': 'one',
      '(0.15, 0)': 'one',
      '(0.15, 0.35)': 'paper',
      '(0.35, 0.35)': 'both',
      '(0.5, 0.35)': 'both',
      '(0.15, 0.15)': 'both',
      '(0.15, 0.5)': 'both',
    });
  });

  it('lie on two lines that cross at the paper’s', () => {
    const rows = lambdaSettings().map(({ lambdaD, lambdaS }) => ({
      lambda_d: lambdaD,
      lambda_s: lambdaS,
    }));
    const places = onLines(rows).map(({ line, weight }) => `${line}: ${weight}`);
    expect(places.toSorted()).toEqual([
      ...['0', '0.15', '0.35', '0.5'].map(
        (weight) => `lambda_d varied, lambda_s = 0.35: ${weight}`,
      ),
      ...['0', '0.15', '0.35', '0.5'].map(
        (weight) => `lambda_s varied, lambda_d = 0.15: ${weight}`,
      ),
    ]);
  });
});

describe('the runs', () => {
  const names = lambdaRuns().map(runName);

  it('are eight settings from three models; the paper’s own is that of the main comparison', () => {
    expect(new Set(names).size).toBe(8 * 3);
    const main = new Set(mainRuns().map(runName));
    expect(names.filter((name) => main.has(name))).toEqual(
      [1, 2, 3].map((warmUp) => `instruct-${warmUp}-parallelsearch-seed1`),
    );
    expect(names).toContain('instruct-2-parallelsearch-d0-s0.35-seed1');
    expect(names).toContain('instruct-2-parallelsearch-d0-s0-seed1');
    expect(lambdasOf({ method: 'parallelsearch', model: 'instruct', warmUp: 1, seed: 1 })).toEqual(
      PAPER,
    );
  });

  it('are trained with their own weights of the rewards', () => {
    const [run] = lambdaRuns().filter(({ lambdas }) => lambdas?.lambdaD === 0.5);
    expect(configOf(run).rewards).toMatchObject({ preset: 'paper', lambdaD: 0.5, lambdaS: 0.35 });
  });
});
