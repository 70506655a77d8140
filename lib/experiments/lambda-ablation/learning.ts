/** How soon each setting of the rewards' weights learns to decompose, and what its training costs until then. */
import { group, max, mean, min } from 'd3-array';
import type { CurvePoint, TrainingRow } from '../../report/curves.js';

/** Share of the parallelizable training questions that is decomposed once a policy has learned to. */
const LEARNED = 0.9;
/** Steps that are averaged: one step has few parallelizable questions. */
const WINDOW = 3;

/** Values of a metric in the order of steps; steps without one are left out. */
function valuesOf(curve: readonly CurvePoint[], metric: string): number[] {
  const points = curve.filter((point) => typeof point[metric] === 'number');
  return points.toSorted((a, b) => a.step - b.step).map((point) => point[metric] as number);
}

/** The number of steps after which {@link LEARNED} are decomposed, mean of a window; all steps where that never happens. */
function stepsToLearn(curve: readonly CurvePoint[]): number {
  const shares = valuesOf(curve, 'decomposition_ratio/parallelizable');
  const means = shares.slice(WINDOW - 1).map((_, i) => mean(shares.slice(i, i + WINDOW))!);
  const first = means.findIndex((share) => share >= LEARNED);
  return first < 0 ? shares.length : first + WINDOW;
}

const meanOf = (metric: string) => (curve: readonly CurvePoint[]) => mean(valuesOf(curve, metric))!;

/** What is measured of a seed's training; each in one number. */
const MEASURES = [
  { metric: 'steps_to_decompose', subset: 'parallelizable', of: stepsToLearn },
  { metric: 'turns_over_training', subset: 'all', of: meanOf('turns') },
  { metric: 'outcome_over_training', subset: 'all', of: meanOf('rewards/outcome') },
];

/** A row for each setting and measure: mean over the seeds, with the lowest and the highest. */
export function learningRows(curves: readonly CurvePoint[]): Omit<TrainingRow, 'step'>[] {
  return [...group(curves, ({ method }) => method)].flatMap(([method, own]) => {
    const seeds = [...group(own, ({ seed }) => seed).values()];
    return MEASURES.map(({ metric, subset, of }) => {
      const values = seeds.map(of);
      return {
        ...{ method, model: own[0].model, benchmark: 'training' as const, subset, metric },
        ...{ value: mean(values)!, low: min(values)!, high: max(values)! },
        ...{ seeds: seeds.length, band: 'range of seeds' as const },
      };
    });
  });
}
