/** Computes bands over the recorded runs, for the pages of other runs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { flatGroup, quantile, range } from 'd3-array';
import {
  incomparableSettings,
  initialModelKind,
  valuesNear,
  type BandPoint,
  type Reference,
} from '../../lib/pages/runs/reference.js';
import { readDescription, readSteps, type StepMetrics } from '../../lib/training/run-folder.js';

/** Metrics with a band. */
const METRICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'completions/mean_length',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
  'kl',
  'entropy',
  'grad_norm',
];

/** Steps between two points. */
const EVERY = 5;
/** Minimum number of runs for a band. */
const MIN_RUNS = 3;

const rounded = (value: number): number => Number(value.toPrecision(4));

/** The bands of runs of the same length; empty without enough runs. */
export function referenceBands(runs: readonly (readonly StepMetrics[])[]): Reference['bands'] {
  if (runs.length < MIN_RUNS) return {};
  const lastStep = Math.min(...runs.map((steps) => steps.length)) - 1;
  const points = [...range(0, lastStep, EVERY), lastStep];
  return Object.fromEntries(
    METRICS.map((metric) => [
      metric,
      points.flatMap((step): BandPoint[] => {
        const values = runs.flatMap((steps) => valuesNear(steps, metric, step));
        if (values.length === 0) return [];
        const [low, median, high] = [0.1, 0.5, 0.9].map((p) => rounded(quantile(values, p)!));
        return [[step, low, median, high]];
      }),
    ]),
  );
}

/** The references of all methods and initial models with enough recorded runs. */
export async function makeReferences(checkpoints: string): Promise<Reference[]> {
  const folders = (await readdir(checkpoints)).sort().map((name) => join(checkpoints, name));
  const runs = await Promise.all(
    folders.map(async (folder) => {
      const run = await readDescription(folder);
      const steps = await readSteps(folder);
      const isUsual = run && incomparableSettings(run.config)?.length === 0 && steps.length > 0;
      const initialModel = run && initialModelKind(run.config.model);
      return isUsual && initialModel ? [{ method: run.config.method, initialModel, steps }] : [];
    }),
  );
  return flatGroup(
    runs.flat(),
    ({ method }) => method,
    ({ initialModel }) => initialModel,
  ).flatMap(([method, initialModel, members]) => {
    const bands = referenceBands(members.map(({ steps }) => steps));
    if (Object.keys(bands).length === 0) return [];
    return [{ method, initialModel, numRuns: members.length, bands }];
  });
}
