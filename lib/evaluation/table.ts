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
import { columnsOf, MAIN_MEASURES, quantitiesOf, type Measure } from './measures.js';
import { isInSubset, isSelected, selectionsOf, selectionWeights, type Selection } from './metrics.js';
import type { QuestionResult } from './result.js';
import { scoreTable, type ScoreTable } from './scores.js';

export interface TidyRow extends Interval {
  method: string;
  model: string;
  benchmark: string;
  subset: string;
  metric: string;
  /** Questions that the figure is about. */
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
  model: string;
  /** Where one method's models are compared with each other: the model that `against` has. */
  against_model?: string;
  benchmark: string;
  subset: string;
  metric: string;
  kind: 'difference' | 'ratio';
}

/** Names a figure that the paper may print too. */
export type PaperCell = Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'subset' | 'metric'>;

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
  /** The paper's figure for a cell, of another scale; none by default. */
  paper?: (cell: PaperCell) => number | null;
  /** What is computed; default: the metrics of the main report. */
  measures?: readonly Measure[];
  /** For which selections; default: all that hold a question. */
  selects?: (selection: Selection) => boolean;
  /** Which methods are compared; default: those of the main report. */
  pairs?: readonly MethodPair[];
  /** Names the weights behind a method; methods of one name draw the same seeds. Default: every method has its own. */
  weightsOf?: (method: string) => string;
  /** Whether each method's models are compared with each other as well. */
  comparesModels?: boolean;
}

/** Who is compared with whom. */
export type MethodPair = readonly [method: string, against: string];

const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
  ['search-r1-parallel-prompt', 'search-r1'],
  ['parallelsearch', 'r1'],
];

interface Group {
  method: string;
  model: string;
}

/** One side of a contrast: a method, and the models whose mean counts. */
interface Side extends Group {
  members: readonly string[];
}

interface Cell {
  selection: Selection;
  weights: Float64Array;
}

interface Context {
  table: ScoreTable;
  measures: readonly Measure[];
  cells: Cell[];
  groups: Group[];
  /** Null where the figure is a ratio to something that is 0 in a resample. */
  estimate(group: Group, measure: Measure, cell: Cell): Estimate | null;
  paper: (cell: PaperCell) => number | null;
}

/**
 * Summarises results into tidy rows and contrasts with 95 % bootstrap intervals (the design is in `bootstrap.ts`).
 * `benchmark: 'all'` counts every test question once; `benchmark: 'average'` counts every benchmark once, as the
 * paper's Table 2 does. The contrasts of `model: 'all'` are over both models and are given for these two only.
 */
export function summariseResults(
  results: readonly QuestionResult[],
  options: SummaryOptions = {},
): TidyResults {
  const context = createContext(results, options);
  const rows = context.groups.flatMap((group) => groupRows(context, group));
  const contrasts = (options.pairs ?? PAIRS).flatMap(([method, against]) =>
    methodContrasts(context, method, against),
  );
  if (options.comparesModels) contrasts.push(...modelContrasts(context));
  return { rows, contrasts, provenance: options.provenance ?? {} };
}

function createContext(results: readonly QuestionResult[], options: SummaryOptions): Context {
  const { measures = MAIN_MEASURES, selects = () => true, resamples, weightsOf } = options;
  const table = scoreTable(results, quantitiesOf(measures));
  const strata = strataBy(
    table.questions.map(
      (q) =>
        `${q.benchmark}/${q.subset}/${isInSubset(q, 'parallelizable_5')}/${isInSubset(q, 'parallelizable_2_to_4')}`,
    ),
  );
  const random = createRandom(`bootstrap/${options.seed ?? 0}`);
  const bootstrap = createBootstrap(table, strata, { random, resamples, weightsOf });
  const cells = selectionsOf(table.questions)
    .filter(selects)
    .map((selection) => ({ selection, weights: selectionWeights(table.questions, selection) }));
  const groups = new Map(table.runs.map(({ method, model }) => [`${method} ${model}`, { method, model }]));
  return {
    ...{ table, measures, cells, groups: [...groups.values()], paper: options.paper ?? (() => null) },
    estimate: memoised((group, measure, { weights }) =>
      measureEstimate(bootstrap, { group, measure, weights }),
    ),
  };
}

/** A measure's mean, or the ratio of the means of its two columns. */
function measureEstimate(
  bootstrap: Bootstrap,
  { group, measure, weights }: { group: Group; measure: Measure; weights: Float64Array },
): Estimate | null {
  const [numerator, denominator] = columnsOf(measure);
  const estimate = bootstrap.estimate(group, numerator, weights);
  return denominator
    ? contrastEstimate(estimate, bootstrap.estimate(group, denominator, weights), 'ratio')
    : estimate;
}

function memoised(estimate: Context['estimate']): Context['estimate'] {
  const known = new Map<string, Estimate | null>();
  return (group, measure, cell) => {
    const { benchmark, subset } = cell.selection;
    const key = `${group.method}/${group.model}/${measure.metric}/${benchmark}/${subset}`;
    if (!known.has(key)) known.set(key, estimate(group, measure, cell));
    return known.get(key)!;
  };
}

/** The measures that are given for a selection. */
const measuresOf = ({ measures }: Context, { subset }: Selection): readonly Measure[] =>
  measures.filter(({ subsets }) => !subsets || subsets.includes(subset));

function groupRows(context: Context, group: Group): TidyRow[] {
  const seeds = context.table.runs.filter((r) => r.method === group.method && r.model === group.model).length;
  return context.cells.flatMap((cell) =>
    measuresOf(context, cell.selection).flatMap((measure) => {
      const estimate = context.estimate(group, measure, cell);
      if (!estimate) return [];
      const { among = () => true, metric } = measure;
      const n = context.table.questions.filter((q) => isSelected(q, cell.selection) && among(q)).length;
      const name = { ...group, ...cell.selection, metric };
      const paper = context.paper(name);
      return [{ ...name, ...rounded(percentileInterval(estimate)), n, seeds, paper }];
    }),
  );
}

/** Two methods, by model and over all models that both have. */
function methodContrasts(context: Context, method: string, against: string): TidyContrast[] {
  const modelsOf = (name: string): string[] =>
    context.groups.filter((group) => group.method === name).map(({ model }) => model);
  const models = modelsOf(method)
    .filter((model) => modelsOf(against).includes(model))
    .sort();
  const scopes = models.map((model) => ({ model, members: [model] }));
  if (models.length > 1) scopes.push({ model: 'all', members: models });
  return scopes.flatMap((scope) =>
    contrastsOf(context, { method, ...scope }, { method: against, ...scope }, (selection) =>
      scope.model === 'all' ? ['all', 'average'].includes(selection.benchmark) : true,
    ),
  );
}

/** Base against instruct, for every method that has both. */
function modelContrasts(context: Context): TidyContrast[] {
  const sideOf = (method: string, model: string): Side => ({ method, model, members: [model] });
  const methods = [...new Set(context.groups.map(({ method }) => method))];
  const both = methods.filter((m) => context.groups.filter(({ method }) => method === m).length === 2);
  return both.flatMap((m) => contrastsOf(context, sideOf(m, 'base'), sideOf(m, 'instruct')));
}

function contrastsOf(
  context: Context,
  side: Side,
  other: Side,
  selects: (selection: Selection) => boolean = () => true,
): TidyContrast[] {
  const pair = {
    ...{ method: side.method, against: other.method, model: side.model },
    ...(side.model === other.model ? {} : { against_model: other.model }),
  };
  return context.cells
    .filter(({ selection }) => selects(selection))
    .flatMap((cell) =>
      measuresOf(context, cell.selection).flatMap((measure): TidyContrast[] => {
        const [a, b] = [
          sideEstimate(context, side, measure, cell),
          sideEstimate(context, other, measure, cell),
        ];
        if (!a || !b) return [];
        const kinds = measure.byRatio ? (['difference', 'ratio'] as const) : (['difference'] as const);
        return kinds.flatMap((kind) => {
          const contrast = contrastEstimate(a, b, kind);
          if (!contrast) return [];
          const name = { ...pair, ...cell.selection, metric: measure.metric, kind };
          return [{ ...name, ...rounded(percentileInterval(contrast)) }];
        });
      }),
    );
}

function sideEstimate(
  context: Context,
  { method, members }: Side,
  measure: Measure,
  cell: Cell,
): Estimate | null {
  const estimates = members.map((model) => context.estimate({ method, model }, measure, cell));
  return estimates.every((estimate) => estimate !== null) ? meanEstimate(estimates) : null;
}

/** Six decimals: far finer than any interval, and files that compare equal from machine to machine. */
function rounded({ value, low, high }: Interval): Interval {
  const round = (x: number): number => Number(x.toFixed(6));
  return { value: round(value), low: round(low), high: round(high) };
}
