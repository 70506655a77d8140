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
import { cumsum, group, mean, mode, sum } from 'd3-array';
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

/**
 * The mean over seeds of a column's weighted mean over questions. `weights` must be
 * constant within each stratum.
 */
export type Estimator = (weights: Float64Array) => Estimate;

export interface Bootstrap {
  resamples: number;
  /**
   * Resamples a column of a group's runs, for any selection of questions. It holds
   * (strata, resamples) numbers.
   */
  estimator(group: Group, column: string): Estimator;
}

/** With fewer, ends of intervals are off by some tenths of a point. */
export const RESAMPLES = 10_000;

export interface BootstrapOptions {
  random: Random;
  /** Default {@link RESAMPLES}. */
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
  const { resamples = RESAMPLES, weightsId = (method) => method } = options;
  const drawn = drawQuestions(strata, resamples, options.random.fork('questions'));
  const mixtures = new Map<string, Mixture[]>();
  const drawMixtures = ({ method, model }: Group, initSeeds: readonly number[]): Mixture[] => {
    const name = `${weightsId(method)}/${model}`;
    const randoms = {
      initSeeds: options.random.fork(`warm-ups/${model}`),
      seeds: options.random.fork(`seeds/${name}`),
    };
    if (!mixtures.has(name)) mixtures.set(name, drawRuns(initSeeds, resamples, randoms));
    return mixtures.get(name)!;
  };
  return {
    resamples,
    estimator(runGroup, name) {
      const runs = findRuns(table, runGroup);
      const numColumns = table.runs.length * table.columns.length;
      const column = columnIndex(table, name);
      const values = runs.map((run) =>
        Float64Array.from(
          strata.ids,
          (_, q) => table.values[q * numColumns + run * table.columns.length + column],
        ),
      );
      const initSeeds = runs.map((run) => table.runs[run].initSeed);
      const sums = resampledSums(drawn, values, drawMixtures(runGroup, initSeeds));
      const totals = drawn.members.map((questions) =>
        mean(values, (run) => sum(questions, (q) => run[q])),
      );
      return (weights) => {
        const samples = new Float64Array(resamples);
        const stratumWeights = commonWeights(weights, strata);
        for (let s = 0; s < strata.count; s++) {
          const [weight, offset] = [stratumWeights[s], s * resamples];
          if (weight === 0) continue;
          for (let b = 0; b < resamples; b++) samples[b] += weight * sums[offset + b];
        }
        return { value: sum(totals, (total, s) => total! * stratumWeights[s]), samples };
      };
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
  for (let q = 0; q < weights.length; q++) {
    const stratum = strata.ids[q];
    if (Number.isNaN(common[stratum])) common[stratum] = weights[q];
    else if (common[stratum] !== weights[q])
      throw new Error('Expected one weight for all questions of a stratum.');
  }
  return common;
}

/** Questions by stratum, and how often each is drawn: (resamples, questions). */
interface DrawnQuestions {
  members: number[][];
  counts: Uint16Array;
}

/** Draws the questions of each stratum, for all runs and columns. */
function drawQuestions(strata: Strata, resamples: number, random: Random): DrawnQuestions {
  const byStratum = group(strata.ids.keys(), (q) => strata.ids[q]);
  const members = Array.from({ length: strata.count }, (_, s) => byStratum.get(s)!);
  const counts = new Uint16Array(resamples * strata.ids.length);
  for (const questions of members)
    for (let b = 0; b < resamples; b++)
      for (let draw = 0; draw < questions.length; draw++)
        counts[b * strata.ids.length + random.choice(questions)]++;
  return { members, counts };
}

/** How often each run is drawn, over the number of runs, and in which resamples. */
interface Mixture {
  shares: number[];
  drawnIn: number[];
}

/** Draws runs. @param initSeeds the initial model of each run */
function drawRuns(
  initSeeds: readonly number[],
  resamples: number,
  randoms: { initSeeds: Random; seeds: Random },
): Mixture[] {
  const mixtures = new Map<string, Mixture>();
  const groups = [...group(initSeeds.keys(), (run) => initSeeds[run]).values()];
  for (let b = 0; b < resamples; b++) {
    const counts = initSeeds.map(() => 0);
    for (let draw = 0; draw < groups.length; draw++) {
      const runs = randoms.initSeeds.choice(groups);
      for (let seed = 0; seed < runs.length; seed++) counts[randoms.seeds.choice(runs)]++;
    }
    const name = counts.join();
    const mixture = mixtures.get(name);
    if (mixture) mixture.drawnIn.push(b);
    else mixtures.set(name, { shares: counts.map((count) => count / counts.length), drawnIn: [b] });
  }
  return [...mixtures.values()];
}

/**
 * The sum over the drawn questions of each stratum, as a mean over the drawn runs:
 * (strata, resamples). There are far fewer mixtures of runs than resamples.
 * @param values (runs)(questions)
 */
function resampledSums(
  { members, counts }: DrawnQuestions,
  values: readonly Float64Array[],
  mixtures: readonly Mixture[],
): Float32Array {
  const numQuestions = values[0].length;
  const resamples = counts.length / numQuestions;
  const sums = new Float32Array(members.length * resamples);
  // Most values of a stratum are equal: only the others need the counts.
  const bases = members.map((questions) => mode(questions, (q) => values[0][q]));
  const others = members.map((questions, s) =>
    questions.filter((q) => values.some((run) => run[q] !== bases[s])),
  );
  const asked = Int32Array.from(others.flat());
  const ends = Array.from(cumsum(others, ({ length }) => length));
  const baseOf = Float64Array.from(others.flatMap((questions, s) => questions.map(() => bases[s])));
  const excess = new Float64Array(asked.length);
  for (const { shares, drawnIn } of mixtures) {
    excess.fill(0);
    for (let run = 0; run < shares.length; run++)
      if (shares[run] > 0)
        for (let i = 0; i < asked.length; i++)
          excess[i] += shares[run] * (values[run][asked[i]] - baseOf[i]);
    const constants = bases.map((base, s) => base * members[s].length * sum(shares));
    // Two at a time: an addition need not wait for the one before.
    for (let n = 0; n < drawnIn.length; n += 2) {
      const [first, second] = [drawnIn[n], drawnIn[n + 1] ?? drawnIn[n]];
      const [firstRow, secondRow] = [first * numQuestions, second * numQuestions];
      for (let s = 0, i = 0; s < ends.length; s++) {
        let [firstSum, secondSum] = [constants[s], constants[s]];
        for (; i < ends[s]; i++) {
          firstSum += excess[i] * counts[firstRow + asked[i]];
          secondSum += excess[i] * counts[secondRow + asked[i]];
        }
        sums[s * resamples + first] = firstSum;
        sums[s * resamples + second] = secondSum;
      }
    }
  }
  return sums;
}

/** The plain mean of several estimates, resample by resample. */
export function meanEstimate(estimates: readonly Estimate[]): Estimate {
  if (estimates.length === 1) return estimates[0];
  const samples = new Float64Array(estimates[0].samples.length);
  for (const estimate of estimates)
    for (let b = 0; b < samples.length; b++) samples[b] += estimate.samples[b] / estimates.length;
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
  const samples = new Float64Array(a.samples.length);
  if (kind === 'difference') {
    for (let i = 0; i < samples.length; i++) samples[i] = a.samples[i] - b.samples[i];
    return { value: a.value - b.value, samples };
  }
  if (b.value === 0 || b.samples.includes(0)) return null;
  for (let i = 0; i < samples.length; i++) samples[i] = a.samples[i] / b.samples[i];
  return { value: a.value / b.value, samples };
}

/** The central interval of the resamples, with linearly interpolated percentiles. */
export function percentileInterval({ value, samples }: Estimate, level = 0.95): Interval {
  const [low, high] = [(1 - level) / 2, (1 + level) / 2].map((p) => tailQuantile(samples, p));
  return { value, low, high };
}

/** d3's `quantile`, faster: sorts only the tail that contains it. */
function tailQuantile(samples: Float64Array, p: number): number {
  const rank = (samples.length - 1) * p;
  const isLow = p < 0.5;
  const few = new Float64Array(Math.ceil(samples.length / 32));
  for (let i = 0; i < few.length; i++) few[i] = samples[32 * i];
  const bound = few.sort()[Math.round((few.length - 1) * (isLow ? 2 * p : 2 * p - 1))];
  let tail = new Float64Array(samples.length);
  let size = 0;
  for (let b = 0; b < samples.length; b++)
    if (isLow ? samples[b] <= bound : samples[b] >= bound) tail[size++] = samples[b];
  tail = tail.subarray(0, size).sort();
  let first = isLow ? 0 : samples.length - size;
  if (Math.floor(rank) < first || Math.ceil(rank) >= first + size) {
    tail = samples.toSorted();
    first = 0;
  }
  const [below, above] = [tail[Math.floor(rank) - first], tail[Math.ceil(rank) - first]];
  return below + (above - below) * (rank - Math.floor(rank));
}
