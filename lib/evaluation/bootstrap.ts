/**
 * Paired bootstrap intervals over questions and seeds. In each resample:
 *
 * - **Questions** are drawn with replacement within strata. A stratum is what the test
 *   set fixes by design: a benchmark and the subsets that cut through it (question type,
 *   entities, wording). All runs of all methods share the drawn questions, so contrasts
 *   are paired and question difficulty cancels.
 * - **Initial models and seeds** are drawn with replacement in two levels. The initial
 *   models are shared by all methods, which start from the same weights. Within each
 *   drawn initial model, RL runs are drawn for each method independently. Runs of two
 *   methods with the same seed share the adapter's first weights and the questions of
 *   each step; treating them as independent widens the interval, unless `weightsId` says
 *   that two methods are one set of weights under two prompts. Drawing questions and runs
 *   independently is Owen's pigeonhole bootstrap (Annals of Applied Statistics 1(2),
 *   2007), which is slightly too wide in the part that both share.
 * - **Models** are fixed: `all` models is their plain mean over the same drawn questions.
 * - The interval is the 2.5th to the 97.5th percentile of the resampled values.
 *
 * Limits: drawing 3 of 3 understates the variance between initial models, or between
 * seeds, by a third. A share that is 0 or 1 on every question gets an interval of zero
 * width.
 */
import { group, quantileSorted } from 'd3-array';
import type { Random } from '../random.js';
import type { Measure } from './metrics.js';
import { questionKey, type QuestionResult } from './result.js';
import type { QuestionKey } from './selections.js';

/** A policy evaluated on every question. */
export interface Run {
  method: string;
  model: string;
  /** Seed of the initial model. */
  initSeed: number;
  /** Seed of RL. */
  seed: number;
}

export interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /** Columns per run: each measure, and its denominator unless constant. */
  columns: string[];
  /** (questions, runs, columns), row-major. */
  values: Float64Array;
}

const runName = ({ method, model, initSeed = 1, seed }: Pick<QuestionResult, keyof Run>): string =>
  `${method}/${model}${initSeed === 1 ? '' : `/warm-up ${initSeed}`}/seed ${seed}`;

export const denominatorColumn = (metric: string): string => `${metric}, denominator`;

type Column = [name: string, value: (answer: QuestionResult) => number];

function measureColumns({ metric, numerator, denominator, includes }: Measure): Column[] {
  const ifCounted = (value: Measure['numerator']): Measure['numerator'] =>
    includes ? (answer) => (includes(answer) ? value(answer) : 0) : value;
  const column: Column = [metric, ifCounted(numerator)];
  if (!denominator && !includes) return [column];
  return [column, [denominatorColumn(metric), ifCounted(denominator ?? (() => 1))]];
}

/**
 * Arranges results by question and run.
 * @throws Error unless every run answered every question exactly once with a finite
 * number in each column: otherwise a mean would silently compare different questions
 */
export function scoreTable(
  results: readonly QuestionResult[],
  measures: readonly Measure[],
): ScoreTable {
  const questions = new Map<string, QuestionKey & { at: number }>();
  const runs = new Map<string, Run & { at: number }>();
  for (const result of results) {
    const { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo } = result;
    const { method, model, initSeed = 1, seed } = result;
    if (!questions.has(questionKey(result))) {
      const key = { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo };
      questions.set(questionKey(result), { ...key, at: questions.size });
    }
    if (!runs.has(runName(result)))
      runs.set(runName(result), { method, model, initSeed, seed, at: runs.size });
  }
  const columns = measures.flatMap(measureColumns);
  const findOffset = (question: { at: number }, run: { at: number }): number =>
    (question.at * runs.size + run.at) * columns.length;
  const values = new Float64Array(questions.size * runs.size * columns.length).fill(NaN);
  for (const result of results) {
    const run = runName(result);
    const offset = findOffset(questions.get(questionKey(result))!, runs.get(run)!);
    if (!Number.isNaN(values[offset]))
      throw new Error(
        `Expected one result per question and run, but ${run} answered ${result.questionId} twice.`,
      );
    columns.forEach(([column, read], c) => {
      const value = read(result);
      if (!Number.isFinite(value))
        throw new Error(
          `Expected ${run} to have a number for ${column} of ${result.questionId}, but got ${value}. Evaluate it again.`,
        );
      values[offset + c] = value;
    });
  }
  for (const [name, run] of runs) {
    const missing = [...questions.values()].filter((question) =>
      Number.isNaN(values[findOffset(question, run)]),
    );
    if (missing.length > 0)
      throw new Error(
        `Expected ${name} to have answered all ${questions.size} questions, but ${missing.length} are missing, ` +
          `such as ${missing[0].questionId}. Finish the evaluation or leave this run out.`,
      );
  }
  return {
    runs: [...runs.values()],
    questions: [...questions.values()],
    columns: columns.map(([name]) => name),
    values,
  };
}

/** A value and its resamples; `samples[b]` of two estimates share the drawn questions. */
export interface Estimate {
  value: number;
  samples: Float64Array;
}

export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** Runs that differ only in their seeds. */
type Group = Pick<Run, 'method' | 'model'>;

export interface Bootstrap {
  resamples: number;
  /**
   * The mean over seeds of a column's weighted mean over questions. `weights` must be
   * constant within each stratum.
   */
  estimate(group: Group, column: string, weights: Float64Array): Estimate;
}

export interface BootstrapOptions {
  random: Random;
  /** Default 1,000. */
  resamples?: number;
  /** Methods with the same name here share their drawn seeds. Default: none do. */
  weightsId?: (method: string) => string;
}

export interface Strata {
  /** The stratum of each question. */
  ids: Int32Array;
  count: number;
}

/** Questions with the same key are in the same stratum. */
export function groupStrata(keys: readonly string[]): Strata {
  const index = new Map<string, number>();
  const ids = Int32Array.from(keys, (key) => {
    if (!index.has(key)) index.set(key, index.size);
    return index.get(key)!;
  });
  return { ids, count: index.size };
}

/** Draws all resamples at once. */
export function createBootstrap(
  table: ScoreTable,
  strata: Strata,
  options: BootstrapOptions,
): Bootstrap {
  const { resamples = 1000, weightsId = (method) => method } = options;
  const sums = resampledSums(table, strata, {
    resamples,
    random: options.random.fork('questions'),
  });
  const numColumns = table.runs.length * table.columns.length;
  const seedCounts = new Map<string, Uint16Array[]>();
  const drawRuns = ({ method, model }: Group, initSeeds: readonly number[]): Uint16Array[] => {
    const name = `${weightsId(method)}/${model}`;
    const randoms = {
      initSeeds: options.random.fork(`warm-ups/${model}`),
      seeds: options.random.fork(`seeds/${name}`),
    };
    if (!seedCounts.has(name)) seedCounts.set(name, drawCounts(initSeeds, resamples, randoms));
    return seedCounts.get(name)!;
  };
  return {
    resamples,
    estimate(runGroup, name, weights) {
      const runs = findRuns(table, runGroup);
      const counts = drawRuns(
        runGroup,
        runs.map((run) => table.runs[run].initSeed),
      );
      const stratumWeights = commonWeights(weights, strata);
      const columnOffset = columnIndex(table, name);
      let value = 0;
      const samples = new Float64Array(resamples);
      runs.forEach((run, i) => {
        const column = run * table.columns.length + columnOffset;
        let mean = 0;
        weights.forEach((weight, q) => (mean += weight * table.values[q * numColumns + column]));
        value += mean / runs.length;
        stratumWeights.forEach((stratumWeight, s) => {
          const weight = stratumWeight / runs.length;
          const offset = (s * numColumns + column) * resamples;
          // A run counts as often as its seed was drawn.
          if (weight !== 0)
            for (let b = 0; b < resamples; b++)
              samples[b] += weight * counts[i][b] * sums[offset + b];
        });
      });
      return { value, samples };
    },
  };
}

function findRuns({ runs }: ScoreTable, { method, model }: Group): number[] {
  const members = [...runs.keys()].filter(
    (i) => runs[i].method === method && runs[i].model === model,
  );
  if (members.length > 0) return members;
  throw new Error(`Expected results of ${method} from ${model}, but there are none.`);
}

function columnIndex({ columns }: ScoreTable, name: string): number {
  const index = columns.indexOf(name);
  if (index < 0) throw new Error(`Expected a column of ${columns.join(', ')}, but got ${name}.`);
  return index;
}

/**
 * The weight of each stratum's questions. @throws Error if a selection splits a stratum
 */
function commonWeights(weights: Float64Array, strata: Strata): Float64Array {
  const common = new Float64Array(strata.count).fill(NaN);
  strata.ids.forEach((stratum, q) => {
    if (Number.isNaN(common[stratum])) common[stratum] = weights[q];
    else if (common[stratum] !== weights[q])
      throw new Error('Expected one weight for all questions of a stratum.');
  });
  return common;
}

/**
 * The sum of every column over the drawn questions: (strata, columns, resamples),
 * row-major. Each draw adds a row of all runs and metrics, so that they share questions.
 */
function resampledSums(
  table: ScoreTable,
  strata: Strata,
  { resamples, random }: Required<Pick<BootstrapOptions, 'resamples' | 'random'>>,
): Float32Array {
  const columns = table.runs.length * table.columns.length;
  const sums = new Float32Array(strata.count * columns * resamples);
  const row = new Float64Array(columns);
  for (let s = 0; s < strata.count; s++) {
    const members = [...strata.ids.keys()].filter((q) => strata.ids[q] === s);
    for (let b = 0; b < resamples; b++) {
      row.fill(0);
      for (let draw = 0; draw < members.length; draw++) {
        const offset = members[random.integer(members.length)] * columns;
        for (let c = 0; c < columns; c++) row[c] += table.values[offset + c];
      }
      for (let c = 0; c < columns; c++) sums[(s * columns + c) * resamples + b] = row[c];
    }
  }
  return sums;
}

/**
 * How often each run is drawn in each resample: (runs)(resamples).
 * @param initSeeds the initial model of each run
 */
function drawCounts(
  initSeeds: readonly number[],
  resamples: number,
  randoms: { initSeeds: Random; seeds: Random },
): Uint16Array[] {
  const counts = initSeeds.map(() => new Uint16Array(resamples));
  const groups = [...group(initSeeds.keys(), (run) => initSeeds[run]).values()];
  for (let b = 0; b < resamples; b++)
    for (let draw = 0; draw < groups.length; draw++) {
      const runs = randoms.initSeeds.choice(groups);
      for (let seed = 0; seed < runs.length; seed++) counts[randoms.seeds.choice(runs)][b]++;
    }
  return counts;
}

/** The plain mean of several estimates, resample by resample. */
export function meanEstimate(estimates: readonly Estimate[]): Estimate {
  const samples = new Float64Array(estimates[0].samples.length);
  for (const estimate of estimates)
    estimate.samples.forEach((x, b) => (samples[b] += x / estimates.length));
  return {
    value: estimates.reduce((sum, { value }) => sum + value, 0) / estimates.length,
    samples,
  };
}

/** a - b or a / b, resample by resample; null if a ratio's denominator is ever 0. */
export function contrastEstimate(
  a: Estimate,
  b: Estimate,
  kind: 'difference' | 'ratio',
): Estimate | null {
  if (kind === 'difference') {
    return { value: a.value - b.value, samples: a.samples.map((x, i) => x - b.samples[i]) };
  }
  if (b.value === 0 || b.samples.some((x) => x === 0)) return null;
  return { value: a.value / b.value, samples: a.samples.map((x, i) => x / b.samples[i]) };
}

/** The central interval of the resamples, with linearly interpolated percentiles. */
export function percentileInterval({ value, samples }: Estimate, level = 0.95): Interval {
  const sorted = Array.from(samples.toSorted());
  const [low, high] = [(1 - level) / 2, (1 + level) / 2].map((p) => quantileSorted(sorted, p)!);
  return { value, low, high };
}
