/** Training curves as rows of a data frame: smoothed, with a band over seeds. */
import { flatGroup, mean, rollup } from 'd3-array';
import type { Interval } from '../evaluation/estimate.js';

/** The metrics of one training step by name: `reward`, `rewards/outcome`, `turns`, ... */
export interface CurvePoint {
  method: string;
  model: string;
  /** Seed of the initial model. */
  initSeed?: number;
  seed: number;
  step: number;
  [metric: string]: string | number | null | undefined;
}

/** A window of steps; `low` and `high` are the extremes of seeds, not an interval. */
export interface TrainingRow extends Interval {
  method: string;
  model: string;
  benchmark: 'training' | 'dev';
  /** The question type of the metric. */
  subset: string;
  metric: string;
  /** The middle of the window. */
  step: number;
  seeds: number;
  band: 'range of seeds';
}

const SUBSETS = ['parallelizable', 'sequential'];

/**
 * Averages each seed's curve over at most `maxPoints` windows of equal size, then takes
 * mean and range over seeds. Missing and null values are skipped. A metric such as
 * `coverage/parallelizable` is split into metric and subset.
 */
export function trainingRows(
  curves: readonly CurvePoint[],
  metrics: readonly string[],
  maxPoints = 60,
): TrainingRow[] {
  const sorted = curves.toSorted((a, b) => runKey(a).localeCompare(runKey(b)) || a.step - b.step);
  const numSeeds = rollup(sorted, (points) => new Set(points.map(seedKey)).size, runKey);
  return metrics.flatMap((name) => {
    const points = sorted.filter((point) => typeof point[name] === 'number');
    const lastStep = points.reduce((last, { step }) => Math.max(last, step), 0);
    const width = Math.max(1, Math.ceil((lastStep + 1) / maxPoints));
    const [metric, suffix] = name.split('/');
    const isSubset = SUBSETS.includes(suffix);
    const windows = flatGroup(points, runKey, ({ step }) => Math.floor(step / width));
    return windows.map(([run, window, inWindow]): TrainingRow => {
      const { method, model } = inWindow[0];
      const seedMean = (seed: CurvePoint[]): number =>
        mean(seed, (point) => point[name] as number)!;
      const means = [...rollup(inWindow, seedMean, seedKey).values()];
      return {
        method,
        model,
        benchmark: 'training',
        subset: isSubset ? suffix : 'all',
        metric: isSubset ? metric : name,
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

const seedKey = ({ initSeed = 1, seed }: CurvePoint): string => `${initSeed}/${seed}`;
const runKey = ({ method, model }: CurvePoint): string => `${method}/${model}`;
