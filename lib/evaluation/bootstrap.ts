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
import { group, mean, mode, sum } from 'd3-array';
import { memoised } from '../memoise.js';
import type { Random } from '../random.js';
import type { Estimate } from './estimate.js';
import type { Measure } from './metrics.js';
import { questionKey, type QuestionResult } from './measurement.js';
import type { QuestionKey } from './selections.js';

/** The answers of one policy to every question. */
export interface Run {
  method: string;
  model: string;
  /** Seed of the initial model. */
  initSeed: number;
  seed: number;
}

interface ScoreTable {
  runs: Run[];
  questions: QuestionKey[];
  /** Columns of each run: every measure, and its denominator unless constant. */
  columns: string[];
  /** (runs, columns, questions), row-major. */
  values: Float64Array;
}

const runName = ({ method, model, initSeed = 1, seed }: Pick<QuestionResult, keyof Run>): string =>
  `${method}/${model}${initSeed === 1 ? '' : `/warm-up ${initSeed}`}/seed ${seed}`;

export const denominatorColumn = (metric: string): string => `${metric}, denominator`;

interface Column {
  name: string;
  /** Must return 0 for questions that are not included. */
  read: Measure['numerator'];
  includes?: Measure['includes'];
}

function measureColumns({ metric, numerator, denominator, includes }: Measure): Column[] {
  const column = { name: metric, read: numerator, includes };
  if (!denominator && !includes) return [column];
  return [column, { name: denominatorColumn(metric), read: denominator ?? (() => 1), includes }];
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
  const runs = new Map<string, Run & { name: string; at: number }>();
  const places = results.map((result) => {
    const questionName = questionKey(result);
    const name = runName(result);
    let question = questions.get(questionName);
    if (!question) {
      const { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo } = result;
      const key = { questionId, benchmark, subset, entitiesCompared, hops, wording, isYesNo };
      questions.set(questionName, (question = { ...key, at: questions.size }));
    }
    let run = runs.get(name);
    if (!run) {
      const { method, model, initSeed = 1, seed } = result;
      runs.set(name, (run = { name, method, model, initSeed, seed, at: runs.size }));
    }
    return { question, run };
  });
  const columns = measures.flatMap(measureColumns);
  const counted = columns.map(({ includes = () => true }) =>
    Array.from(questions.values(), includes),
  );
  const place = (question: { at: number }, run: { at: number }, c: number): number =>
    (run.at * columns.length + c) * questions.size + question.at;
  const values = new Float64Array(runs.size * columns.length * questions.size).fill(NaN);
  for (const [i, result] of results.entries()) {
    const { question, run } = places[i];
    if (!Number.isNaN(values[place(question, run, 0)]))
      throw new Error(
        `Expected one result per question and run, but ${run.name} answered ${result.questionId} twice.`,
      );
    columns.forEach(({ name, read }, c) => {
      const value = counted[c][question.at] ? read(result) : 0;
      if (!Number.isFinite(value))
        throw new Error(
          `Expected ${run.name} to have a number for ${name} of ${result.questionId}, but got ${value}. Evaluate it again.`,
        );
      values[place(question, run, c)] = value;
    });
  }
  for (const [name, run] of runs) {
    const missing = [...questions.values()].filter((question) =>
      Number.isNaN(values[place(question, run, 0)]),
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
    columns: columns.map(({ name }) => name),
    values,
  };
}

/** Runs that only differ in their seeds. */
type Group = Pick<Run, 'method' | 'model'>;

/**
 * Computes the mean over seeds of a column's weighted mean over questions. `weights` must
 * be constant within each stratum.
 */
type Estimator = (weights: Float64Array) => Estimate;

interface Bootstrap {
  resamples: number;
  /** Resamples a column for any selection; holds (strata, resamples) numbers. */
  estimator(group: Group, column: string): Estimator;
}

/** With fewer, interval ends vary by some tenths of a point; only tests change it. */
export const BOOTSTRAP = { resamples: 10_000 };

export interface BootstrapOptions {
  random: Random;
  /** Default: 10,000. */
  resamples?: number;
  /** Methods that map to the same name share their drawn seeds. Default: none do. */
  weightsId?: (method: string) => string;
}

interface Strata {
  ids: Int32Array;
  count: number;
}

/** Puts questions with equal keys into one stratum. */
export function groupStrata(keys: readonly string[]): Strata {
  const index = new Map<string, number>();
  const ids = Int32Array.from(keys, (key) => {
    if (!index.has(key)) index.set(key, index.size);
    return index.get(key)!;
  });
  return { ids, count: index.size };
}

export function createBootstrap(
  table: ScoreTable,
  strata: Strata,
  options: BootstrapOptions,
): Bootstrap {
  const { resamples = BOOTSTRAP.resamples, weightsId = (method) => method } = options;
  const { members, counts } = drawQuestions(strata, resamples, options.random.fork('questions'));
  const shares = new Map<string, Float64Array[]>();
  const drawShares = ({ method, model }: Group, initSeeds: readonly number[]): Float64Array[] => {
    const name = `${weightsId(method)}/${model}`;
    const randoms = {
      initSeeds: options.random.fork(`warm-ups/${model}`),
      seeds: options.random.fork(`seeds/${name}`),
    };
    if (!shares.has(name)) shares.set(name, drawRuns(initSeeds, resamples, randoms));
    return shares.get(name)!;
  };
  // All figures of a selection have the same weights.
  const stratify = memoised((weights: Float64Array) => commonWeights(weights, strata));
  return {
    resamples,
    estimator(runGroup, name) {
      const runs = findRuns(table, runGroup);
      const column = columnIndex(table, name);
      const length = table.questions.length;
      const values = runs.map((run) => {
        const start = (run * table.columns.length + column) * length;
        return table.values.subarray(start, start + length);
      });
      const initSeeds = runs.map((run) => table.runs[run].initSeed);
      const drawn = { members, counts, shares: drawShares(runGroup, initSeeds) };
      const sums = resampledSums(drawn, values, resamples);
      const totals = members.map((questions) =>
        mean(values, (run) => sum(questions, (q) => run[q])),
      );
      return (weights) => {
        const samples = new Float64Array(resamples);
        const stratumWeights = stratify(weights);
        for (let s = 0; s < strata.count; s++) {
          const weight = stratumWeights[s];
          const offset = s * resamples;
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
 * The weight shared by each stratum's questions.
 * @throws Error if a selection splits a stratum
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

/** The questions by stratum, and how often each is drawn. */
interface DrawnQuestions {
  members: number[][];
  /**
   * (questions, resamples), with four resamples per element, so that one addition adds
   * four counts. A count exceeds 255 with a probability below 1e-500, since each is
   * nearly Poisson(1). The last row is zero.
   */
  counts: Uint32Array;
}

/** Draws the questions of each stratum, for all runs and columns. */
function drawQuestions(strata: Strata, resamples: number, random: Random): DrawnQuestions {
  const byStratum = group(strata.ids.keys(), (q) => strata.ids[q]);
  const members = Array.from({ length: strata.count }, (_, s) => byStratum.get(s)!);
  const width = Math.ceil(resamples / LANES);
  const counts = new Uint32Array((strata.ids.length + 1) * width);
  const single = new Uint8Array(counts.buffer);
  for (const questions of members)
    for (let b = 0; b < resamples; b++)
      for (let draw = 0; draw < questions.length; draw++)
        single[random.choice(questions) * width * LANES + b]++;
  return { members, counts };
}

/** Counts per element of {@link DrawnQuestions}. */
const LANES = 4;
/** Poisson(64) exceeds 255 with a probability below 1e-70. */
const MAX_ADDED = 64;

/** The weight of each run, given its initial model, in every resample. */
function drawRuns(
  initSeeds: readonly number[],
  resamples: number,
  randoms: { initSeeds: Random; seeds: Random },
): Float64Array[] {
  const shares = initSeeds.map(() => new Float64Array(resamples));
  const groups = [...group(initSeeds.keys(), (run) => initSeeds[run]).values()];
  for (let b = 0; b < resamples; b++)
    for (let draw = 0; draw < groups.length; draw++) {
      const runs = randoms.initSeeds.choice(groups);
      for (let seed = 0; seed < runs.length; seed++) shares[randoms.seeds.choice(runs)][b]++;
    }
  for (const share of shares) for (let b = 0; b < resamples; b++) share[b] /= initSeeds.length;
  return shares;
}

/**
 * Sums over the drawn questions of each stratum, averaged over the drawn runs: (strata,
 * resamples). `values` is (runs)(questions).
 */
function resampledSums(
  { members, counts, shares }: DrawnQuestions & { shares: readonly Float64Array[] },
  values: readonly Float64Array[],
  resamples: number,
): Float32Array {
  const sums = new Float32Array(members.length * resamples);
  const ofRun = new Float64Array(resamples);
  const overRuns = new Float64Array(resamples);
  const added = new Uint32Array(Math.ceil(resamples / LANES));
  const drawn = new Uint8Array(added.buffer);
  for (const [s, questions] of members.entries()) {
    // Most values of a stratum are equal, so only the others need the counts.
    const base = mode(questions, (q) => values[0][q]);
    overRuns.fill(base * questions.length);
    for (const [r, run] of values.entries()) {
      const others = questions.filter((q) => run[q] !== base);
      if (others.length === 0) continue;
      ofRun.fill(0);
      for (const [value, alike] of group(others, (q) => run[q])) {
        const excess = value - base;
        for (let first = 0; first < alike.length; first += MAX_ADDED) {
          addRows(added, counts, alike.slice(first, first + MAX_ADDED));
          for (let b = 0; b < resamples; b++) ofRun[b] += excess * drawn[b];
        }
      }
      for (let b = 0; b < resamples; b++) overRuns[b] += shares[r][b] * ofRun[b];
    }
    sums.set(overRuns, s * resamples);
  }
  return sums;
}

/** Adds rows, four at a time. */
function addRows(sum: Uint32Array, matrix: Uint32Array, rows: readonly number[]): void {
  const zeros = matrix.length / sum.length - 1;
  sum.fill(0);
  for (let i = 0; i < rows.length; i += 4) {
    const [j, k, l, m] = [0, 1, 2, 3].map((next) => (rows[i + next] ?? zeros) * sum.length);
    for (let n = 0; n < sum.length; n++)
      sum[n] += matrix[j + n] + matrix[k + n] + matrix[l + n] + matrix[m + n];
  }
}
