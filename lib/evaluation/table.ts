/**
 * The tidy table: one row for each figure with its interval, one contrast for each
 * comparison of two methods.
 */
import type { Provenance } from '../io/provenance.js';
import { createRandom } from '../random.js';
import {
  contrastEstimate,
  createBootstrap,
  meanEstimate,
  percentileInterval,
  strataBy,
  type Estimate,
  type Interval,
} from './bootstrap.js';
import { MAIN_MEASURES, type Measure } from './metrics.js';
import type { QuestionResult } from './result.js';
import { denominatorOf, scoreTable, type Run } from './scores.js';
import {
  isSelected,
  selectionKey,
  selectionsOf,
  selectionWeights,
  MANY,
  type Selection,
} from './selections.js';

export interface TidyRow extends Interval {
  method: string;
  model: string;
  benchmark: string;
  subset: string;
  metric: string;
  /** Questions that the figure is about. */
  n: number;
  /** Runs averaged over: seeds of reinforcement of each initial model. */
  seeds: number;
  /** The paper's figure for this cell, of another scale; null where it prints none. */
  paper: number | null;
}

export interface TidyContrast extends Interval {
  method: string;
  against: string;
  /** `base`, `instruct`, or `all`: the mean over both. */
  model: string;
  /**
   * Where one method's models are compared with each other: the model that `against` has.
   */
  against_model?: string;
  benchmark: string;
  subset: string;
  metric: string;
  kind: 'difference' | 'ratio';
}

/** Names a figure that the paper may print too. */
export type PaperCell = Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'subset' | 'metric'>;

/**
 * The numbers behind a report: a row for each figure, a contrast for each comparison of
 * two.
 */
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
  /** Default 1,000. */
  resamples?: number;
  /** The paper's figure for a cell, of another scale; none by default. */
  paper?: (cell: PaperCell) => number | null;
  /** What is computed; default: the metrics of the main report. */
  measures?: readonly Measure[];
  /** For which selections; default: all that hold a question. */
  selects?: (selection: Selection) => boolean;
  /** Which methods are compared; default: those of the main report. */
  pairs?: readonly MethodPair[];
  /**
   * Names the weights behind a method; methods of one name draw the same seeds. Default:
   * every method has its own.
   */
  weightsOf?: (method: string) => string;
  /** Whether each method's models are compared with each other as well. */
  comparesModels?: boolean;
}

/** Who is compared with whom. */
export type MethodPair = readonly [method: string, against: string];

const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1:b4'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
  ['search-r1-parallel-prompt', 'search-r1'],
  ['parallelsearch', 'r1'],
];

/** One measure over one selection of questions. */
interface Cell {
  selection: Selection;
  measure: Measure;
  /**
   * The mean over models; null where the figure is a ratio to something that is 0 in a
   * resample.
   */
  estimate: (method: string, models: readonly string[]) => Estimate | null;
}

/** Two sides, and what the comparison is called. */
interface Comparison {
  name: Pick<TidyContrast, 'method' | 'against' | 'model' | 'against_model'>;
  models: readonly string[];
  againstModels: readonly string[];
}

/**
 * Summarises results into tidy rows and contrasts with 95 % bootstrap intervals (the
 * design is in `bootstrap.ts`). `benchmark: 'all'` counts every question once;
 * `benchmark: 'average'` counts every benchmark once, as the paper's Table 2 does. The
 * contrasts of `model: 'all'` are over both models and are given for these two and for
 * `many` only.
 */
export function summariseResults(
  results: readonly QuestionResult[],
  options: SummaryOptions = {},
): TidyResults {
  const {
    measures = MAIN_MEASURES,
    selects = () => true,
    paper = () => null,
    resamples,
    weightsOf,
  } = options;
  const table = scoreTable(results, measures);
  const { questions, runs } = table;
  const strata = strataBy(questions.map(selectionKey));
  const random = createRandom(`bootstrap/${options.seed ?? 0}`);
  const bootstrap = createBootstrap(table, strata, { random, resamples, weightsOf });

  const cellsOf = (selection: Selection): Cell[] => {
    const weights = selectionWeights(questions, selection);
    const given = measures.filter(({ subsets }) => subsets?.includes(selection.subset) ?? true);
    return given.map((measure) => {
      const estimateGroup = memoised((method: string, model: string): Estimate | null => {
        const [of, per] = [measure.metric, denominatorOf(measure.metric)];
        const figure = bootstrap.estimate({ method, model }, of, weights);
        if (!table.columns.includes(per)) return figure;
        return contrastEstimate(
          figure,
          bootstrap.estimate({ method, model }, per, weights),
          'ratio',
        );
      });
      const estimate: Cell['estimate'] = (method, models) => {
        const estimates = models.flatMap((model) => estimateGroup(method, model) ?? []);
        return estimates.length === models.length ? meanEstimate(estimates) : null;
      };
      return { selection, measure, estimate };
    });
  };
  const cells = selectionsOf(questions).filter(selects).flatMap(cellsOf);
  const groups = [...new Map(runs.map((run) => [`${run.method} ${run.model}`, run])).values()];

  const rows = groups.flatMap(({ method, model }) => {
    const seeds = runs.filter((run) => run.method === method && run.model === model).length;
    return cells.flatMap(({ selection, measure, estimate }): TidyRow[] => {
      const found = estimate(method, [model]);
      if (!found) return [];
      const { among = () => true, metric } = measure;
      const n = questions.filter((q) => isSelected(q, selection) && among(q)).length;
      const name = { method, model, ...selection, metric };
      return [{ ...name, ...rounded(percentileInterval(found)), n, seeds, paper: paper(name) }];
    });
  });
  const comparisons = (options.pairs ?? PAIRS).flatMap((pair) => methodComparisons(groups, pair));
  if (options.comparesModels) comparisons.push(...modelComparisons(groups));
  const contrasts = comparisons.flatMap((comparison) =>
    cells.flatMap((cell) => contrastsOf(comparison, cell)),
  );
  return { rows, contrasts, provenance: options.provenance ?? {} };
}

function memoised<T>(
  compute: (method: string, model: string) => T,
): (method: string, model: string) => T {
  const known = new Map<string, T>();
  return (method, model) => {
    const key = `${method} ${model}`;
    if (!known.has(key)) known.set(key, compute(method, model));
    return known.get(key)!;
  };
}

const modelsOf = (groups: readonly Run[], name: string): string[] =>
  groups.filter(({ method }) => method === name).map(({ model }) => model);

/** Two methods, by model and over all models that both have. */
function methodComparisons(groups: readonly Run[], [method, against]: MethodPair): Comparison[] {
  const both = modelsOf(groups, against);
  const models = modelsOf(groups, method)
    .filter((model) => both.includes(model))
    .sort();
  const scopes = models.map((model) => ({ model, models: [model] }));
  if (models.length > 1) scopes.push({ model: 'all', models });
  return scopes.map((scope) => ({
    name: { method, against, model: scope.model },
    models: scope.models,
    againstModels: scope.models,
  }));
}

/** Base against instruct, for every method that has both. */
const modelComparisons = (groups: readonly Run[]): Comparison[] =>
  [...new Set(groups.map(({ method }) => method))]
    .filter((method) => modelsOf(groups, method).length === 2)
    .map((method) => ({
      name: { method, against: method, model: 'base', against_model: 'instruct' },
      models: ['base'],
      againstModels: ['instruct'],
    }));

function contrastsOf({ name, models, againstModels }: Comparison, cell: Cell): TidyContrast[] {
  const { selection, measure, estimate } = cell;
  if (name.model === 'all' && !['all', 'average', MANY].includes(selection.benchmark)) return [];
  const [ours, theirs] = [estimate(name.method, models), estimate(name.against, againstModels)];
  if (!ours || !theirs) return [];
  const kinds = measure.byRatio ? (['difference', 'ratio'] as const) : (['difference'] as const);
  return kinds.flatMap((kind) => {
    const contrast = contrastEstimate(ours, theirs, kind);
    if (!contrast) return [];
    return [
      {
        ...name,
        ...selection,
        metric: measure.metric,
        kind,
        ...rounded(percentileInterval(contrast)),
      },
    ];
  });
}

/**
 * Six decimals: far finer than any interval, and files that compare equal from machine to
 * machine.
 */
const rounded = ({ value, low, high }: Interval): Interval => {
  const round = (x: number): number => Number(x.toFixed(6));
  return { value: round(value), low: round(low), high: round(high) };
};

/** The rows, contrasts or answers that have all of the given fields. */
export const matching = <T extends object>(
  items: readonly T[],
  fields: Readonly<Record<string, unknown>>,
): T[] =>
  items.filter((item) =>
    Object.entries(fields).every(
      ([name, value]) => (item as Record<string, unknown>)[name] === value,
    ),
  );
