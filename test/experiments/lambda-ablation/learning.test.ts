import { describe, expect, it } from 'vitest';
import { learningRows } from '../../../lib/experiments/lambda-ablation.js';
import type { CurvePoint } from '../../../lib/report/curves.js';

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

describe('learningRows', () => {
  const rows = learningRows([
    // Means of three: .5, .8, .9 after the fifth step.
    ...curve('quick', 1, [0, 0.5, 1, 0.9, 0.8, 1]),
    // The fourth step has no share: the third mean is reached after five that have one.
    ...curve('quick', 2, [0.1, 0.9, 0.9, null, 0.9, 0.2]).toReversed(),
    ...curve('never', 1, [0, 0, 1, 0, 0, 1]),
  ]);
  const of = (metric: string) => rows.filter((row) => row.metric === metric);

  it('counts the steps until nine in ten are decomposed, and all where they never are', () => {
    expect(of('steps_to_decompose')).toMatchObject([
      { method: 'quick', subset: 'parallelizable', value: 4.5, low: 4, high: 5, seeds: 2 },
      { method: 'never', value: 6, low: 6, high: 6, seeds: 1 },
    ]);
  });

  it('says what is decomposed in the end', () => {
    // Fewer than twenty steps: all of them, those without a share left out.
    expect(of('decomposed_at_end').map(({ value }) => value)).toEqual([
      expect.closeTo((4.2 / 6 + 3 / 5) / 2) as number,
      expect.closeTo(2 / 6) as number,
    ]);
  });

  it('averages turns and outcome over all steps, with the range of the seeds', () => {
    expect(of('turns_over_training')).toMatchObject([
      { value: 2.5, low: 2, high: 3, band: 'range of seeds' },
      { value: 2 },
    ]);
    expect(of('outcome_over_training').map(({ value }) => value)).toEqual([0.25, 0.25]);
  });
});
