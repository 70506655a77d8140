/** Training curves as a chart needs them: fewer points, and a band over the seeds. */
import type { CurvePoint } from '../evaluation/load.js';

/** The seeds of one method at one place of training. */
export interface CurveBand {
  method: string;
  model: string;
  /** The middle of the window that was averaged. */
  step: number;
  mean: number;
  /** Lowest and highest seed. */
  low: number;
  high: number;
}

/**
 * Averages each seed's curve over windows of equal numbers of steps, at most `maxPoints` of them, then takes the mean
 * and the range over seeds. Points where a metric is missing or null are left out.
 */
export function aggregateCurves(curves: readonly CurvePoint[], metric: string, maxPoints = 60): CurveBand[] {
  const points = curves.filter((point) => typeof point[metric] === 'number');
  const lastStep = points.reduce((last, { step }) => Math.max(last, step), 0);
  const width = Math.max(1, Math.ceil((lastStep + 1) / maxPoints));
  const windows = new Map<string, Map<number, number[]>>();
  for (const point of points) {
    const key = JSON.stringify([point.method, point.model, Math.floor(point.step / width)]);
    if (!windows.has(key)) windows.set(key, new Map());
    const seeds = windows.get(key)!;
    seeds.set(point.seed, [...(seeds.get(point.seed) ?? []), point[metric] as number]);
  }
  const bands = [...windows].map(([key, seeds]): CurveBand => {
    const [method, model, window] = JSON.parse(key) as [string, string, number];
    const means = [...seeds.values()].map(mean);
    const step = Math.min(window * width + (width - 1) / 2, lastStep);
    return { method, model, step, mean: mean(means), low: Math.min(...means), high: Math.max(...means) };
  });
  const nameOf = (band: CurveBand): string => `${band.method}/${band.model}`;
  return bands.sort((a, b) => nameOf(a).localeCompare(nameOf(b)) || a.step - b.step);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
}
