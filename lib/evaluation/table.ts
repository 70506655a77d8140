/** The tidy table: a row per figure, a contrast per comparison of two methods. */
import type { Provenance } from '../io/provenance.js';
import { createRandom } from '../random.js';
import {
  contrastEstimate,
  createBootstrap,
  meanEstimate,
  percentileInterval,
  groupStrata,
  type Estimate,
  type Interval,
  denominatorColumn,
  scoreTable,
  type Run,
} from './bootstrap.js';
import { MAIN_MEASURES, type Measure } from './metrics.js';
import type { QuestionResult } from './result.js';
import {
  isSelected,
  selectionKey,
  listSelections,
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
  /** Number of questions. */
  n: number;
  /** Number of runs. */
  seeds: number;
  /** The paper's figure, at its scale; null if it prints none. */
  paper: number | null;
}

export interface TidyContrast extends Interval {
  method: string;
  against: string;
  /** `base`, `instruct`, or `all` (their mean). */
  model: string;
  /** Set if a method's models are compared with each other. */
  against_model?: string;
  benchmark: string;
  subset: string;
  metric: string;
  kind: 'difference' | 'ratio';
}

export type PaperCell = Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'subset' | 'metric'>;

/** The numbers behind a report. */
export interface TidyTable<Row extends object = object, Contrast extends object = object> {
  rows: Row[];
  contrasts: Contrast[];
  provenance: Provenance;
}

export type TidyResults = TidyTable<TidyRow, TidyContrast>;

export interface SummaryOptions {
  provenance?: Provenance;
  /** Seed of the bootstrap; default 0. */
  seed?: number;
  /** Default 1,000. */
  resamples?: number;
  /** The paper's figure for a cell. Default: none. */
  paper?: (cell: PaperCell) => number | null;
  /** Default: the metrics of the main report. */
  measures?: readonly Measure[];
  /** Default: all selections with a question. */
  filter?: (selection: Selection) => boolean;
  /** Methods to compare. Default: those of the main report. */
  pairs?: readonly MethodPair[];
  /** See `BootstrapOptions`. */
  weightsId?: (method: string) => string;
  /** Whether to compare each method's models with each other, too. */
  comparesModels?: boolean;
}

export type MethodPair = readonly [method: string, against: string];

const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1:b4'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
  ['search-r1-parallel-prompt', 'search-r1'],
  ['parallelsearch', 'r1'],
];

/** A measure over a selection. */
interface Cell {
  selection: Selection;
  measure: Measure;
  /** The mean over models; null if a denominator is 0 in a resample. */
  estimate: (method: string, models: readonly string[]) => Estimate | null;
}

interface Comparison {
  name: Pick<TidyContrast, 'method' | 'against' | 'model' | 'against_model'>;
  models: readonly string[];
  againstModels: readonly string[];
}

/**
 * Tidy rows and contrasts with 95 % bootstrap intervals (see `bootstrap.ts`). Contrasts
 * of `model: 'all'`, the mean over models, exist only for the benchmarks `all`, `average`
 * and `many`.
 */
export function summariseResults(
  results: readonly QuestionResult[],
  options: SummaryOptions = {},
): TidyResults {
  const {
    measures = MAIN_MEASURES,
    filter = () => true,
    paper = () => null,
    resamples,
    weightsId,
  } = options;
  const table = scoreTable(results, measures);
  const { questions, runs } = table;
  const strata = groupStrata(questions.map(selectionKey));
  const random = createRandom(`bootstrap/${options.seed ?? 0}`);
  const bootstrap = createBootstrap(table, strata, { random, resamples, weightsId });

  const createCells = (selection: Selection): Cell[] => {
    const weights = selectionWeights(questions, selection);
    const applicable = measures.filter(
      ({ subsets }) => subsets?.includes(selection.subset) ?? true,
    );
    return applicable.map((measure) => {
      const estimateGroup = memoised((method: string, model: string): Estimate | null => {
        const [of, per] = [measure.metric, denominatorColumn(measure.metric)];
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
  const cells = listSelections(questions).filter(filter).flatMap(createCells);
  const groups = [...new Map(runs.map((run) => [`${run.method} ${run.model}`, run])).values()];

  const rows = groups.flatMap(({ method, model }) => {
    const seeds = runs.filter((run) => run.method === method && run.model === model).length;
    return cells.flatMap(({ selection, measure, estimate }): TidyRow[] => {
      const figure = estimate(method, [model]);
      if (!figure) return [];
      const { includes = () => true, metric } = measure;
      const n = questions.filter((q) => isSelected(q, selection) && includes(q)).length;
      const name = { method, model, ...selection, metric };
      return [{ ...name, ...rounded(percentileInterval(figure)), n, seeds, paper: paper(name) }];
    });
  });
  const comparisons = (options.pairs ?? PAIRS).flatMap((pair) => methodComparisons(groups, pair));
  if (options.comparesModels) comparisons.push(...modelComparisons(groups));
  const contrasts = comparisons.flatMap((comparison) =>
    cells.flatMap((cell) => createContrasts(comparison, cell)),
  );
  return { rows, contrasts, provenance: options.provenance ?? {} };
}

function memoised<T>(
  compute: (method: string, model: string) => T,
): (method: string, model: string) => T {
  const cache = new Map<string, T>();
  return (method, model) => {
    const key = `${method} ${model}`;
    if (!cache.has(key)) cache.set(key, compute(method, model));
    return cache.get(key)!;
  };
}

const findModels = (groups: readonly Run[], name: string): string[] =>
  groups.filter(({ method }) => method === name).map(({ model }) => model);

/** Two methods, for each model and over all models that both have. */
function methodComparisons(groups: readonly Run[], [method, against]: MethodPair): Comparison[] {
  const others = findModels(groups, against);
  const models = findModels(groups, method)
    .filter((model) => others.includes(model))
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
    .filter((method) => findModels(groups, method).length === 2)
    .map((method) => ({
      name: { method, against: method, model: 'base', against_model: 'instruct' },
      models: ['base'],
      againstModels: ['instruct'],
    }));

function createContrasts({ name, models, againstModels }: Comparison, cell: Cell): TidyContrast[] {
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

/** Six decimals, so that files are equal across machines. */
const rounded = ({ value, low, high }: Interval): Interval => {
  const round = (x: number): number => Number(x.toFixed(6));
  return { value: round(value), low: round(low), high: round(high) };
};

export type Fields = Readonly<Record<string, unknown>>;

/** Whether an item has these field values; a list means any of them. */
export const where =
  (fields: Fields) =>
  (item: object): boolean =>
    Object.entries(fields).every(([name, wanted]) => {
      const value = (item as Fields)[name];
      return Array.isArray(wanted) ? wanted.includes(value) : value === wanted;
    });

/** The items with these field values; a list means any of them. */
export const matching = <T extends object>(items: readonly T[], fields: Fields): T[] =>
  items.filter(where(fields));
