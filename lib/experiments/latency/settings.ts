/** What the latency experiment measures: retrievers that compute, answer over HTTP, or keep one waiting, and ways of asking them. */
import type { Asking } from './model.js';

export interface LatencyRetriever {
  name: string;
  /** In the asking process, or behind HTTP in a process of its own. */
  place: 'embedded' | 'server';
  /** Artificial waiting time of each request, milliseconds. */
  delayMs: number;
  /** Measurements of every setting, for each seed. */
  repeats: number;
  /** How long all of it takes, for an estimate and nothing else. */
  roughSeconds: number;
}

export const LATENCY_RETRIEVERS: readonly LatencyRetriever[] = [
  { name: 'embedded', place: 'embedded', delayMs: 0, repeats: 20, roughSeconds: 1 },
  { name: 'http', place: 'server', delayMs: 0, repeats: 20, roughSeconds: 15 },
  { name: 'slow-50', place: 'server', delayMs: 50, repeats: 2, roughSeconds: 45 },
  { name: 'slow-200', place: 'server', delayMs: 200, repeats: 1, roughSeconds: 100 },
];

export type ConcurrencyLimit = number | 'unlimited';

export interface LatencySettings {
  /** Each decides which sub-queries are drawn, and in which order the settings are measured. */
  seeds: readonly number[];
  /** Sizes of the sets of sub-queries. */
  numQueries: readonly number[];
  /** Concurrency limits of one turn with a request for each sub-query. */
  limits: readonly ConcurrencyLimit[];
  /** Passages for each sub-query. */
  topK: number;
  /** Times that the largest set is asked in every way before anything is measured. */
  warmUps: number;
}

export const LATENCY_SETTINGS: LatencySettings = {
  seeds: [1, 2, 3],
  numQueries: [1, 2, 3, 4, 5, 6, 7, 8],
  limits: [1, 2, 4, 'unlimited'],
  topK: 3,
  warmUps: 3,
};

/** All ways of asking that are measured. */
export const askingsOf = ({ numQueries, limits }: Pick<LatencySettings, 'numQueries' | 'limits'>): Asking[] =>
  numQueries.flatMap((n): Asking[] => [
    { method: 'in-turns', limit: null, numQueries: n },
    ...limits.map((limit): Asking => ({ method: 'one-turn', limit, numQueries: n })),
    { method: 'one-request', limit: null, numQueries: n },
  ]);

/** A way of asking for readers, such as `one turn, 2 at a time`. */
export function askingTitle({ method, limit }: Pick<Asking, 'method' | 'limit'>): string {
  if (method === 'in-turns') return 'in turns';
  if (method === 'one-request') return 'one turn, one request';
  return limit === 'unlimited' ? 'one turn, no limit' : `one turn, ${limit} at a time`;
}
