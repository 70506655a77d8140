import { describe, expect, it } from 'vitest';
import type { Lambdas } from '../../../lib/methods/config.js';
import { lambdaMethod } from '../../../lib/experiments/lambda-ablation/settings.js';
import type { CurvePoint } from '../../../lib/evaluation/load.js';
import { cellsOf } from '../../../lib/report/frame.js';
import { lambdaSpeedRows, lambdaSpeedTable } from '../../../lib/experiments/lambda-ablation/speed.js';

const QUICK: Lambdas = { lambdaD: 0.15, lambdaS: 0.35 };
const NEVER: Lambdas = { lambdaD: 0, lambdaS: 0 };

/** A seed's curve; a step without parallelizable questions has no share. */
const curve = (setting: Lambdas, seed: number, shares: readonly (number | null)[]): CurvePoint[] =>
  shares.map((share, step) => ({
    ...{ method: lambdaMethod(setting), model: 'instruct', seed, step },
    ...{ 'decomposition_ratio/parallelizable': share, turns: 1 + seed, 'rewards/outcome': step / 10 },
  }));

const curves = [
  // Means of three: .5, .8, .9 after the fifth step.
  ...curve(QUICK, 1, [0, 0.5, 1, 0.9, 0.8, 1]),
  // The fourth step has no share: the third mean is reached after five that have one.
  ...curve(QUICK, 2, [0.1, 0.9, 0.9, null, 0.9, 0.2]).toReversed(),
  ...curve(NEVER, 1, [0, 0, 1, 0, 0, 1]),
];

describe('the course of training by the weights of the rewards', () => {
  it('counts the steps until nine in ten are decomposed, and all where they never are', () => {
    const steps = lambdaSpeedRows({ curves, settings: [QUICK, NEVER] }).filter(
      ({ metric }) => metric === 'steps_to_decompose',
    );
    expect(steps).toMatchObject([
      { method: lambdaMethod(QUICK), subset: 'parallelizable', value: 4.5, low: 4, high: 5, seeds: 2 },
      { method: lambdaMethod(NEVER), value: 6, low: 6, high: 6, seeds: 1 },
    ]);
  });

  it('averages turns and outcome over all steps', () => {
    const { columns, rows } = cellsOf(lambdaSpeedTable({ curves, settings: [QUICK, NEVER] }));
    expect(columns[0]).toBe('(lambda_d, lambda_s)');
    expect(rows).toEqual([
      ['(0.15, 0.35)', '4.5 [4.0, 5.0]', '2.500 [2.000, 3.000]', '0.250 [0.250, 0.250]'],
      ['(0, 0)', '6.0 [6.0, 6.0]', '2.000 [2.000, 2.000]', '0.250 [0.250, 0.250]'],
    ]);
  });

  it('leaves out a setting without curves', () => {
    expect(lambdaSpeedRows({ curves: curves.slice(0, 6), settings: [QUICK, NEVER] })).toHaveLength(3);
    expect(cellsOf(lambdaSpeedTable({ curves: [], settings: [QUICK] })).rows[0].slice(1)).toEqual([
      '–',
      '–',
      '–',
    ]);
  });
});
