/**
 * Measures how long sets of sub-queries take. The settings of a repeat ask the same
 * sub-queries and are measured in a random order, so that what else the machine does
 * falls on all of them alike.
 */
import { type Question, questionShape } from '../../data/question.js';
import { serve, startWorker, type Worker } from '../../io/worker.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { searchAll } from '../../retrieval/search.js';
import { startRetrievalServer } from '../../retrieval/server.js';
import { evaluatedQuestions, loadWorld, type World } from '../world.js';

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
  /**
   * Each decides which sub-queries are drawn, and in which order the settings are
   * measured.
   */
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
export const askingsOf = ({
  numQueries,
  limits,
}: Pick<LatencySettings, 'numQueries' | 'limits'>): Asking[] =>
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

/** Wall clock of sets of sub-queries asked in one way. */
export interface LatencyMeasurement extends Asking {
  retriever: string;
  /**
   * Of the whole set, milliseconds; sample i of all settings of a retriever asks the same
   * sub-queries.
   */
  samplesMs: number[];
}

export interface MeasureOptions {
  settings: LatencySettings;
  repeats: number;
  /** Where sub-queries are drawn from; all different. */
  queries: readonly string[];
  /** @param fraction of the repeats that is done */
  onProgress?: (fraction: number) => void;
}

const mostQueries = ({ numQueries }: LatencySettings): number => Math.max(...numQueries);

/** The random numbers of each repeat, seed by seed. */
function* randomsOf({
  settings,
  repeats,
}: MeasureOptions): Generator<ReturnType<typeof createRandom>> {
  const { seeds } = settings;
  for (let i = 0; i < seeds.length * repeats; i++)
    yield createRandom(`latency/${seeds[i % seeds.length]}/${i}`);
}

/**
 * Times every way of asking, `repeats` times for each seed, after the warm-up.
 * @returns the measurements in the order of {@link askingsOf}, `retriever` being the
 * retriever's own name
 * @throws RangeError where there are not enough sub-queries, Error where a search fails:
 * its time would say nothing
 */
export async function measureLatency(
  retriever: Retriever,
  options: MeasureOptions,
): Promise<LatencyMeasurement[]> {
  const { settings, repeats, queries, onProgress } = options;
  const most = mostQueries(settings);
  if (queries.length < most)
    throw new RangeError(
      `Expected at least ${most} sub-queries to draw from, but got ${queries.length}.`,
    );
  const measurements = askingsOf(settings).map((asking): LatencyMeasurement => {
    return { retriever: retriever.name, ...asking, samplesMs: [] };
  });
  await warmUp(retriever, queries.slice(0, most), options);
  let done = 0;
  for (const random of randomsOf(options)) {
    const drawn = random.shuffle(queries).slice(0, most);
    for (const { numQueries, samplesMs, ...asking } of random.shuffle(measurements))
      samplesMs.push(await askMs(retriever, drawn.slice(0, numQueries), { ...asking, ...options }));
    onProgress?.(++done / (settings.seeds.length * repeats));
  }
  return measurements;
}

/** Opens the connections and lets the compiler see the code. */
async function warmUp(
  retriever: Retriever,
  queries: readonly string[],
  options: MeasureOptions,
): Promise<void> {
  const largest = askingsOf({ ...options.settings, numQueries: [queries.length] });
  for (let i = 0; i < options.settings.warmUps; i++)
    for (const asking of largest) await askMs(retriever, queries, { ...asking, ...options });
}

/** Wall clock of one set, milliseconds. */
async function askMs(
  retriever: Retriever,
  queries: readonly string[],
  { method, limit, settings }: Omit<Asking, 'numQueries'> & Pick<MeasureOptions, 'settings'>,
): Promise<number> {
  const turns = method === 'in-turns' ? queries.map((query) => [query]) : [queries];
  const options = {
    topK: settings.topK,
    batchSize: method === 'one-request' ? queries.length : 1,
    maxConcurrency: limit === 'unlimited' ? queries.length : (limit ?? 1),
  };
  const found = [];
  const start = performance.now();
  for (const turn of turns) found.push(await searchAll(retriever, turn, options));
  const elapsedMs = performance.now() - start;
  for (const outcome of found.flatMap(({ outcomes }) => outcomes)) {
    if (outcome.status === 'failed')
      throw new Error(
        `Expected every search of ${retriever.name} to succeed, but one failed: ${outcome.reason}`,
      );
  }
  return Number(elapsedMs.toFixed(4));
}

/** Times single searches by themselves, without search turn and request. */
export async function measureService(
  retriever: Retriever,
  options: MeasureOptions,
): Promise<number[]> {
  const { settings, queries } = options;
  const most = mostQueries(settings);
  const searchMs = async (query: string): Promise<number> => {
    const start = performance.now();
    await retriever.retrieve([query], { topK: settings.topK });
    return Number((performance.now() - start).toFixed(4));
  };
  for (let i = 0; i < settings.warmUps; i++)
    for (const query of queries.slice(0, most)) await searchMs(query);
  const samplesMs: number[] = [];
  for (const random of randomsOf(options))
    for (const query of random.shuffle(queries).slice(0, most))
      samplesMs.push(await searchMs(query));
  return samplesMs;
}

/** What the questions whose sub-questions are independent would be searched with. */
export function independentQueries(questions: readonly Question[]): string[] {
  const graphs = evaluatedQuestions(questions)
    .filter(({ metadata }) => metadata.graph)
    .map(({ metadata }) => metadata.graph!)
    .filter((graph) => questionShape(graph) === 'parallelizable');
  return [...new Set(graphs.flatMap((graph) => graph.map(({ query }) => query.trim())))].sort();
}

/**
 * How sub-queries are asked: a search turn for each, one turn with a request for each, or
 * one turn with one request.
 */
export const ASKING_NAMES = ['in-turns', 'one-turn', 'one-request'] as const;
export type AskingName = (typeof ASKING_NAMES)[number];

/** A set of sub-queries and the way in which it is asked. */
export interface Asking {
  method: AskingName;
  /** Most requests on the way at a time; null where there is only ever one. */
  limit: number | 'unlimited' | null;
  numQueries: number;
}

/** What a request costs, milliseconds. */
export interface RequestCosts {
  /**
   * Asking and answering, however many queries are in the request: our own code, HTTP,
   * JSON.
   */
  callMs: number;
  /** Searching, for each query. */
  serviceMs: number;
  /** Waiting, in which nobody works. */
  delayMs: number;
}

/**
 * Wall clock of equal requests, milliseconds, of which at most `limit` are on the way
 * at a time. Each first works for `workMs`, then waits for `delayMs`; one works at a
 * time, all may wait at once. So `limit` 1 takes the sum of all, and no limit takes all
 * the work and one wait.
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

/** Where the predicted time goes, milliseconds; the three add up to the wall clock. */
export interface PredictedTime {
  callMs: number;
  serviceMs: number;
  /** The part of all waiting during which nothing else is done. */
  waitingMs: number;
  totalMs: number;
}

/** The time that the model gives a set of sub-queries. */
export function predictTime(
  { method, limit, numQueries }: Asking,
  costs: RequestCosts,
): PredictedTime {
  const isOne = method === 'one-request';
  const [numRequests, perRequest] = isOne ? [1, numQueries] : [numQueries, 1];
  const most = method === 'one-turn' ? (typeof limit === 'number' ? limit : Infinity) : 1;
  const workMs = costs.callMs + perRequest * costs.serviceMs;
  const totalMs = requestsMs(numRequests, { limit: most, workMs, delayMs: costs.delayMs });
  const [callMs, serviceMs] = [numRequests * costs.callMs, numQueries * costs.serviceMs];
  return { callMs, serviceMs, waitingMs: Math.max(0, totalMs - callMs - serviceMs), totalMs };
}

/**
 * A whole question, milliseconds: every search turn and the answer cost a call of the
 * model. In turns that is a call for each sub-query and one more; together it is two.
 */
export function questionMs(
  { method, numQueries }: Pick<Asking, 'method' | 'numQueries'>,
  { searchMs, generationMs }: { searchMs: number; generationMs: number },
): number {
  return modelCalls({ method, numQueries }) * generationMs + searchMs;
}

/**
 * Calls of the model for a question of independent sub-queries: one for each search turn,
 * one for the answer.
 */
export function modelCalls({ method, numQueries }: Pick<Asking, 'method' | 'numQueries'>): number {
  return (method === 'in-turns' ? numQueries : 1) + 1;
}

/** A server to open beside those that are open already. */
export interface ServerJob {
  /** Artificial waiting time of each request, milliseconds. */
  delayMs: number;
}
/** Where to post. */
type Url = string;

export function startLatencyServer(): Worker<ServerJob, Url> {
  return startWorker(import.meta.url);
}

let world: World | null = null;
serve<ServerJob, Url>(import.meta.url, async ({ delayMs }) => {
  world ??= await loadWorld();
  return (await startRetrievalServer(world.retriever, { delayMs })).url;
});
