import { range } from 'd3-array';
import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';
import { type RetrievedPassage, type Retriever, requireInteger } from './retriever.js';

export type SearchOutcome =
  | { status: 'ok'; passages: RetrievedPassage[] }
  | { status: 'failed'; reason: string; isTimeout?: true };

interface SearchOptions {
  topK: number;
  /** Timeout of a request to the retriever, in ms. Default: 10,000. */
  timeoutMs?: number;
  /** Timeout of the whole search, in ms, including queueing. */
  deadlineMs?: number;
  /** Maximum number of concurrent requests. Default: 8. */
  maxConcurrency?: number;
  /** Maximum number of queries per request. Default: 32. */
  batchSize?: number;
  /** Aborts the search: `searchAll` rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Caches answers, but not failures, across calls. */
  cache?: SearchCache;
}

/** A `Map`, or a bounded cache such as lru-cache. */
export interface SearchCache {
  get(key: string): RetrievedPassage[] | undefined;
  set(key: string, passages: RetrievedPassage[]): unknown;
}

type SettledOptions = SearchOptions &
  Required<Pick<SearchOptions, 'timeoutMs'>> & {
    /** On the clock of `performance.now`; may be infinite. */
    endMs: number;
  };

/**
 * Retrieves for all queries in concurrent batches. Duplicates (after trimming) are
 * fetched once. A failed batch is retried query by query, unless it timed out: a search
 * turn must end in time. Queries that still fail get a `failed` outcome, as do empty
 * queries, which are not sent.
 * @returns one outcome per query, in order. Duplicates share passages: do not mutate them
 */
export async function searchAll(
  retriever: Retriever,
  queries: readonly string[],
  options: SearchOptions,
): Promise<SearchOutcome[]> {
  const { topK, timeoutMs = 10_000, maxConcurrency = 8, batchSize = 32, signal, cache } = options;
  const { deadlineMs } = options;
  const counts = { topK, timeoutMs, maxConcurrency, batchSize, ...(deadlineMs && { deadlineMs }) };
  Object.entries(counts).forEach((entry) => requireInteger(...entry));
  signal?.throwIfAborted();
  const startMs = performance.now();
  const keys = queries.map((query) => query.trim());
  const outcomes = new Map<string, SearchOutcome>();
  const wanted = [...new Set(keys)].filter((query) => {
    const outcome = immediateOutcome(query, cache?.get(cacheKey(retriever, topK, query)));
    if (outcome) outcomes.set(query, outcome);
    return !outcome;
  });
  const limit = pLimit(maxConcurrency);
  const searches = range(0, wanted.length, batchSize).map((start) =>
    searchBatch(retriever, wanted.slice(start, start + batchSize), {
      limit,
      ...options,
      timeoutMs,
      endMs: startMs + (deadlineMs ?? Infinity),
    }),
  );
  (await Promise.all(searches)).flat().forEach((outcome, i) => {
    outcomes.set(wanted[i], outcome);
    if (outcome.status === 'ok') cache?.set(cacheKey(retriever, topK, wanted[i]), outcome.passages);
  });
  return keys.map((query) => outcomes.get(query)!);
}

/** Whether the retriever did not return in time. */
export const isTimedOutSearch = (result: { status: string; isTimeout?: true }): boolean =>
  result.isTimeout === true;

function immediateOutcome(
  query: string,
  passages: RetrievedPassage[] | undefined,
): SearchOutcome | undefined {
  if (query === '')
    return { status: 'failed', reason: 'Expected a query, but got only white space.' };
  return passages && { status: 'ok', passages };
}

/** Caches the passages of the latest 20,000 queries. */
export const createSearchCache = (): NonNullable<SearchOptions['cache']> =>
  new LRUCache<string, RetrievedPassage[]>({ max: 20_000 });

function cacheKey(retriever: Retriever, topK: number, query: string): string {
  return JSON.stringify([retriever.name, topK, query]);
}

/** The outcomes of one batch; rejects only if the search is aborted. */
async function searchBatch(
  retriever: Retriever,
  batch: readonly string[],
  options: SettledOptions & { limit: LimitFunction },
): Promise<SearchOutcome[]> {
  try {
    const lists = await options.limit(() => request(retriever, batch, options));
    return lists.map((passages) => ({ status: 'ok', passages }));
  } catch (error) {
    options.signal?.throwIfAborted();
    if (batch.length > 1 && !isTimeout(error)) {
      const singles = batch.map((query) => searchBatch(retriever, [query], options));
      return (await Promise.all(singles)).flat();
    }
    const reason = error instanceof Error ? error.message : String(error);
    return batch.map(() => ({
      status: 'failed',
      reason,
      ...(isTimeout(error) && { isTimeout: true }),
    }));
  }
}

/** One request, abandoned on timeout or abort even if the signal is ignored. */
async function request(
  retriever: Retriever,
  queries: readonly string[],
  { topK, timeoutMs, endMs, signal }: SettledOptions,
): Promise<RetrievedPassage[][]> {
  signal?.throwIfAborted();
  // Not AbortSignal.timeout, which neither keeps the process alive nor can be cleared.
  const controller = new AbortController();
  const limitMs = Math.min(timeoutMs, Math.max(0, Math.ceil(endMs - performance.now())));
  const late = new DOMException(
    `Expected passages within ${limitMs} ms, but got none.`,
    'TimeoutError',
  );
  if (limitMs === 0) throw late;
  const timer = setTimeout(() => controller.abort(late), limitMs);
  const forward = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', forward, { once: true });
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
  });
  try {
    const lists = await Promise.race([
      retriever.retrieve(queries, { topK, signal: controller.signal }),
      ended,
    ]);
    requireLists(lists, queries.length);
    return lists;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', forward);
  }
}

function requireLists(lists: readonly unknown[], numQueries: number): void {
  const isList = Array.isArray(lists);
  if (!isList || lists.length !== numQueries)
    throw new Error(
      `Expected ${numQueries} lists of passages, but got ${isList ? lists.length : JSON.stringify(lists)}.`,
    );
  for (const item of lists.flat()) {
    const { passage } = (item ?? {}) as Partial<RetrievedPassage>;
    if (typeof passage?.title !== 'string' || typeof passage.text !== 'string')
      throw new Error(
        `Expected items such as { passage: { id, title, text }, score }, but got ${JSON.stringify(item)?.slice(0, 100)}.`,
      );
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}
