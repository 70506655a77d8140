/**
 * Wall clock of 1 to 8 sub-queries asked in one turn against the same ones in turns, with retrievers that compute, answer
 * over HTTP, or keep one waiting. The settings of a repeat ask the same sub-queries and are measured in a random order, so
 * that what else the machine does falls on all of them alike.
 */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { questionShape, type Question } from '../../data/question.js';
import {
  latencyConfigSchema,
  type LatencyConfig,
  type LatencyMeasurement,
  type LatencyRecord,
  type LatencyRetriever,
} from './measures.js';
import { predictTime, type Asking } from './model.js';
import type { Provenance } from '../../evaluation/table.js';
import { createRandom } from '../../random.js';
import { createRemoteRetriever } from '../../retrieval/remote.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { searchAll } from '../../retrieval/search.js';
import type { Worker } from '../../io/worker.js';
import type { Experiment, ExperimentContext, ExperimentResults } from '../experiment.js';
import { startLatencyServer, type ServerJob } from './server.js';
import { loadWorld, type World } from '../world.js';
import { MINI_WIKI } from '../../io/paths.js';
import { contentHash } from '../../io/hash.js';

export const LATENCY_CONFIG: LatencyConfig = latencyConfigSchema.parse({
  seeds: [1, 2, 3],
  numQueries: [1, 2, 3, 4, 5, 6, 7, 8],
  limits: [1, 2, 4, 'unlimited'],
  topK: 3,
  warmUps: 3,
  retrievers: [
    { name: 'embedded', place: 'embedded', repeats: 20 },
    { name: 'http', place: 'server', repeats: 20 },
    { name: 'slow-50', place: 'server', delayMs: 50, repeats: 2 },
    { name: 'slow-200', place: 'server', delayMs: 200, repeats: 1 },
  ],
});

/** All ways of asking that a configuration measures. */
export function askingsOf({ numQueries, limits }: LatencyConfig): Asking[] {
  return numQueries.flatMap((n): Asking[] => [
    { method: 'in-turns', limit: null, numQueries: n },
    ...limits.map((limit): Asking => ({ method: 'one-turn', limit, numQueries: n })),
    { method: 'one-request', limit: null, numQueries: n },
  ]);
}

export interface MeasureOptions {
  config: LatencyConfig;
  repeats: number;
  /** Where sub-queries are drawn from; all different. */
  queries: readonly string[];
  signal?: AbortSignal;
  /** @param fraction of the repeats that is done */
  onProgress?: (fraction: number) => void;
  /** Milliseconds of a clock; default `performance.now`. */
  now?: () => number;
}

/**
 * Times every way of asking, `repeats` times for each seed, after the warm-up.
 * @returns the measurements in the order of {@link askingsOf}, `retriever` being the retriever's own name
 * @throws Error when a search fails (its time would say nothing), or the signal's reason
 */
export async function measureLatency(
  retriever: Retriever,
  options: MeasureOptions,
): Promise<LatencyMeasurement[]> {
  const { config, repeats, queries, onProgress } = options;
  const askings = askingsOf(config);
  const most = Math.max(...config.numQueries);
  if (queries.length < most)
    throw new RangeError(`Expected at least ${most} sub-queries to draw from, but got ${queries.length}.`);
  const measurements = askings.map((asking): LatencyMeasurement => {
    return { retriever: retriever.name, ...asking, samplesMs: [] };
  });
  await warmUp(retriever, queries.slice(0, most), options);
  const numRepeats = config.seeds.length * repeats;
  for (let i = 0; i < numRepeats; i++) {
    const random = createRandom(`latency/${config.seeds[i % config.seeds.length]}/${i}`);
    const drawn = random.shuffle(queries).slice(0, most);
    for (const { numQueries, samplesMs, ...asking } of random.shuffle(measurements)) {
      samplesMs.push(await askMs(retriever, drawn.slice(0, numQueries), { ...asking, ...options }));
    }
    onProgress?.((i + 1) / numRepeats);
  }
  return measurements;
}

/** Opens the connections and lets the compiler see the code. */
async function warmUp(
  retriever: Retriever,
  queries: readonly string[],
  options: MeasureOptions,
): Promise<void> {
  const largest = askingsOf({ ...options.config, numQueries: [queries.length] });
  for (let i = 0; i < options.config.warmUps; i++) {
    for (const asking of largest) await askMs(retriever, queries, { ...asking, ...options });
  }
}

/** Wall clock of one set, milliseconds. */
async function askMs(
  retriever: Retriever,
  queries: readonly string[],
  {
    method,
    limit,
    config,
    signal,
    now = () => performance.now(),
  }: Omit<Asking, 'numQueries'> & MeasureOptions,
): Promise<number> {
  signal?.throwIfAborted();
  const turns = method === 'in-turns' ? queries.map((query) => [query]) : [queries];
  const settings = {
    topK: config.topK,
    batchSize: method === 'one-request' ? queries.length : 1,
    maxConcurrency: limit === 'unlimited' ? queries.length : (limit ?? 1),
    signal,
  };
  const found = [];
  const start = now();
  for (const turn of turns) found.push(await searchAll(retriever, turn, settings));
  const elapsedMs = now() - start;
  for (const outcome of found.flatMap(({ outcomes }) => outcomes)) {
    if (outcome.status === 'failed')
      throw new Error(
        `Expected every search of ${retriever.name} to succeed, but one failed: ${outcome.reason}`,
      );
  }
  return Number(elapsedMs.toFixed(4));
}

/** Times single searches by themselves, without search turn and request. */
export async function measureService(retriever: Retriever, options: MeasureOptions): Promise<number[]> {
  const { config, repeats, queries, signal, now = () => performance.now() } = options;
  const samplesMs: number[] = [];
  const timeAll = async (some: readonly string[], keep: boolean): Promise<void> => {
    for (const query of some) {
      signal?.throwIfAborted();
      const start = now();
      await retriever.retrieve([query], { topK: config.topK });
      if (keep) samplesMs.push(Number((now() - start).toFixed(4)));
    }
  };
  const most = Math.max(...config.numQueries);
  for (let i = 0; i < config.warmUps; i++) await timeAll(queries.slice(0, most), false);
  for (let i = 0; i < config.seeds.length * repeats; i++) {
    const random = createRandom(`latency/${config.seeds[i % config.seeds.length]}/${i}`);
    await timeAll(random.shuffle(queries).slice(0, most), true);
  }
  return samplesMs;
}

/** What the test questions whose sub-questions are independent would be searched with. */
export function independentQueries(questions: readonly Question[]): string[] {
  const graphs = questions
    .filter(({ split, metadata }) => split === 'test' && metadata.graph)
    .map(({ metadata }) => metadata.graph!)
    .filter((graph) => questionShape(graph) === 'parallelizable');
  return [...new Set(graphs.flatMap((graph) => graph.map(({ query }) => query.trim())))].sort();
}

/** What a request costs besides its delay, roughly: for an estimate and nothing else. */
const ROUGH_CALL_MS = { embedded: 0.05, server: 1.5 };

/** About how long a configuration takes: mostly waiting. */
export function estimateLatencySeconds(config: LatencyConfig): number {
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
  const secondsOf = ({ place, delayMs, repeats }: LatencyRetriever): number => {
    const costs = { callMs: ROUGH_CALL_MS[place], serviceMs: 0, delayMs };
    const ms = (askings: Asking[]): number =>
      sum(askings.map((asking) => predictTime(asking, costs).totalMs));
    const largest = askingsOf({ ...config, numQueries: [Math.max(...config.numQueries)] });
    return (repeats * config.seeds.length * ms(askingsOf(config)) + config.warmUps * ms(largest)) / 1000;
  };
  return sum(config.retrievers.map(secondsOf));
}

type Measured = Pick<LatencyRecord, 'measurements' | 'serviceSamplesMs'>;

/** Measures a retriever and, where it is embedded, its searches by themselves. */
async function measureOne(
  { place }: LatencyRetriever,
  retriever: Retriever,
  options: MeasureOptions,
): Promise<Measured> {
  const serviceSamplesMs = place === 'embedded' ? await measureService(retriever, options) : [];
  return { serviceSamplesMs, measurements: await measureLatency(retriever, options) };
}

/** The retriever of a configuration under its name, behind a server where it is to be. */
async function openRetriever(
  { name, place, delayMs }: LatencyRetriever,
  world: World,
  server: Worker<ServerJob, string>,
): Promise<Retriever> {
  const isEmbedded = place === 'embedded';
  const found = isEmbedded
    ? world.retriever
    : createRemoteRetriever({ url: await (await server.send({ delayMs })).reply });
  return { name, retrieve: (queries, options) => found.retrieve(queries, options) };
}

/** Measures all retrievers of a configuration, one after another. */
export async function runLatency(
  config: LatencyConfig,
  { signal, onProgress, part }: Pick<ExperimentContext, 'signal' | 'onProgress' | 'part'>,
): Promise<Measured & ExperimentResults> {
  const loadBefore = loadOf();
  const world = await loadWorld();
  const queries = independentQueries(world.questions);
  const server = startLatencyServer();
  const progressOf = weightedProgress(config, onProgress);
  const found: Measured[] = [];
  try {
    for (const spec of config.retrievers) {
      const options = { config, repeats: spec.repeats, queries, signal, onProgress: progressOf(spec) };
      const measured = await part(spec.name, async () =>
        measureOne(spec, await openRetriever(spec, world, server), options),
      );
      options.onProgress(1);
      found.push(measured);
    }
  } finally {
    server.stop();
  }
  return {
    serviceSamplesMs: found.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
    measurements: found.flatMap(({ measurements }) => measurements),
    provenance: provenanceOf(config, loadBefore),
  };
}

/** Progress of one retriever as progress of all, by how long each takes. */
function weightedProgress(config: LatencyConfig, onProgress: ExperimentContext['onProgress']) {
  const secondsOf = (some: readonly LatencyRetriever[]): number =>
    estimateLatencySeconds({ ...config, retrievers: [...some] });
  return (spec: LatencyRetriever) =>
    (fraction: number): void => {
      const before = secondsOf(config.retrievers.slice(0, config.retrievers.indexOf(spec)));
      onProgress((before + fraction * secondsOf([spec])) / secondsOf(config.retrievers), spec.name);
    };
}

/** Load of the machine: processes that want to run, averaged over a minute. */
const loadOf = (): string => loadavg()[0].toFixed(2);

function provenanceOf({ seeds, retrievers, warmUps }: LatencyConfig, loadBefore: string): Provenance {
  const repeats = retrievers.map((retriever) => [retriever.name, retriever.repeats * seeds.length]);
  return {
    seeds,
    backend: 'none: retrieval only',
    repeats: Object.fromEntries(repeats),
    warmUps,
    load: `${loadBefore} before, ${loadOf()} after (processes that want to run, average of a minute)`,
  };
}

/** The experiment of `notebooks/07-latency.ipynb`. Times belong to a machine: the provenance names it. */
export const latencyExperiment: Experiment = {
  title: 'wall clock of sub-queries in one turn and in turns, with fast and slow retrievers',
  config: async () => ({
    ...LATENCY_CONFIG,
    inputs: await contentHash(['passages.jsonl', 'questions.jsonl'].map((name) => join(MINI_WIKI, name))),
  }),
  estimateSeconds: () => estimateLatencySeconds(LATENCY_CONFIG),
  run: (context) => runLatency(LATENCY_CONFIG, context),
};
