/** Looking things up in a tidy table, and writing figures as readers expect them. */
import { BENCHMARK_TITLES } from '../evaluation/metrics.js';
import { METHODS } from '../methods/index.js';
import type { Interval } from '../evaluation/bootstrap.js';
import type { TidyContrast, TidyResults, TidyRow } from '../evaluation/table.js';

export { methodTitle } from '../methods/index.js';

export const SUBSET_TITLES: Readonly<Record<string, string>> = {
  all: 'all questions',
  single_hop: 'single hop',
  parallelizable: 'parallelizable',
  parallelizable_2_to_4: 'parallel, 2 to 4',
  parallelizable_5: 'parallel, 5',
  sequential: 'sequential',
  hybrid: 'hybrid',
};

/** Readable name of a benchmark, with the paper's spelling. */
export function benchmarkTitle(benchmark: string): string {
  if (benchmark === 'average') return 'Average';
  return benchmark === 'all' ? 'All questions' : (BENCHMARK_TITLES[benchmark] ?? benchmark);
}

type RowQuery = Partial<Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'subset' | 'metric'>>;
type ContrastQuery = Partial<
  Pick<TidyContrast, 'method' | 'against' | 'model' | 'benchmark' | 'subset' | 'metric' | 'kind'>
>;

function matches(item: object, query: object): boolean {
  const fields = item as Record<string, unknown>;
  return Object.entries(query).every(([key, value]) => fields[key] === value);
}

/** All rows with the given names. */
export function rowsOf(tidy: TidyResults, query: RowQuery): TidyRow[] {
  return tidy.rows.filter((row) => matches(row, query));
}

/** The one row of a cell, or undefined where nothing was evaluated. */
export function findRow(tidy: TidyResults, query: RowQuery): TidyRow | undefined {
  return tidy.rows.find((row) => matches(row, query));
}

/** The one contrast of a cell, or undefined where one of the two methods was not evaluated. */
export function findContrast(tidy: TidyResults, query: ContrastQuery): TidyContrast | undefined {
  return tidy.contrasts.find((contrast) => matches(contrast, query));
}

/** The methods of a table, from no search to parallel search. */
export function methodsOf(tidy: TidyResults): string[] {
  const known = METHODS.names();
  const rank = (method: string): number => (known.indexOf(method) + known.length + 1) % (known.length + 1);
  return [...new Set(tidy.rows.map((row) => row.method))].sort((a, b) => rank(a) - rank(b));
}

/** The starting points of a table. */
export function modelsOf(tidy: TidyResults): string[] {
  return [...new Set(tidy.rows.map((row) => row.model))].sort();
}

/** The benchmarks of a table in the paper's order, without `all` and `average`. */
export function benchmarksOf(tidy: TidyResults): string[] {
  return [...new Set(tidy.rows.map((row) => row.benchmark))].filter(
    (name) => !['all', 'average'].includes(name),
  );
}

/** A share or a mean with three decimals by default; a dash where there is none. */
export function figureText(value: number | null | undefined, decimals = 3): string {
  if (value === null || value === undefined) return '–';
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '−');
}

/** `0.523 [0.498, 0.547]`. */
export function intervalText(interval: Interval | undefined, decimals = 3): string {
  if (!interval) return '–';
  const [value, low, high] = [interval.value, interval.low, interval.high].map((x) =>
    figureText(x, decimals),
  );
  return `${value} [${low}, ${high}]`;
}

/** A difference of shares in points, with its sign: `+5.5`. */
export function pointsText(difference: number | null | undefined): string {
  if (difference === null || difference === undefined) return '–';
  const points = Number((100 * difference).toFixed(1));
  return `${points > 0 ? '+' : points < 0 ? '−' : ''}${Math.abs(points).toFixed(1)}`;
}

/** `+5.5 [+2.1, +8.8]`, in points. */
export function pointsIntervalText(interval: Interval | undefined): string {
  if (!interval) return '–';
  return `${pointsText(interval.value)} [${pointsText(interval.low)}, ${pointsText(interval.high)}]`;
}
