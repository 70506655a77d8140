/** The tidy table: one row per figure, one contrast per comparison of two methods. */
import type { Provenance } from '../io/provenance.js';
import { memoisedByNames } from '../memoise.js';
import { createRandom } from '../random.js';
import {
  createBootstrap,
  groupStrata,
  denominatorColumn,
  scoreTable,
  type Run,
} from './bootstrap.js';
import {
  contrastEstimate,
  meanEstimate,
  percentileInterval,
  type Estimate,
  type Interval,
} from './estimate.js';
import { MAIN_MEASURES, type Measure } from './metrics.js';
import type { QuestionResult } from './measurement.js';
import {
  isSelected,
  selectionKey,
  listSelections,
  selectionWeights,
  MANY,
  type QuestionKey,
  type Selection,
} from './selections.js';

export interface TidyRow extends Interval {
  method: string;
  model: string;
  benchmark: string;
  subset: string;
  metric: string;
  n: number;
  seeds: number;
  /** The paper's figure, in its scale; null if it has none. */
  paper: number | null;
}

export interface TidyContrast extends Interval {
  method: string;
  against: string;
  /** `base`, `instruct`, or `all` (their mean). */
  model: string;
  /** Set if two models of the same method are compared. */
  against_model?: string;
  benchmark: string;
  subset: string;
  metric: string;
  kind: 'difference' | 'ratio';
}

export type PaperCell = Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'subset' | 'metric'>;

/** The numbers behind a report. */
export interface TidyResults {
  rows: TidyRow[];
  contrasts: TidyContrast[];
  provenance: Provenance;
}

export interface SummaryOptions {
  provenance?: Provenance;
  /** Seed of the bootstrap. Default: 0. */
  seed?: number;
  /** Default: 10,000. */
  resamples?: number;
  /** The paper's figure for a cell. Default: none. */
  paper?: (cell: PaperCell) => number | null;
  /** Default: the metrics of the main report. */
  measures?: readonly Measure[];
  /** Default: all selections that contain a question. */
  filter?: (selection: Selection) => boolean;
  /** The stratum of a question (see `bootstrap.ts`). Default: its selections. */
  stratum?: (question: QuestionKey) => string;
  /** Methods to compare. Default: as in the main report. */
  pairs?: readonly MethodPair[];
  /** See `BootstrapOptions`. */
  weightsId?: (method: string) => string;
  /** Whether to compare each method's models as well. */
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

interface Cell {
  selection: Selection;
  measure: Measure;
  n: number;
  /** The mean over models; null without this measure, or if its denominator is 0. */
  estimate: (method: string, models: readonly string[]) => Estimate | null;
}

interface Comparison {
  name: Pick<TidyContrast, 'method' | 'against' | 'model' | 'against_model'>;
  models: readonly string[];
  againstModels: readonly string[];
}

/**
 * Summarises results as tidy rows and contrasts with 95 % bootstrap intervals (see
 * `bootstrap.ts`). Contrasts with `model: 'all'`, the mean over models, exist only for
 * the benchmarks `all`, `average` and `many`.
 */
export function summariseResults(
  results: readonly QuestionResult[],
  options: SummaryOptions = {},
): TidyResults {
  const {
    measures = MAIN_MEASURES,
    filter = () => true,
    paper = () => null,
    stratum = selectionKey,
    resamples,
    weightsId,
  } = options;
  const table = scoreTable(results, measures);
  const { questions, runs } = table;
  const strata = groupStrata(questions.map(stratum));
  const random = createRandom(`bootstrap/${options.seed ?? 0}`);
  const bootstrap = createBootstrap(table, strata, { random, resamples, weightsId });

  const selections = listSelections(questions)
    .filter(filter)
    .map((selection) => ({ selection, weights: selectionWeights(questions, selection) }));
  const groups = [...new Map(runs.map((run) => [`${run.method} ${run.model}`, run])).values()];
  const comparisons = (options.pairs ?? PAIRS).flatMap((pair) => methodComparisons(groups, pair));
  if (options.comparesModels) comparisons.push(...modelComparisons(groups));

  const createCells = (measure: Measure): Cell[] => {
    const columns = [measure.metric, denominatorColumn(measure.metric)].filter((name) =>
      table.columns.includes(name),
    );
    const estimators = memoisedByNames((method: string, model: string) =>
      columns.map((column) => bootstrap.estimator({ method, model }, column)),
    );
    return selections.map(({ selection, weights }): Cell => {
      if (measure.subsets && !measure.subsets.includes(selection.subset))
        return { selection, measure, n: 0, estimate: () => null };
      const estimateGroup = memoisedByNames((method: string, model: string): Estimate | null => {
        const [of, per] = estimators(method, model).map((estimate) => estimate(weights));
        return per ? contrastEstimate(of, per, 'ratio') : of;
      });
      const estimate: Cell['estimate'] = (method, models) => {
        const estimates = models.flatMap((model) => estimateGroup(method, model) ?? []);
        return estimates.length === models.length ? meanEstimate(estimates) : null;
      };
      const { includes = () => true } = measure;
      const n = questions.filter((q) => isSelected(q, selection) && includes(q)).length;
      return { selection, measure, n, estimate };
    });
  };
  const createRow = (
    { method, model }: Run,
    { selection, measure: { metric }, n, estimate }: Cell,
  ): TidyRow[] => {
    const figure = estimate(method, [model]);
    if (!figure) return [];
    const seeds = runs.filter((run) => run.method === method && run.model === model).length;
    const name = { method, model, ...selection, metric };
    return [{ ...name, ...rounded(percentileInterval(figure)), n, seeds, paper: paper(name) }];
  };

  // One measure at a time: the resamples of all measures would not fit into memory.
  const tables = measures.map((measure) => {
    const cells = createCells(measure);
    return {
      rows: groups.map((run) => cells.map((cell) => createRow(run, cell))),
      contrasts: comparisons.map((pair) => cells.map((cell) => createContrasts(pair, cell))),
    };
  });
  return {
    rows: inOrder(tables.map((table) => table.rows)),
    contrasts: inOrder(tables.map((table) => table.contrasts)),
    provenance: options.provenance ?? {},
  };
}

/** Reorders rows from measure, group, selection to group, selection, measure. */
const inOrder = <Row>(byMeasure: readonly Row[][][][]): Row[] =>
  (byMeasure[0] ?? []).flatMap((bySelection, group) =>
    bySelection.flatMap((_, place) => byMeasure.flatMap((rows) => rows[group][place])),
  );

const findModels = (groups: readonly Run[], name: string): string[] =>
  groups.filter(({ method }) => method === name).map(({ model }) => model);

/** Compares two methods for each model, and for all models that both have. */
function methodComparisons(groups: readonly Run[], [method, against]: MethodPair): Comparison[] {
  const others = findModels(groups, against);
  const models = findModels(groups, method)
    .filter((model) => others.includes(model))
    .sort();
  const scopes = models.map((model) => ({ model, models: [model] }));
  if (models.length > 1) scopes.push({ model: 'all', models });
  return scopes.map(({ model, models }) => {
    return { name: { method, against, model }, models, againstModels: models };
  });
}

/** Compares base with instruct for every method that has both. */
const modelComparisons = (groups: readonly Run[]): Comparison[] => {
  const [model, against_model] = ['base', 'instruct'];
  return [...new Set(groups.map(({ method }) => method))]
    .filter((method) => findModels(groups, method).length === 2)
    .map((method) => {
      const name = { method, against: method, model, against_model };
      return { name, models: [model], againstModels: [against_model] };
    });
};

function createContrasts({ name, models, againstModels }: Comparison, cell: Cell): TidyContrast[] {
  const { selection, measure, estimate } = cell;
  if (name.model === 'all' && !['all', 'average', MANY].includes(selection.benchmark)) return [];
  const [ours, theirs] = [estimate(name.method, models), estimate(name.against, againstModels)];
  if (!ours || !theirs) return [];
  const kinds = measure.byRatio ? (['difference', 'ratio'] as const) : (['difference'] as const);
  return kinds.flatMap((kind) => {
    const contrast = contrastEstimate(ours, theirs, kind);
    if (!contrast) return [];
    const { metric } = measure;
    return [{ ...name, ...selection, metric, kind, ...rounded(percentileInterval(contrast)) }];
  });
}

/** Rounds to six decimals, so that files are equal across machines. */
const rounded = ({ value, low, high }: Interval): Interval => {
  const round = (x: number): number => Number(x.toFixed(6));
  return { value: round(value), low: round(low), high: round(high) };
};
