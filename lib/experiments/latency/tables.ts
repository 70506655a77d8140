/** The tables of the latency report: what was measured, and beside it what the model of time gives. */
import {
  requestCosts,
  retrieverOf,
  type ConcurrencyLimit,
  type LatencyContrast,
  type LatencyResults,
  type LatencyRow,
} from './measures.js';
import { modelCalls, questionMs, type AskingName } from './model.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import { tableOf, type Table } from '../../report/frame.js';

type Record_ = Record<string, string | number>;

/** Readable name of a retriever, with its delay. */
export function retrieverTitle({ record }: Pick<LatencyResults, 'record'>, name: string): string {
  const { place, delayMs } = retrieverOf(record, name);
  if (place === 'embedded') return delayMs === 0 ? 'embedded' : `embedded, ${delayMs} ms delay`;
  return delayMs === 0 ? 'local HTTP' : `HTTP, ${delayMs} ms delay`;
}

/** Readable name of a way of asking. */
export function askingTitle(method: AskingName, limit: ConcurrencyLimit | null = 'unlimited'): string {
  if (method === 'in-turns') return 'in turns';
  if (method === 'one-request') return 'one turn, one request';
  return limit === 'unlimited' ? 'one turn, no limit' : `one turn, ${limit} at a time`;
}

/** Names of the retrievers in the order of the configuration. */
export function retrieversOf({ record }: Pick<LatencyResults, 'record'>): string[] {
  return record.config.retrievers.map(({ name }) => name);
}

type RowQuery = Partial<Pick<LatencyRow, 'retriever' | 'method' | 'limit' | 'sub_queries'>>;

/** Measured rows with the given names. */
export function wallRows({ tidy }: Pick<LatencyResults, 'tidy'>, query: RowQuery): LatencyRow[] {
  return tidy.rows.filter(
    (row) =>
      row.metric === 'wall_ms' &&
      Object.entries(query).every(([key, value]) => row[key as keyof LatencyRow] === value),
  );
}

/** Milliseconds with as many decimals as they deserve. */
export function msText(ms: number): string {
  return ms.toFixed(ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

const spreadText = ({ value, low, high }: Interval): string =>
  `${msText(value)} [${msText(low)}, ${msText(high)}]`;

/** Wall clock by number of sub-queries and way of asking for one retriever, the model's figure beside each. */
export function wallClockTable(results: LatencyResults, retriever: string): Table {
  const ways = [
    ['in-turns', null],
    ['one-turn', 'unlimited'],
    ['one-request', null],
  ] as const;
  const records = results.record.config.numQueries.map((n) => {
    const record: Record_ = { 'Sub-queries': n };
    for (const [method, limit] of ways) {
      const [row] = wallRows(results, { retriever, method, limit, sub_queries: n });
      if (!row) continue;
      record[`${askingTitle(method, limit)} · ms [quartiles]`] = spreadText(row);
      record[`${askingTitle(method, limit)} · model`] = msText(row.predicted);
    }
    const ratio = findRatio(results, { retriever, method: 'one-turn', limit: 'unlimited', sub_queries: n });
    if (ratio) record['one turn / in turns · measured'] = ratio.value.toFixed(2);
    if (ratio) record['one turn / in turns · model'] = ratio.predicted.toFixed(2);
    return record;
  });
  return tableOf(
    `Wall clock of a whole set of sub-queries: ${retrieverTitle(results, retriever)}, ${repeatsText(results, retriever)}.`,
    records,
  );
}

function findRatio({ tidy }: LatencyResults, query: RowQuery): LatencyContrast | undefined {
  return tidy.contrasts.find((contrast) =>
    Object.entries(query).every(([key, value]) => contrast[key as keyof LatencyContrast] === value),
  );
}

function repeatsText(results: LatencyResults, retriever: string): string {
  const [row] = wallRows(results, { retriever });
  return `median of ${row.n} repeats over ${row.seeds} ${row.seeds === 1 ? 'seed' : 'seeds'}`;
}

/** What a concurrency limit costs a turn of `numQueries` sub-queries, default the most that were measured. */
export function concurrencyTable(results: LatencyResults, numQueries = mostQueries(results)): Table {
  const records = retrieversOf(results).map((retriever) => {
    const record: Record_ = { Retriever: retrieverTitle(results, retriever) };
    for (const row of wallRows(results, { retriever, method: 'one-turn', sub_queries: numQueries })) {
      const title = row.limit === 'unlimited' ? 'no limit' : `${row.limit} at a time`;
      record[`${title} · ms [quartiles]`] = spreadText(row);
      record[`${title} · model`] = msText(row.predicted);
    }
    return record;
  });
  return tableOf(
    `${numQueries} sub-queries in one turn, a request for each, by how many may be on the way.`,
    records,
  );
}

/** The largest set that was measured. */
export function mostQueries({ record }: Pick<LatencyResults, 'record'>): number {
  return Math.max(...record.config.numQueries);
}

/** The three costs that the model knows, for each retriever. */
export function requestCostTable(results: LatencyResults): Table {
  const records = retrieversOf(results).map((retriever): Record_ => {
    const { callMs, serviceMs, delayMs } = requestCosts(results.record, retriever);
    return {
      Retriever: retrieverTitle(results, retriever),
      'request, ms': msText(callMs),
      'search, ms a query': msText(serviceMs),
      'delay, ms (as set)': delayMs,
    };
  });
  return tableOf('Costs of a request, from single sub-queries to undelayed retrievers.', records);
}

/** How far the model is from what was measured. */
export function modelFitTable(results: LatencyResults): Table {
  const records = retrieversOf(results).map((retriever) => {
    const record: Record_ = { Retriever: retrieverTitle(results, retriever) };
    const ways = new Map<string, number[]>();
    for (const row of wallRows(results, { retriever }).filter((r) => r.sub_queries > 1)) {
      const title = askingTitle(row.method, row.limit);
      ways.set(title, [...(ways.get(title) ?? []), row.predicted / row.value]);
    }
    for (const [title, ratios] of ways) {
      record[title] = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    }
    return record;
  });
  return tableOf(
    'Model over measurement for sets of 2 sub-queries and more, lowest to highest; 1 is a perfect prediction.',
    records,
  );
}

/** A question in turns and in one turn without limit, and the median time of its searches. */
function questionWays(results: LatencyResults, retriever: string, numQueries: number) {
  return (
    [
      ['in-turns', null],
      ['one-turn', 'unlimited'],
    ] as const
  ).map(([method, limit]) => {
    const [row] = wallRows(results, { retriever, method, limit, sub_queries: numQueries });
    if (row) return { method, numQueries, searchMs: row.value };
    throw new Error(
      `Expected ${askingTitle(method, limit)} to be measured with ${numQueries} sub-queries, but it was not. Measured were ${results.record.config.numQueries.join(', ')}.`,
    );
  });
}

/** How many times as fast a question is in one turn, when a call of the model takes `generationMs`. */
export function questionSpeedUp(
  results: LatencyResults,
  { retriever, numQueries, generationMs }: { retriever: string; numQueries: number; generationMs: number },
): number {
  const [inTurns, oneTurn] = questionWays(results, retriever, numQueries);
  const total = (way: typeof inTurns): number => questionMs(way, { searchMs: way.searchMs, generationMs });
  return total(inTurns) / total(oneTurn);
}

/** Whole questions: the model's calls at the stated time each, and the measured search. Dashes where none is stated. */
export function questionTimeTable(results: LatencyResults, numQueries: readonly number[] = [2, 3, 5]): Table {
  const generationMs = results.generation?.msPerCall;
  const records = retrieversOf(results).flatMap((retriever) =>
    numQueries.map((n): Record_ => {
      const record: Record_ = { Retriever: retrieverTitle(results, retriever), 'Sub-questions': n };
      const ways = questionWays(results, retriever, n);
      for (const way of ways) record[`calls of the model · ${askingTitle(way.method)}`] = modelCalls(way);
      for (const way of ways) record[`search, ms · ${askingTitle(way.method)}`] = msText(way.searchMs);
      for (const way of ways) {
        const total = generationMs && questionMs(way, { searchMs: way.searchMs, generationMs });
        record[`question, ms · ${askingTitle(way.method)}`] = total ? msText(total) : '–';
      }
      const faster = generationMs && questionSpeedUp(results, { retriever, numQueries: n, generationMs });
      return { ...record, 'times as fast': faster ? faster.toFixed(2) : '–' };
    }),
  );
  return tableOf(`Time of a question with independent sub-questions. ${generationText(results)}`, records);
}

/** Where the time of a call of the model comes from, or that nothing says it. */
export function generationText({ generation }: Pick<LatencyResults, 'generation'>): string {
  if (!generation)
    return 'No evaluation is there to say how long a call of the model takes: whole questions are left out.';
  return `A call of the model takes ${msText(generation.msPerCall)} ms: ${generation.source}.`;
}
