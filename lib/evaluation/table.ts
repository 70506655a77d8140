/** The tidy table: one row for each figure with its interval, one contrast for each comparison of two methods. */
import { createRandom } from '../random.js';
import {
  contrastEstimate,
  createBootstrap,
  meanEstimate,
  percentileInterval,
  strataBy,
  type Bootstrap,
  type Estimate,
  type Interval,
} from './bootstrap.js';
import {
  isInSubset,
  METRICS,
  selectionsOf,
  selectionWeights,
  type Metric,
  type Selection,
} from './metrics.js';
import { loadPaperTables, paperFigure, type PaperTables } from './paper.js';
import type { QuestionResult } from './result.js';
import { scoreTable, type ScoreTable } from './scores.js';

export interface TidyRow extends Interval {
  method: string;
  start: string;
  benchmark: string;
  subset: string;
  metric: Metric;
  /** Questions in the selection. */
  n: number;
  /** Seeds averaged over. */
  seeds: number;
  /** The paper's figure for this cell, of another scale; null where it prints none. */
  paper: number | null;
}

export interface TidyContrast extends Interval {
  method: string;
  against: string;
  /** `base`, `instruct`, or `all`: the mean over both. */
  start: string;
  benchmark: string;
  subset: string;
  metric: Metric;
  kind: 'difference' | 'ratio';
}

/** Where the numbers come from: seeds, commit, config hash, backend, hardware, ... as the evaluation wrote it. */
export type Provenance = Record<string, unknown>;

/** The numbers behind a report: a row for each figure, a contrast for each comparison of two. */
export interface TidyTable<Row extends object = object, Contrast extends object = object> {
  rows: Row[];
  contrasts: Contrast[];
  provenance: Provenance;
}

/** The tidy table of answered questions. */
export type TidyResults = TidyTable<TidyRow, TidyContrast>;

export interface SummaryOptions {
  provenance?: Provenance;
  /** Seed of the bootstrap; default 0. */
  seed?: number;
  /** Default 2,000. */
  resamples?: number;
  paper?: PaperTables;
}

/** Who is compared with whom. */
const PAIRS: readonly [method: string, against: string][] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
  ['search-r1-parallel-prompt', 'search-r1'],
  ['parallelsearch', 'r1'],
];
/** Ratios make sense of counts; shares are compared by difference only. */
const RATIO_METRICS: readonly Metric[] = ['turns', 'model_calls', 'critical_path_ratio'];

interface Context {
  table: ScoreTable;
  bootstrap: Bootstrap;
  cells: { selection: Selection; weights: Float64Array; n: number }[];
  starts: string[];
  estimate(
    group: { method: string; start: string },
    metric: Metric,
    cell: Context['cells'][number],
  ): Estimate;
  paper: PaperTables;
}

/**
 * Summarises results into tidy rows and contrasts with 95 % bootstrap intervals (the design is in `bootstrap.ts`).
 * `benchmark: 'all'` counts every test question once; `benchmark: 'average'` counts every benchmark once, as the
 * paper's Table 2 does. The contrasts of `start: 'all'` are over both starts and are given for these two only.
 */
export function summariseResults(
  results: readonly QuestionResult[],
  options: SummaryOptions = {},
): TidyResults {
  const context = createContext(results, options);
  const groups = [...new Set(context.table.runs.map((run) => `${run.method} ${run.start}`))].map((name) => {
    const [method, start] = name.split(' ');
    return { method, start };
  });
  const rows = groups.flatMap((group) => groupRows(context, group));
  const contrasts = PAIRS.flatMap(([method, against]) => {
    const shared = context.starts.filter((start) =>
      [method, against].every((m) => groups.some((group) => group.method === m && group.start === start)),
    );
    return pairContrasts(context, { method, against }, shared);
  });
  return { rows, contrasts, provenance: options.provenance ?? {} };
}

function createContext(results: readonly QuestionResult[], options: SummaryOptions): Context {
  const table = scoreTable(results);
  const strata = strataBy(
    table.questions.map(
      (q) =>
        `${q.benchmark}/${q.subset}/${isInSubset(q, 'parallelizable_5')}/${isInSubset(q, 'parallelizable_2_to_4')}`,
    ),
  );
  const random = createRandom(`bootstrap/${options.seed ?? 0}`);
  const bootstrap = createBootstrap(table, strata, { random, resamples: options.resamples });
  const cells = selectionsOf(table.questions).map((selection) => {
    const weights = selectionWeights(table.questions, selection);
    return { selection, weights, n: weights.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0) };
  });
  const known = new Map<string, Estimate>();
  const estimate: Context['estimate'] = (group, metric, cell) => {
    const key = `${group.method}/${group.start}/${metric}/${cell.selection.benchmark}/${cell.selection.subset}`;
    if (!known.has(key)) known.set(key, bootstrap.estimate(group, metric, cell.weights));
    return known.get(key)!;
  };
  const starts = [...new Set(table.runs.map((run) => run.start))].sort();
  return { table, bootstrap, cells, starts, estimate, paper: options.paper ?? loadPaperTables() };
}

function groupRows(context: Context, group: { method: string; start: string }): TidyRow[] {
  const seeds = context.table.runs.filter((r) => r.method === group.method && r.start === group.start).length;
  return context.cells.flatMap((cell) =>
    METRICS.map((metric) => {
      const interval = rounded(percentileInterval(context.estimate(group, metric, cell)));
      const name = { ...group, ...cell.selection, metric };
      return { ...name, ...interval, n: cell.n, seeds, paper: paperFigure(context.paper, name) };
    }),
  );
}

function pairContrasts(
  context: Context,
  pair: { method: string; against: string },
  starts: readonly string[],
): TidyContrast[] {
  const scopes = starts.map((start) => ({ start, members: [start] }));
  if (starts.length > 1) scopes.push({ start: 'all', members: [...starts] });
  return scopes.flatMap(({ start, members }) =>
    context.cells
      .filter(({ selection }) => start !== 'all' || ['all', 'average'].includes(selection.benchmark))
      .flatMap((cell) =>
        METRICS.flatMap((metric) => contrastsOf(context, { pair, start, members, cell, metric })),
      ),
  );
}

interface ContrastScope {
  pair: { method: string; against: string };
  start: string;
  members: string[];
  cell: Context['cells'][number];
  metric: Metric;
}

function contrastsOf(
  context: Context,
  { pair, start, members, cell, metric }: ContrastScope,
): TidyContrast[] {
  const over = (method: string): Estimate =>
    meanEstimate(members.map((member) => context.estimate({ method, start: member }, metric, cell)));
  const [estimate, reference] = [over(pair.method), over(pair.against)];
  const kinds = RATIO_METRICS.includes(metric)
    ? (['difference', 'ratio'] as const)
    : (['difference'] as const);
  return kinds.flatMap((kind) => {
    const contrast = contrastEstimate(estimate, reference, kind);
    if (!contrast) return [];
    return [{ ...pair, start, ...cell.selection, metric, kind, ...rounded(percentileInterval(contrast)) }];
  });
}

/** Six decimals: far finer than any interval, and files that compare equal from machine to machine. */
function rounded({ value, low, high }: Interval): Interval {
  const round = (x: number): number => Number(x.toFixed(6));
  return { value: round(value), low: round(low), high: round(high) };
}
