/**
 * The tidy table over what the latency experiment has measured: medians, quartiles, and
 * what the model of time predicts.
 */
import { greatest, max, quantile, range } from 'd3-array';
import { loadavg } from 'node:os';
import type { Interval } from '../../evaluation/bootstrap.js';
import { matching, type TidyTable } from '../../evaluation/table.js';
import { configHash } from '../../io/hash.js';
import type { Provenance } from '../../io/provenance.js';
import { createRemoteRetriever } from '../../retrieval/remote.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { count, dataHash, drawOf } from '../answers.js';
import { computation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { type Predicted, reportOf, told } from '../report.js';
import { provenanceOf, requireResults } from '../results.js';
import { type GenerationTime, generationTimeOf, loadTiming } from '../timing.js';
import {
  type AskingName,
  askingTitle,
  independentQueries,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  type LatencyMeasurement,
  type LatencyRetriever,
  measureLatency,
  measureService,
  modelCalls,
  predictTime,
  questionMs,
  type RequestCosts,
  startLatencyServer,
} from './measuring.js';

/** What was measured of one retriever, or of all. */
export interface Latency {
  measurements: LatencyMeasurement[];
  /**
   * A search by itself, without request and search turn, milliseconds; of the embedded
   * retriever.
   */
  serviceSamplesMs: number[];
}

interface TidyFields extends Interval, Pick<LatencyMeasurement, 'retriever' | 'method' | 'limit'> {
  /** The retriever's artificial waiting time. */
  delay_ms: number;
  sub_queries: number;
  /** What the model of time gives. */
  predicted: number;
}

/**
 * A figure of the latency report: a median over repeats, with quartiles as `low` and
 * `high`.
 */
export interface LatencyRow extends TidyFields {
  /**
   * `wall_ms` is measured; `question_ms` adds the stated time of the model's calls to it.
   */
  metric: 'wall_ms' | 'question_ms';
  /** Repeats. */
  n: number;
  seeds: number;
}

/**
 * Time of a set asked in one turn over that of the same set asked in turns, repeat by
 * repeat.
 */
export interface LatencyContrast extends TidyFields {
  against: 'in-turns';
  metric: 'wall_ms';
  kind: 'ratio';
}

/**
 * Rows and contrasts over all retrievers. @param generation the time of a call of the
 * model, where it is known
 */
export function summariseLatency(
  latency: Latency,
  generation: GenerationTime | null,
  provenance: Provenance = {},
): TidyTable<LatencyRow, LatencyContrast> {
  const { measurements } = latency;
  const costs = Object.fromEntries(
    LATENCY_RETRIEVERS.map(({ name }) => [name, requestCosts(latency, name)]),
  );
  const predicted = (set: LatencyMeasurement): number =>
    predictTime(set, costs[set.retriever]).totalMs;
  const rows = measurements.flatMap((set): LatencyRow[] => {
    const base = {
      ...nameOf(set, costs),
      n: set.samplesMs.length,
      seeds: LATENCY_SETTINGS.seeds.length,
    };
    const wall = { ...spread(set.samplesMs), predicted: rounded(predicted(set)) };
    const ofWall: LatencyRow = { ...base, metric: 'wall_ms', ...wall };
    if (!generation) return [ofWall];
    const question = (searchMs: number): number =>
      rounded(questionMs(set, { searchMs, generationMs: generation.msPerCall }));
    const [value, low, high] = [wall.value, wall.low, wall.high].map(question);
    return [
      ofWall,
      { ...base, metric: 'question_ms', value, low, high, predicted: question(predicted(set)) },
    ];
  });
  const contrasts = measurements
    .filter(({ method }) => method !== 'in-turns')
    .map((set): LatencyContrast => {
      const { retriever, numQueries, samplesMs } = set;
      const [inTurns] = matching(measurements, { retriever, method: 'in-turns', numQueries });
      return {
        ...nameOf(set, costs),
        against: 'in-turns',
        metric: 'wall_ms',
        kind: 'ratio',
        ...spread(samplesMs.map((ms, i) => ms / inTurns.samplesMs[i])),
        predicted: rounded(predicted(set) / predicted(inTurns)),
      };
    });
  return {
    rows,
    contrasts,
    provenance: {
      ...provenance,
      figures: 'median over repeats; low and high are the quartiles',
      costs: Object.fromEntries(
        Object.entries(costs).map(([name, some]) => [name, roundedCosts(some)]),
      ),
      generation: generation ?? 'unknown',
    },
  };
}

const SLOWEST = greatest(LATENCY_RETRIEVERS, ({ delayMs }) => delayMs)!;
const MOST_QUERIES = max(LATENCY_SETTINGS.numQueries)!;

/** The slowest retriever is waited for once instead of again and again. */
export const WAITED_FOR_ONCE: Predicted = {
  prediction: `${MOST_QUERIES} sub-queries to a retriever that takes ${SLOWEST.delayMs} ms need less than half the time in one turn`,
  figure: { retriever: SLOWEST.name, sub_queries: MOST_QUERIES, limit: 'unlimited', kind: 'ratio' },
  holds: ({ high }) => high < 0.5,
};

/**
 * The costs of a retriever's requests: searching from single searches, the rest of a
 * request from single sub-queries of the undelayed retriever of the same place, the delay
 * as it was set. So nothing about several sub-queries and nothing about delayed
 * retrievers goes into what is predicted of them.
 */
export function requestCosts(
  { measurements, serviceSamplesMs }: Latency,
  name: string,
): RequestCosts {
  const [{ place, delayMs }] = matching(LATENCY_RETRIEVERS, { name });
  const [{ name: retriever }] = matching(LATENCY_RETRIEVERS, { place, delayMs: 0 });
  const [single] = matching(measurements, { retriever, method: 'in-turns', numQueries: 1 });
  const serviceMs = median(serviceSamplesMs);
  return { callMs: Math.max(0, median(single.samplesMs) - serviceMs), serviceMs, delayMs };
}

const median = (samples: readonly number[]): number => quantile(samples, 0.5)!;

const spread = (samples: readonly number[]): Interval => {
  const [value, low, high] = [0.5, 0.25, 0.75].map((p) => rounded(quantile(samples, p)!));
  return { value, low, high };
};

const nameOf = (
  { retriever, method, limit, numQueries }: LatencyMeasurement,
  costs: Readonly<Record<string, RequestCosts>>,
) => ({ retriever, delay_ms: costs[retriever].delayMs, method, limit, sub_queries: numQueries });

/**
 * Whole microseconds, and ratios to three decimals: finer than anything here is measured.
 */
const rounded = (value: number): number => Number(value.toFixed(3));

const roundedCosts = ({ callMs, serviceMs, delayMs }: RequestCosts): RequestCosts => ({
  callMs: rounded(callMs),
  serviceMs: rounded(serviceMs),
  delayMs: rounded(delayMs),
});

/** The costs of each retriever's requests, milliseconds. */
export const costsOf = (latency: Latency): object[] =>
  LATENCY_RETRIEVERS.map(({ name }) => {
    const { callMs, serviceMs, delayMs } = requestCosts(latency, name);
    return { retriever: name, request_ms: callMs, search_ms: serviceMs, delay_ms: delayMs };
  });

/**
 * The parts of the time that the model gives every set, beside the median that was
 * measured.
 */
export const partsOf = (latency: Latency): object[] =>
  latency.measurements.flatMap(({ retriever, samplesMs, ...asking }) => {
    const { callMs, serviceMs, waitingMs } = predictTime(asking, requestCosts(latency, retriever));
    const set = { retriever, asked: askingTitle(asking), sub_queries: asking.numQueries };
    const measured = rounded(median(samplesMs));
    const parts = { waiting: waitingMs, requests: callMs, searching: serviceMs };
    return Object.entries(parts).map(([part, value]) => ({
      ...set,
      part,
      value: rounded(value),
      measured,
    }));
  });

/** Questions in turns and in one turn without limit, as far as they were measured. */
const questionWays = (rows: readonly LatencyRow[]): LatencyRow[] =>
  rows.filter(
    (r) => r.metric === 'wall_ms' && (r.method === 'in-turns' || r.limit === 'unlimited'),
  );

/**
 * Whole questions: the model's calls, the measured search, and both together where the
 * time of a call is known.
 */
export const questionsOf = (
  rows: readonly LatencyRow[],
  generation: GenerationTime | null,
): object[] =>
  questionWays(rows).map(
    ({ retriever, method, limit, sub_queries: numQueries, value: searchMs }) => ({
      retriever,
      sub_queries: numQueries,
      asked: askingTitle({ method, limit }),
      metric: 'question_ms',
      model_calls: modelCalls({ method, numQueries }),
      search_ms: searchMs,
      question_ms:
        generation &&
        questionMs({ method, numQueries }, { searchMs, generationMs: generation.msPerCall }),
    }),
  );

/**
 * Times of a call of the model over which a question is looked at, ms: 1 to 10,000 in
 * equal ratios.
 */
const GENERATION_MS = range(41).map((i) => 10 ** (i / 10));

/**
 * How many times as fast a question is in one turn without limit as it is in turns, by
 * the time of a call of the model: over a range, and at the known time.
 */
export function speedUpsOf(
  rows: readonly LatencyRow[],
  generation: GenerationTime | null,
): object[] {
  const ways = questionWays(rows);
  const times = [...GENERATION_MS, ...(generation ? [generation.msPerCall] : [])].sort(
    (a, b) => a - b,
  );
  return matching(ways, { method: 'in-turns' }).flatMap((inTurns) => {
    const { retriever, sub_queries } = inTurns;
    const [oneTurn] = matching(ways, { method: 'one-turn', retriever, sub_queries });
    return times.map((generation_ms) => {
      const totalMs = (method: AskingName, searchMs: number): number =>
        questionMs({ method, numQueries: sub_queries }, { searchMs, generationMs: generation_ms });
      const value = totalMs('in-turns', inTurns.value) / totalMs('one-turn', oneTurn.value);
      return { retriever, sub_queries, generation_ms, metric: 'speed_up', value };
    });
  });
}

/** What was measured of a retriever. */
export interface Measured extends Latency {
  /** How busy the machine was. */
  load?: string;
}

async function latencyJobs(): Promise<Job<LatencyRetriever>[]> {
  const inputs = await dataHash();
  return LATENCY_RETRIEVERS.map((retriever) => {
    const { roughSeconds: seconds, ...measured } = retriever;
    const hash = configHash({ ...LATENCY_SETTINGS, retriever: measured, inputs });
    return { key: `latency/${retriever.name}`, hash, input: retriever, seconds };
  });
}

const loadOf = (): string => loadavg()[0].toFixed(2);
const loadText = (before: string, after: string): string =>
  `${before} before, ${after} after (processes that want to run, average of a minute)`;

/**
 * Measures a retriever, behind a server where it is to be; of an embedded one also its
 * searches by themselves.
 */
async function measureRetriever(
  { name, place, delayMs, repeats }: LatencyRetriever,
  { world, onFraction }: WorkContext,
): Promise<Measured> {
  const queries = independentQueries(world.questions);
  const options = { settings: LATENCY_SETTINGS, repeats, queries, onProgress: onFraction };
  const loadBefore = loadOf();
  const server = place === 'server' ? startLatencyServer() : null;
  try {
    const found: Retriever = server
      ? createRemoteRetriever({ url: await (await server.send({ delayMs })).reply })
      : world.retriever;
    const retriever: Retriever = { name, retrieve: (asked, how) => found.retrieve(asked, how) };
    const serviceSamplesMs = server ? [] : await measureService(retriever, options);
    const measurements = await measureLatency(retriever, options);
    return { measurements, serviceSamplesMs, load: loadText(loadBefore, loadOf()) };
  } finally {
    server?.stop();
  }
}

/** Times belong to a machine: the provenance names it. */
export const latency: Experiment = {
  name: 'latency',
  title: 'wall clock of sub-queries in one turn and in turns, with fast and slow retrievers',
  computation: computation({ jobs: latencyJobs, work: measureRetriever, processes: 1 }),
};

const withAsked = <T extends Parameters<typeof askingTitle>[0]>(rows: readonly T[]): object[] =>
  rows.map((row) => ({ ...row, asked: askingTitle(row) }));

/**
 * What was measured, and what the model of time says of it; `generation` is the time of
 * a call of the language model, null where the timing experiment was not run.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 * @throws Error naming the command that measures, where results are missing
 */
export async function loadLatency(folder?: string) {
  const done = await requireResults<LatencyRetriever, Measured>(latency, folder);
  const timed = await loadTiming(folder);
  const generation = timed && generationTimeOf(timed.answers, String(timed.provenance.backend));
  const values = done.map(({ record }) => record.value);
  const measured = {
    measurements: values.flatMap(({ measurements }) => measurements),
    serviceSamplesMs: values.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
  };
  const { seeds, warmUps } = LATENCY_SETTINGS;
  const repeats = LATENCY_RETRIEVERS.map((retriever) => [
    retriever.name,
    retriever.repeats * seeds.length,
  ]);
  const loads = new Set(values.flatMap(({ load }) => load ?? []));
  const tidy = summariseLatency(measured, generation, {
    ...provenanceOf(done, {
      seeds,
      repeats: Object.fromEntries(repeats),
      warmUps,
      ...(await drawOf()),
    }),
    backend: 'none: retrieval only',
    ...(loads.size > 0 ? { load: [...loads].join('; ') } : {}),
  });
  const call = generation
    ? `a call of the model takes ${generation.msPerCall.toFixed(1)} ms (${generation.source})`
    : 'nothing says how long a call of the model takes';
  const sets = count(measured.measurements.flatMap(({ samplesMs }) => samplesMs));
  const shares = ['slow-50', 'slow-200'].map((retriever) =>
    told(tidy.contrasts, { ...WAITED_FOR_ONCE.figure, retriever, sub_queries: 8 }),
  );
  const report = reportOf({
    finding: `8 sub-queries in one turn take ${shares[0].text} of their time in turns where a request waits 50 ms, and ${shares[1].text} where it waits 200 ms (medians and quartiles).`,
    summary: `${sets} sets of sub-queries timed with ${done.length} retrievers; ${call}.`,
    tidy,
    predicted: [WAITED_FOR_ONCE],
    rows: withAsked(tidy.rows),
    contrasts: withAsked(tidy.contrasts),
    frames: {
      // The three costs of a request to each retriever, as the model of time knows them.
      costs: costsOf(measured),
      // Where the model says that the time goes: a row for each set, way of asking and
      // part.
      parts: partsOf(measured),
      // Whole questions in turns and in one turn.
      questions: questionsOf(tidy.rows, generation),
      // How many times as fast a question is in one turn, by the time of a call of the
      // language model.
      speedUps: speedUpsOf(tidy.rows, generation),
    },
  });
  return { ...report, generation };
}
export type LatencyResults = Awaited<ReturnType<typeof loadLatency>>;
