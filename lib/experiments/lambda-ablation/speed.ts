/** How soon each setting of the rewards' weights learns to decompose, and what its training costs until then. */
import { lambdaMethod, lambdaTitle } from './settings.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import type { CurvePoint } from '../../evaluation/load.js';
import { tableOf, type Table } from '../../report/frame.js';
import type { LambdaAblation } from './figures.js';
import { intervalText } from '../../report/select.js';
import type { TrainingRow } from '../../report/training-rows.js';

/** Share of the parallelizable training questions that is decomposed once a policy has learned to. */
const LEARNED = 0.9;
/** Steps that are averaged: one step has few parallelizable questions. */
const WINDOW = 3;
const DECOMPOSED = 'decomposition_ratio/parallelizable';

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Values of a metric in the order of steps; steps without one are left out. */
function valuesOf(curve: readonly CurvePoint[], metric: string): number[] {
  const points = curve.filter((point) => typeof point[metric] === 'number');
  return points.toSorted((a, b) => a.step - b.step).map((point) => point[metric] as number);
}

/** The number of steps after which {@link LEARNED} are decomposed, mean of a window; all steps where that never happens. */
function stepsToLearn(curve: readonly CurvePoint[]): number {
  const shares = valuesOf(curve, DECOMPOSED);
  const first = shares.findIndex(
    (_, i) => i + 1 >= WINDOW && mean(shares.slice(i + 1 - WINDOW, i + 1)) >= LEARNED,
  );
  return first < 0 ? shares.length : first + 1;
}

/** What is measured of a seed's training; each in one number. */
const MEASURES = [
  {
    metric: 'steps_to_decompose',
    title: `Steps until ${LEARNED} are decomposed`,
    subset: 'parallelizable',
    decimals: 1,
    of: stepsToLearn,
  },
  {
    metric: 'turns_over_training',
    title: 'Search turns, all of training',
    subset: 'all',
    decimals: 3,
    of: (curve: readonly CurvePoint[]) => mean(valuesOf(curve, 'turns')),
  },
  {
    metric: 'outcome_over_training',
    title: 'Outcome reward, all of training',
    subset: 'all',
    decimals: 3,
    of: (curve: readonly CurvePoint[]) => mean(valuesOf(curve, 'rewards/outcome')),
  },
] as const;
type Measure = (typeof MEASURES)[number];

/** Mean over the seeds, with the lowest and the highest. */
function overSeeds(curves: readonly CurvePoint[], { of }: Measure): Interval & { seeds: number } {
  const seeds = [...new Set(curves.map(({ seed }) => seed))];
  const values = seeds.map((seed) => of(curves.filter((point) => point.seed === seed)));
  return {
    ...{ value: mean(values), low: Math.min(...values), high: Math.max(...values) },
    seeds: seeds.length,
  };
}

type Training = Pick<LambdaAblation, 'curves' | 'settings'>;

/** A row for each setting and measure. */
export function lambdaSpeedRows({ curves, settings }: Training): Omit<TrainingRow, 'step'>[] {
  return settings.flatMap((setting) => {
    const own = curves.filter(({ method }) => method === lambdaMethod(setting));
    if (own.length === 0) return [];
    return MEASURES.map((measure) => ({
      ...{ method: lambdaMethod(setting), model: own[0].model, benchmark: 'training' as const },
      ...{ subset: measure.subset, metric: measure.metric, ...overSeeds(own, measure) },
      band: 'range of seeds' as const,
    }));
  });
}

/** How many steps each setting takes to decompose, and the turns and right answers of its training. */
export function lambdaSpeedTable(training: Training): Table {
  const rows = lambdaSpeedRows(training);
  const records = training.settings.map((setting) => {
    const own = rows.filter(({ method }) => method === lambdaMethod(setting));
    const cells = MEASURES.map(({ metric, title, decimals }) => [
      `${title} [seeds]`,
      intervalText(
        own.find((row) => row.metric === metric),
        decimals,
      ),
    ]);
    return {
      '(lambda_d, lambda_s)': lambdaTitle(setting),
      ...(Object.fromEntries(cells) as Record<string, string>),
    };
  });
  return tableOf('Small world. The course of training: mean of the seeds [lowest, highest seed].', records);
}
