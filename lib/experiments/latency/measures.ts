/**
 * The tidy table over what the latency experiment has measured: medians, quartiles, and
 * what the model of time predicts.
 */
import { greatest, max, quantile, range } from 'd3-array';
import type { Interval } from '../../evaluation/bootstrap.js';
import { matching, type TidyTable } from '../../evaluation/table.js';
import type { Provenance } from '../../io/provenance.js';
import type { Predicted } from '../report.js';
import type { GenerationTime } from '../timing/experiment.js';
import type { LatencyMeasurement } from './measuring.js';
import {
  modelCalls,
  predictTime,
  questionMs,
  type AskingName,
  type RequestCosts,
} from './model.js';
import { askingTitle, LATENCY_RETRIEVERS, LATENCY_SETTINGS } from './measuring.js';

/** What was measured of one retriever, or of all. */
export interface Latency {
  measurements: LatencyMeasurement[];
  /**
   * A search by itself, without request and search turn, milliseconds; of the embedded
   * retriever.
   */
  serviceSamplesMs: number[];
}

interface Measured extends Interval, Pick<LatencyMeasurement, 'retriever' | 'method' | 'limit'> {
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
export interface LatencyRow extends Measured {
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
export interface LatencyContrast extends Measured {
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
