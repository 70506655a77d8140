/** How far runs of one method differ, and what that means for single runs. */
import { deviation, extent, flatRollup, group, mean, rank, rollup, sort, sum } from 'd3-array';
import { quantileNormal } from 'vega-statistics';
import type { Interval } from '../../evaluation/estimate.js';
import { mainMeasure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { holm, LEVEL, pValue } from '../../evaluation/significance.js';
import { type MethodPair, type SummaryOptions, type TidyRow } from '../../evaluation/table.js';
import { summarise } from '../results/summary.js';

/** Adds the better side, and p with Holm's correction over all differences. */
export function decideSides<Row extends Interval>(differences: readonly Row[]) {
  const ps = holm(differences.map((estimate) => pValue({ estimate })));
  return differences.map((row, i) => {
    const isUndecided = ps[i] > LEVEL || (row.low <= 0 && row.high >= 0);
    const side = isUndecided ? 'undecided' : row.low > 0 ? 'ahead' : 'behind';
    return { ...row, p: ps[i], side } as const;
  });
}

/**
 * The mean rank of each method over benchmarks and models, 1 for the highest figure; ties
 * share the mean of their ranks.
 */
export function meanRanks(
  rows: readonly Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'value'>[],
) {
  const cells = group(rows, ({ benchmark, model }) => `${benchmark} ${model}`);
  const ranked = [...cells.values()].flatMap((cell) => {
    // d3 gives ties the lowest of their ranks, from 0.
    const places = rank(cell, (row: { value: number }) => -row.value);
    return cell.map(({ method }, i) => {
      const numTied = places.filter((place) => place === places[i]).length;
      return { method, place: places[i] + 1 + (numTied - 1) / 2 };
    });
  });
  const means = [...group(ranked, ({ method }) => method)].map(([method, places]) => {
    return { method, mean_rank: mean(places, ({ place }) => place)!, cells: places.length };
  });
  return sort(means, ({ mean_rank }) => mean_rank);
}

/** Exact match, averaged over benchmarks, of runs of a method and kind of model. */
export interface Spread {
  method: string;
  model: string;
  trainings: number;
  lowest: number;
  highest: number;
  deviation: number;
}

export interface Trainings {
  method: string;
  model: string;
  initial_models: number;
  trainings: number;
}

const groupTrainings = (answers: readonly QuestionResult[]) =>
  flatRollup(
    answers,
    (ofMethod) => [...group(ofMethod, ({ initSeed, seed }) => `${initSeed}/${seed}`).values()],
    ({ method }) => method,
    ({ model }) => model,
  );

export const countTrainings = (answers: readonly QuestionResult[]): Trainings[] =>
  groupTrainings(answers).map(([method, model, trainings]) => {
    const initSeeds = new Set(trainings.map(([{ initSeed }]) => initSeed));
    return { method, model, initial_models: initSeeds.size, trainings: trainings.length };
  });

/**
 * A/A test: runs of one method from one initial model, which only differ in the
 * seed. Intervals resample questions, as for any two single runs.
 */
export function compareSeeds(answers: readonly QuestionResult[]) {
  const trainings = [
    ...group(
      answers,
      ({ method, model, initSeed }) => `${method}, ${model}-${initSeed}`,
      ({ seed }) => seed,
    ),
  ].filter(([, seeds]) => seeds.size > 1);
  const seedName = (name: string, seed: number): string => `${name}, seed ${seed}`;
  const named = trainings.flatMap(([name, seeds]) =>
    [...seeds].flatMap(([seed, own]) =>
      own.map((answer) => ({ ...answer, method: seedName(name, seed), initSeed: 1, seed: 1 })),
    ),
  );
  if (named.length === 0) return [];
  const pairs = trainings.flatMap(([name, seeds]) => {
    const [first, ...others] = sort(seeds.keys());
    return others.map((seed): MethodPair => [seedName(name, first), seedName(name, seed)]);
  });
  const { contrasts } = summarise(
    { answers: named, provenance: {} },
    { measures: [mainMeasure('em')], pairs, filter: isInTable },
  );
  return contrasts.map(({ method, against, benchmark, metric, kind, value, low, high }) => {
    const [trained, initial_model, seed] = method.split(', ');
    const pair = { method: trained, initial_model, seed, against_seed: against.split(', ')[2] };
    return { ...pair, benchmark, metric, kind, value, low, high, excludes_0: low > 0 || high < 0 };
  });
}

const averageEm = (answers: readonly QuestionResult[]): number => {
  const byBenchmark = rollup(
    answers,
    (own) => mean(own, ({ em }) => em)!,
    ({ benchmark }) => benchmark,
  );
  return mean(byBenchmark.values())!;
};

/** The spread between a method's runs; methods trained once are left out. */
export function trainingSpread(answers: readonly QuestionResult[]): Spread[] {
  const averaged = answers.filter(({ benchmark }) => benchmark in BENCHMARK_TITLES);
  return groupTrainings(averaged)
    .filter(([, , trainings]) => trainings.length > 1)
    .map(([method, model, trainings]) => {
      const ems = trainings.map(averageEm);
      const [lowest, highest] = extent(ems) as [number, number];
      return { method, model, trainings: ems.length, lowest, highest, deviation: deviation(ems)! };
    });
}

/** 95 % of pairs of a method's runs differ by less (normal, pooled variance). */
export function trainingNoise(spread: readonly Spread[]): number {
  const variance =
    sum(spread, ({ deviation, trainings }) => (trainings - 1) * deviation ** 2) /
    sum(spread, ({ trainings }) => trainings - 1);
  return quantileNormal(0.975) * Math.sqrt(2 * variance);
}

export const isInTable: NonNullable<SummaryOptions['filter']> = ({ benchmark, subset }) =>
  subset === 'all' && (benchmark in BENCHMARK_TITLES || benchmark === 'average');
