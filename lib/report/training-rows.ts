/** Training curves as rows of a tidy table. */
import type { CurvePoint } from '../evaluation/load.js';
import type { Interval } from '../evaluation/bootstrap.js';
import { aggregateCurves } from './curves.js';

/** A point of a training curve; `low` and `high` are the lowest and the highest seed, not a 95 % interval. */
export interface TrainingRow extends Interval {
  method: string;
  model: string;
  benchmark: 'training';
  /** The kind of question that the metric is about. */
  subset: string;
  metric: string;
  /** The middle of the window of steps that was averaged. */
  step: number;
  seeds: number;
  band: 'range of seeds';
}

const SUBSETS = ['parallelizable', 'sequential'];

/** A row for each window of steps. A metric such as `coverage/parallelizable` becomes a metric and its subset. */
export function trainingRows(curves: readonly CurvePoint[], metrics: readonly string[]): TrainingRow[] {
  return metrics.flatMap((name) => {
    const [stem, suffix] = name.split('/');
    const isSubset = SUBSETS.includes(suffix);
    return aggregateCurves(curves, name).map(({ method, model, step, mean, low, high }): TrainingRow => {
      const own = curves.filter((point) => point.method === method && point.model === model);
      return {
        ...{ method, model, benchmark: 'training', subset: isSubset ? suffix : 'all' },
        ...{ metric: isSubset ? stem : name, step, value: mean, low, high },
        ...{ seeds: new Set(own.map(({ seed }) => seed)).size, band: 'range of seeds' },
      };
    });
  });
}
