/**
 * Measures and models how long sets of sub-queries take: work is serial, waiting is
 * shared. Within a repeat, all ways of asking send the same sub-queries in a random
 * order, so that other load on the machine affects all of them alike.
 */
import { type Question, evaluatedQuestions, graphQuestionType } from '../../data/question.js';
import { serve, startWorker, type Worker } from '../../io/processes.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { searchAll } from '../../retrieval/search.js';
import { startRetrievalServer } from '../../retrieval/server.js';
import { loadWorld, type World } from '../../retrieval/small-world.js';

export interface LatencyRetriever {
  name: string;
  /** In this process, or behind HTTP in a process of its own. */
  place: 'embedded' | 'server';
  /** Artificial delay of each request. */
  delayMs: number;
  /** Number of measurements of every setting, per seed. */
  repeats: number;
  /** For the estimate only. */
  roughSeconds: number;
}

export const LATENCY_RETRIEVERS: readonly LatencyRetriever[] = [
  { name: 'embedded', place: 'embedded', delayMs: 0, repeats: 20, roughSeconds: 1 },
  { name: 'http', place: 'server', delayMs: 0, repeats: 20, roughSeconds: 15 },
  { name: 'slow-50', place: 'server', delayMs: 50, repeats: 2, roughSeconds: 45 },
  { name: 'slow-200', place: 'server', delayMs: 200, repeats: 1, roughSeconds: 100 },
];

interface LatencySettings {
  /** Each seed draws other sub-queries and another order. */
  seeds: readonly number[];
  /** Sizes of the sets of sub-queries. */
  numQueries: readonly number[];
  /** Concurrency limits for one turn with a request per sub-query. */
  limits: readonly (number | 'unlimited')[];
  topK: number;
  /** How often the largest set is asked in every way before measuring. */
  warmUps: number;
}

export const LATENCY_SETTINGS: LatencySettings = {
  seeds: [1, 2, 3],
  numQueries: [1, 2, 3, 4, 5, 6, 7, 8],
  limits: [1, 2, 4, 'unlimited'],
  topK: 3,
  warmUps: 3,
};

export interface Asking {
  /** A turn per sub-query, one turn with a request each, or one turn with one request. */
  method: 'in-turns' | 'one-turn' | 'one-request';
  /** Maximum number of concurrent requests; null if there is never more than one. */
  limit: number | 'unlimited' | null;
  numQueries: number;
}

export const allAskings = ({
  numQueries,
  limits,
}: Pick<LatencySettings, 'numQueries' | 'limits'>): Asking[] =>
  numQueries.flatMap((n): Asking[] => [
    { method: 'in-turns', limit: null, numQueries: n },
    ...limits.map((limit): Asking => ({ method: 'one-turn', limit, numQueries: n })),
    { method: 'one-request', limit: null, numQueries: n },
  ]);

/** Describes a way of asking: `one turn, 2 at a time`. */
export function askingTitle({ method, limit }: Pick<Asking, 'method' | 'limit'>): string {
  if (method === 'in-turns') return 'in turns';
  if (method === 'one-request') return 'one turn, one request';
  return limit === 'unlimited' ? 'one turn, no limit' : `one turn, ${limit} at a time`;
}

/** Costs of a request, in milliseconds. */
export interface RequestCosts {
  /** Overhead: our own code, HTTP and JSON, whatever the number of queries. */
  callMs: number;
  /** Search time per query. */
  serviceMs: number;
  /** Waiting time, during which the processor is idle. */
  delayMs: number;
}

/**
 * Wall clock (ms) of equal requests with at most `limit` in flight. Each works for
 * `workMs`, then waits for `delayMs`; work is serial, waiting overlaps.
 */
export function requestsMs(
  numRequests: number,
  { limit, workMs, delayMs }: { limit: number; workMs: number; delayMs: number },
): number {
  const ends: number[] = [];
  let workEnd = 0;
  for (let i = 0; i < numRequests; i++) {
    const freeAt = i < limit ? 0 : ends[i - limit];
    workEnd = Math.max(workEnd, freeAt) + workMs;
    ends.push(workEnd + delayMs);
  }
  return ends.at(-1) ?? 0;
}

/** The modelled time of a set; the parts add up to the wall clock `totalMs`. */
export function predictTime({ method, limit, numQueries }: Asking, costs: RequestCosts) {
  const isOne = method === 'one-request';
  const [numRequests, perRequest] = isOne ? [1, numQueries] : [numQueries, 1];
  const most = method === 'one-turn' ? (typeof limit === 'number' ? limit : Infinity) : 1;
  const workMs = costs.callMs + perRequest * costs.serviceMs;
  const totalMs = requestsMs(numRequests, { limit: most, workMs, delayMs: costs.delayMs });
  const callMs = numRequests * costs.callMs;
  const serviceMs = numQueries * costs.serviceMs;
  return { callMs, serviceMs, waitingMs: Math.max(0, totalMs - callMs - serviceMs), totalMs };
}

/** Model calls per question: one per search turn and one for the answer. */
export const modelCalls = ({ method, numQueries }: Pick<Asking, 'method' | 'numQueries'>): number =>
  (method === 'in-turns' ? numQueries : 1) + 1;

/** Wall clock of sets of sub-queries that are asked in one way. */
export interface LatencyMeasurement extends Asking {
  retriever: string;
  /** Sample i asks the same sub-queries in all settings of a retriever. */
  samplesMs: number[];
}

interface MeasureOptions {
  settings: LatencySettings;
  repeats: number;
  /** Distinct sub-queries to draw from. */
  queries: readonly string[];
  onProgress?: (fraction: number) => void;
}

const maxQueries = ({ numQueries }: LatencySettings): number => Math.max(...numQueries);

function* repeatRandoms({ settings: { seeds }, repeats }: MeasureOptions) {
  for (let i = 0; i < seeds.length * repeats; i++)
    yield createRandom(`latency/${seeds[i % seeds.length]}/${i}`);
}

/** Wall clock of one set, in milliseconds. */
async function timeSet(
  retriever: Retriever,
  queries: readonly string[],
  { method, limit, topK }: Pick<Asking, 'method' | 'limit'> & { topK: number },
): Promise<number> {
  const turns = method === 'in-turns' ? queries.map((query) => [query]) : [queries];
  const options = {
    topK,
    batchSize: method === 'one-request' ? queries.length : 1,
    maxConcurrency: limit === 'unlimited' ? queries.length : (limit ?? 1),
  };
  const results = [];
  const start = performance.now();
  for (const turn of turns) results.push(await searchAll(retriever, turn, options));
  const elapsedMs = performance.now() - start;
  for (const outcome of results.flat()) {
    if (outcome.status === 'failed')
      throw new Error(
        `Expected every search of ${retriever.name} to succeed, but got: ${outcome.reason}`,
      );
  }
  return Number(elapsedMs.toFixed(4));
}

/**
 * Times every way of asking after a warm-up, `repeats` times per seed.
 * @returns measurements in the order of {@link allAskings}
 * @throws RangeError for too few sub-queries, Error if a search fails
 */
export async function measureLatency(
  retriever: Retriever,
  options: MeasureOptions,
): Promise<LatencyMeasurement[]> {
  const { settings, repeats, queries, onProgress } = options;
  const [{ topK }, most] = [settings, maxQueries(settings)];
  if (queries.length < most)
    throw new RangeError(`Expected at least ${most} queries, but got ${queries.length}.`);
  const warmUp = queries.slice(0, most);
  for (let i = 0; i < settings.warmUps; i++)
    for (const asking of allAskings({ ...settings, numQueries: [most] }))
      await timeSet(retriever, warmUp, { ...asking, topK });
  const measurements = allAskings(settings).map((asking): LatencyMeasurement => {
    return { retriever: retriever.name, ...asking, samplesMs: [] };
  });
  let numDone = 0;
  for (const random of repeatRandoms(options)) {
    const drawn = random.shuffle(queries).slice(0, most);
    for (const { numQueries, samplesMs, ...asking } of random.shuffle(measurements))
      samplesMs.push(await timeSet(retriever, drawn.slice(0, numQueries), { ...asking, topK }));
    onProgress?.(++numDone / (settings.seeds.length * repeats));
  }
  return measurements;
}

/** Times single searches, without search turn and request. */
export async function measureService(
  retriever: Retriever,
  options: MeasureOptions,
): Promise<number[]> {
  const { settings, queries } = options;
  const timeSearch = async (query: string): Promise<number> => {
    const start = performance.now();
    await retriever.retrieve([query], { topK: settings.topK });
    return Number((performance.now() - start).toFixed(4));
  };
  for (let i = 0; i < settings.warmUps; i++)
    for (const query of queries.slice(0, maxQueries(settings))) await timeSearch(query);
  const samplesMs: number[] = [];
  for (const random of repeatRandoms(options))
    for (const query of random.shuffle(queries).slice(0, maxQueries(settings)))
      samplesMs.push(await timeSearch(query));
  return samplesMs;
}

/** The sub-queries of the evaluated parallelizable questions. */
export function independentQueries(questions: readonly Question[]): string[] {
  const graphs = evaluatedQuestions(questions)
    .flatMap(({ metadata }) => (metadata.graph ? [metadata.graph] : []))
    .filter((graph) => graphQuestionType(graph) === 'parallelizable');
  return [...new Set(graphs.flatMap((graph) => graph.map(({ query }) => query.trim())))].sort();
}

/** Receives the artificial delay of requests in ms, and returns the URL to post to. */
type LatencyServer = Worker<{ delayMs: number }, string>;

/** Serves BM25 in a separate process, so that asking and searching share no thread. */
export const startLatencyServer = (): LatencyServer => startWorker(import.meta.url);

let world: World | null = null;
serve<{ delayMs: number }, string>(import.meta.url, async ({ delayMs }) => {
  world ??= await loadWorld();
  return (await startRetrievalServer(world.retriever, { delayMs })).url;
});
