/** Wall clock of 1 to 8 sub-queries in one turn and in successive turns, by retriever. */
import { loadavg } from 'node:os';
import { greatest, max, quantile, range, sum } from 'd3-array';
import type { Interval } from '../../evaluation/estimate.js';
import { matching, findValue } from '../../evaluation/figures.js';
import { configHash, type Provenance } from '../../io/provenance.js';
import { intervalChart } from '../../report/charts/chart.js';
import { valueTitle } from '../../report/titles.js';
import { createRemoteRetriever } from '../../retrieval/remote.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { countText } from '../../text/english.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { checkPredictions, percent, type Predicted } from '../results/summary.js';
import { dataHash } from '../running/answers.js';
import {
  findResults,
  mergeProvenance,
  readQuestionProvenance,
  requireResults,
} from '../running/records.js';
import { generationTime, loadTiming, timing, type GenerationTime } from '../timing.js';
import {
  askingTitle,
  independentQueries,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  measureLatency,
  measureService,
  modelCalls,
  predictTime,
  startLatencyServer,
  type Asking,
  type LatencyMeasurement,
  type LatencyRetriever,
  type RequestCosts,
} from './measuring.js';

export interface Latency {
  measurements: LatencyMeasurement[];
  /** Single searches without request and turn; only for the embedded retriever. */
  serviceSamplesMs: number[];
}
/** @param load how busy the machine was */
type LatencyRecord = Latency & { load?: string };

async function listJobs(): Promise<Job<LatencyRetriever>[]> {
  const inputs = await dataHash();
  return LATENCY_RETRIEVERS.map((input) => {
    const { roughSeconds: seconds, ...retriever } = input;
    const hash = configHash({ ...LATENCY_SETTINGS, retriever, inputs });
    return { key: `latency/${input.name}`, hash, input, seconds };
  });
}

async function measureRetriever(
  { name, place, delayMs, repeats }: LatencyRetriever,
  { world, onFraction }: WorkContext,
): Promise<LatencyRecord> {
  const queries = independentQueries(world.questions);
  const options = { settings: LATENCY_SETTINGS, repeats, queries, onProgress: onFraction };
  const load = (): string => loadavg()[0].toFixed(2);
  const loadBefore = load();
  const server = place === 'server' ? startLatencyServer() : null;
  try {
    const asked: Retriever = server
      ? createRemoteRetriever({ url: await server.send({ delayMs }) })
      : world.retriever;
    const retriever: Retriever = { name, retrieve: (texts, how) => asked.retrieve(texts, how) };
    const serviceSamplesMs = server ? [] : await measureService(retriever, options);
    const measurements = await measureLatency(retriever, options);
    const text = `${loadBefore} before, ${load()} after (processes that want to run, average of a minute)`;
    return { measurements, serviceSamplesMs, load: text };
  } finally {
    server?.stop();
  }
}

/** A median over repeats with its quartiles. */
interface LatencyRow extends Interval, Pick<LatencyMeasurement, 'retriever' | 'method' | 'limit'> {
  delay_ms: number;
  sub_queries: number;
  metric: 'wall_ms';
  /** What the model of time predicts. */
  predicted: number;
  n: number;
  seeds: number;
}

const median = (samples: readonly number[]): number => quantile(samples, 0.5)!;
/** Rounds to whole microseconds, and ratios to three decimals. */
const rounded = (value: number): number => Number(value.toFixed(3));
const quartiles = (samples: readonly number[]): Interval => {
  const [value, low, high] = [0.5, 0.25, 0.75].map((p) => rounded(quantile(samples, p)!));
  return { value, low, high };
};

/** Milliseconds per question: the measured search plus the model's calls. */
const questionMs = (
  asking: Pick<Asking, 'method' | 'numQueries'>,
  { searchMs, generationMs }: { searchMs: number; generationMs: number },
): number => modelCalls(asking) * generationMs + searchMs;

/**
 * Estimates the costs of a retriever's requests from single searches and single
 * sub-queries of the undelayed retriever in the same place; the delay is the setting.
 * Predictions for several sub-queries and for delayed retrievers are therefore not fitted
 * to them.
 */
export function requestCosts(latency: Latency, name: string): RequestCosts {
  const [{ place, delayMs }] = matching(LATENCY_RETRIEVERS, { name });
  const [{ name: retriever }] = matching(LATENCY_RETRIEVERS, { place, delayMs: 0 });
  const single = { retriever, method: 'in-turns', numQueries: 1 } as const;
  const serviceMs = median(latency.serviceSamplesMs);
  const singleMs = median(matching(latency.measurements, single)[0].samplesMs);
  return { callMs: Math.max(0, singleMs - serviceMs), serviceMs, delayMs };
}

/** Computes rows, and contrasts of one turn with several turns, repeat by repeat. */
export function summariseLatency(latency: Latency, provenance: Provenance = {}) {
  const { measurements } = latency;
  const costs = new Map(
    LATENCY_RETRIEVERS.map(({ name }) => [name, requestCosts(latency, name)] as const),
  );
  const predicted = (set: LatencyMeasurement): number =>
    predictTime(set, costs.get(set.retriever)!).totalMs;
  const fields = ({ retriever, method, limit, numQueries }: LatencyMeasurement) => {
    const delay_ms = costs.get(retriever)!.delayMs;
    return { retriever, delay_ms, method, limit, sub_queries: numQueries };
  };
  const rows = measurements.map(
    (set): LatencyRow => ({
      ...fields(set),
      n: set.samplesMs.length,
      seeds: LATENCY_SETTINGS.seeds.length,
      metric: 'wall_ms',
      ...quartiles(set.samplesMs),
      predicted: rounded(predicted(set)),
    }),
  );
  const inOneTurn = measurements.filter(({ method }) => method !== 'in-turns');
  const contrasts = inOneTurn.map((set) => {
    const { retriever, numQueries, samplesMs } = set;
    const [inTurns] = matching(measurements, { retriever, method: 'in-turns', numQueries });
    return {
      ...fields(set),
      against: 'in-turns',
      metric: 'wall_ms',
      kind: 'ratio',
      ...quartiles(samplesMs.map((ms, i) => ms / inTurns.samplesMs[i])),
      predicted: rounded(predicted(set) / predicted(inTurns)),
    };
  });
  const roundedCosts = [...costs].map(([name, { callMs, serviceMs, delayMs }]) => {
    return [name, { callMs: rounded(callMs), serviceMs: rounded(serviceMs), delayMs }] as const;
  });
  return {
    rows,
    contrasts,
    provenance: {
      ...provenance,
      figures: 'median over repeats; low and high are the quartiles',
      costs: Object.fromEntries(roundedCosts),
    },
  };
}

const SLOWEST = greatest(LATENCY_RETRIEVERS, ({ delayMs }) => delayMs)!;
const MAX_QUERIES = max(LATENCY_SETTINGS.numQueries)!;

/** Predicts that one turn only waits for the slowest retriever, once. */
export const WAITED_FOR_ONCE: Predicted = {
  prediction: `${MAX_QUERIES} sub-queries to a retriever that takes ${SLOWEST.delayMs} ms need less than half the time in one turn`,
  figure: { retriever: SLOWEST.name, sub_queries: MAX_QUERIES, limit: 'unlimited', kind: 'ratio' },
  holds: ({ high }) => high < 0.5,
};

/** The modelled time of a set by component, with the measured median. */
export const timeParts = (latency: Latency): object[] =>
  latency.measurements.flatMap(({ retriever, samplesMs, ...asking }) => {
    const { callMs, serviceMs, waitingMs } = predictTime(asking, requestCosts(latency, retriever));
    const set = { retriever, asked: askingTitle(asking), sub_queries: asking.numQueries };
    const parts = { waiting: waitingMs, requests: callMs, searching: serviceMs };
    return Object.entries(parts).map(([part, value]) => {
      return { ...set, part, value: rounded(value), measured: rounded(median(samplesMs)) };
    });
  });

/** Model-call times to consider, in ms: 1 to 10,000 in equal ratios. */
const GENERATION_MS = range(41).map((i) => 10 ** (i / 10));

/**
 * Times of whole questions, in several turns and in one turn without limit, and the
 * speed-up of one turn, as functions of the time of a model call: over a range, and at
 * the measured time.
 */
export function questionTimes(rows: readonly LatencyRow[], generation: GenerationTime | null) {
  const ways = rows.filter(({ method, limit }) => method === 'in-turns' || limit === 'unlimited');
  const questions = ways.map(({ retriever, method, limit, sub_queries, value: searchMs }) => {
    const asking = { method, numQueries: sub_queries };
    return {
      retriever,
      sub_queries,
      asked: askingTitle({ method, limit }),
      metric: 'question_ms',
      model_calls: modelCalls(asking),
      search_ms: searchMs,
      question_ms:
        generation && questionMs(asking, { searchMs, generationMs: generation.msPerCall }),
    };
  });
  const times = [...GENERATION_MS, ...(generation ? [generation.msPerCall] : [])];
  const speedUps = matching(ways, { method: 'in-turns' }).flatMap((inTurns) => {
    const { retriever, sub_queries } = inTurns;
    const [oneTurn] = matching(ways, { method: 'one-turn', retriever, sub_queries });
    return times
      .toSorted((a, b) => a - b)
      .map((generationMs) => {
        const [slow, fast] = [inTurns, oneTurn].map(({ method, value: searchMs }) =>
          questionMs({ method, numQueries: sub_queries }, { searchMs, generationMs }),
        );
        const set = { retriever, sub_queries, generation_ms: generationMs };
        return { ...set, metric: 'speed_up', value: slow / fast };
      });
  });
  return { questions, speedUps };
}

const withAsked = <T extends Pick<Asking, 'method' | 'limit'>>(rows: readonly T[]) =>
  rows.map((row) => ({ ...row, asked: askingTitle(row) }));

/** Times depend on the machine, which the provenance names. */
export const latency: Experiment = {
  name: 'latency',
  title: 'wall-clock time of sub-queries in one turn and in several, with fast and slow retrievers',
  computation: defineComputation({ jobs: listJobs, work: measureRetriever, processes: 1 }),
  /** Without the timing experiment, the time of a model call is unknown. */
  async result(folder) {
    const done = await requireResults<LatencyRetriever, LatencyRecord>(latency, folder);
    const timed = (await findResults(timing, folder)) && (await loadTiming(folder));
    const generation = timed && generationTime(timed.answers, String(timed.provenance.backend));
    const values = done.map(({ record }) => record.value);
    const measured = {
      measurements: values.flatMap(({ measurements }) => measurements),
      serviceSamplesMs: values.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
    };
    const { seeds, warmUps } = LATENCY_SETTINGS;
    const repeats = LATENCY_RETRIEVERS.map(
      ({ name, repeats }) => [name, repeats * seeds.length] as const,
    );
    const loads = [...new Set(values.flatMap(({ load }) => load ?? []))];
    const tidy = summariseLatency(measured, {
      ...mergeProvenance(done, {
        seeds,
        repeats: Object.fromEntries(repeats),
        warmUps,
        ...(await readQuestionProvenance()),
      }),
      backend: 'none: retrieval only',
      ...(loads.length > 0 && { load: loads.join('; ') }),
    });
    const call = generation
      ? `a call of the model takes ${generation.msPerCall.toFixed(1)} ms (${generation.source})`
      : 'nothing says how long a call of the model takes';
    const [slow, embedded] = ['slow-50', 'embedded'].map((retriever) =>
      percent(findValue(tidy, { ...WAITED_FOR_ONCE.figure, retriever })),
    );
    const rows = withAsked(tidy.rows);
    const asked = ['in turns', 'one turn, no limit', 'one turn, one request'];
    return {
      ...tidy,
      rows,
      contrasts: withAsked(tidy.contrasts),
      provenance: { ...tidy.provenance, generation: generation ?? 'unknown' },
      predictions: checkPredictions(tidy, [WAITED_FOR_ONCE]),
      finding: `Eight sub-queries in one turn take ${slow} of the time of eight turns if a request takes 50 ms, and ${embedded} if search is in memory.`,
      card: { wallClock: valueTitle('retriever', 'slow-50') },
      summary: `${countText(sum(measured.measurements, ({ samplesMs }) => samplesMs.length))} sets of sub-queries timed with ${done.length} retrievers; ${call}.`,
      frames: {
        costs: LATENCY_RETRIEVERS.map(({ name }) => {
          const { callMs, serviceMs, delayMs } = requestCosts(measured, name);
          return { retriever: name, request_ms: callMs, search_ms: serviceMs, delay_ms: delayMs };
        }),
        parts: timeParts(measured),
        ...questionTimes(tidy.rows, generation),
      },
      figures: {
        wallClock: intervalChart(matching(rows, { asked }), {
          title: 'Wall clock of a set of sub-queries, median and quartiles (dashed: the model)',
          subtitle: 'Times of one machine, described at the end of this page',
          x: 'sub_queries',
          color: 'asked',
          panel: 'retriever',
          width: 300,
        }),
      },
    };
  },
};
