/** Training curves: fewer points, with a band over the seeds, as rows of a tidy table. */
import { flatGroup, mean, rollup } from 'd3-array';
import type { Interval } from '../evaluation/bootstrap.js';

/**
 * Every number that training wrote at one step, under its own name (`reward`,
 * `rewards/outcome`, `turns`, ...).
 */
export interface CurvePoint {
  method: string;
  model: string;
  /** Seed of the initial model. */
  warmUp?: number;
  seed: number;
  step: number;
  [metric: string]: string | number | null | undefined;
}

/**
 * A window of a training curve; `low` and `high` are the lowest and the highest run, not
 * a 95 % interval.
 */
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

/**
 * A row for each metric, run and window of steps: each seed's curve is averaged over
 * windows of equal numbers of steps, at most `maxPoints` of them, then come the mean and
 * the range over seeds. Points where a metric is missing or null are left out. A metric
 * such as `coverage/parallelizable` becomes a metric and its subset.
 */
export function trainingRows(
  curves: readonly CurvePoint[],
  metrics: readonly string[],
  maxPoints = 60,
): TrainingRow[] {
  const order = curves.toSorted((a, b) => runOf(a).localeCompare(runOf(b)) || a.step - b.step);
  const numSeeds = rollup(order, (own) => new Set(own.map(seedOf)).size, runOf);
  return metrics.flatMap((name) => {
    const points = order.filter((point) => typeof point[name] === 'number');
    const lastStep = points.reduce((last, { step }) => Math.max(last, step), 0);
    const width = Math.max(1, Math.ceil((lastStep + 1) / maxPoints));
    const [stem, suffix] = name.split('/');
    const isSubset = SUBSETS.includes(suffix);
    const windows = flatGroup(points, runOf, ({ step }) => Math.floor(step / width));
    return windows.map(([run, window, own]): TrainingRow => {
      const { method, model } = own[0];
      const seedMean = (seed: CurvePoint[]): number =>
        mean(seed, (point) => point[name] as number)!;
      const means = [...rollup(own, seedMean, seedOf).values()];
      return {
        method,
        model,
        benchmark: 'training',
        subset: isSubset ? suffix : 'all',
        metric: isSubset ? stem : name,
        step: Math.min(window * width + (width - 1) / 2, lastStep),
        value: mean(means)!,
        low: Math.min(...means),
        high: Math.max(...means),
        seeds: numSeeds.get(run)!,
        band: 'range of seeds',
      };
    });
  });
}

const seedOf = ({ warmUp = 1, seed }: CurvePoint): string => `${warmUp}/${seed}`;
const runOf = ({ method, model }: CurvePoint): string => `${method}/${model}`;
