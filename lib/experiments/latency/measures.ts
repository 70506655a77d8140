/** The tidy table over what the latency experiment has measured: medians, quartiles, and what the model of time predicts. */
import { quantile } from 'd3-array';
import type { Interval } from '../../evaluation/bootstrap.js';
import type { TidyTable } from '../../evaluation/table.js';
import type { Provenance } from '../../io/provenance.js';
import { predictionsFrom, type Prediction } from '../predictions.js';
import type { GenerationTime } from '../timing/measures.js';
import type { LatencyMeasurement } from './measuring.js';
import {
  modelCalls,
  predictTime,
  questionMs,
  type Asking,
  type AskingName,
  type RequestCosts,
} from './model.js';
import {
  askingTitle,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  type ConcurrencyLimit,
  type LatencyRetriever,
} from './settings.js';

/** What was measured of one retriever, or of all. */
export interface Latency {
  measurements: LatencyMeasurement[];
  /** A search by itself, without request and search turn, milliseconds; of the embedded retriever. */
  serviceSamplesMs: number[];
}

interface Measured extends Interval {
  retriever: string;
  /** The retriever's artificial waiting time. */
  delay_ms: number;
  method: AskingName;
  limit: ConcurrencyLimit | null;
  sub_queries: number;
  /** What the model of time gives. */
  predicted: number;
}

/** A figure of the latency report: a median over repeats, with quartiles as `low` and `high`. */
export interface LatencyRow extends Measured {
  /** `wall_ms` is measured; `question_ms` adds the stated time of the model's calls to it. */
  metric: 'wall_ms' | 'question_ms';
  /** Repeats. */
  n: number;
  seeds: number;
}

/** Time of a set asked in one turn over that of the same set asked in turns, repeat by repeat. */
export interface LatencyContrast extends Measured {
  against: 'in-turns';
  metric: 'wall_ms';
  kind: 'ratio';
}

/** Rows and contrasts over all retrievers. @param generation the time of a call of the model, where it is known */
export function summariseLatency(
  latency: Latency,
  generation: GenerationTime | null,
  provenance: Provenance = {},
): TidyTable<LatencyRow, LatencyContrast> {
  const { measurements } = latency;
  const rows = measurements.flatMap((measurement) => rowsFor(latency, measurement, generation));
  const contrasts = measurements.flatMap((measurement) => contrastFor(latency, measurement) ?? []);
  const costs = LATENCY_RETRIEVERS.map(({ name }) => [name, roundedValues(requestCosts(latency, name))]);
  return {
    rows,
    contrasts,
    provenance: {
      ...provenance,
      figures: 'median over repeats; low and high are the quartiles',
      costs: Object.fromEntries(costs),
      generation: generation ?? 'unknown',
      predictions: predictionsOf(contrasts),
    },
  };
}

/** Whether the slowest retriever is waited for once instead of again and again. */
function predictionsOf(contrasts: readonly LatencyContrast[]): Prediction[] {
  const { name, delayMs } = LATENCY_RETRIEVERS.reduce((a, b) => (b.delayMs > a.delayMs ? b : a));
  const most = Math.max(...LATENCY_SETTINGS.numQueries);
  return predictionsFrom(contrasts, [
    {
      prediction: `${most} sub-queries to a retriever that takes ${delayMs} ms need less than half the time in one turn`,
      figure: { retriever: name, sub_queries: most, limit: 'unlimited' },
      holds: ({ high }) => high < 0.5,
    },
  ]);
}

/** @throws Error naming the retrievers that there are */
function retrieverOf(name: string): LatencyRetriever {
  const found = LATENCY_RETRIEVERS.find((retriever) => retriever.name === name);
  if (found) return found;
  const known = LATENCY_RETRIEVERS.map((retriever) => retriever.name).join(', ');
  throw new Error(`Expected a retriever of ${known}, but got ${name}.`);
}

/**
 * The costs of a retriever's requests: searching from single searches, the rest of a request from single sub-queries of
 * the undelayed retriever of the same place, the delay as it was set. So nothing about several sub-queries and nothing
 * about delayed retrievers goes into what is predicted of them.
 */
export function requestCosts({ measurements, serviceSamplesMs }: Latency, name: string): RequestCosts {
  const { place, delayMs } = retrieverOf(name);
  const undelayed = LATENCY_RETRIEVERS.find((r) => r.place === place && r.delayMs === 0)!;
  const single = measurements.find(
    (m) => m.retriever === undelayed.name && m.method === 'in-turns' && m.numQueries === 1,
  )!;
  const serviceMs = quantile(serviceSamplesMs, 0.5)!;
  return { callMs: Math.max(0, quantile(single.samplesMs, 0.5)! - serviceMs), serviceMs, delayMs };
}

const spread = (samples: readonly number[]): Interval =>
  roundedValues({
    value: quantile(samples, 0.5)!,
    low: quantile(samples, 0.25)!,
    high: quantile(samples, 0.75)!,
  });

function rowsFor(
  latency: Latency,
  { retriever, samplesMs, ...asking }: LatencyMeasurement,
  generation: GenerationTime | null,
): LatencyRow[] {
  const base = {
    ...nameOf(retriever, asking),
    ...{ n: samplesMs.length, seeds: LATENCY_SETTINGS.seeds.length },
  };
  const predicted = predictTime(asking, requestCosts(latency, retriever)).totalMs;
  const wall: LatencyRow = {
    ...base,
    metric: 'wall_ms',
    ...spread(samplesMs),
    predicted: rounded(predicted),
  };
  if (!generation) return [wall];
  const question = (searchMs: number): number =>
    rounded(questionMs(asking, { searchMs, generationMs: generation.msPerCall }));
  const [value, low, high] = [wall.value, wall.low, wall.high].map(question);
  return [wall, { ...base, metric: 'question_ms', value, low, high, predicted: question(predicted) }];
}

function contrastFor(latency: Latency, measurement: LatencyMeasurement): LatencyContrast | null {
  const { retriever, samplesMs, ...asking } = measurement;
  if (asking.method === 'in-turns') return null;
  const inTurns = latency.measurements.find(
    (m) => m.retriever === retriever && m.method === 'in-turns' && m.numQueries === asking.numQueries,
  )!;
  const costs = requestCosts(latency, retriever);
  const predicted = predictTime(asking, costs).totalMs / predictTime(inTurns, costs).totalMs;
  return {
    ...nameOf(retriever, asking),
    ...{ against: 'in-turns', metric: 'wall_ms', kind: 'ratio' },
    ...spread(samplesMs.map((ms, i) => ms / inTurns.samplesMs[i])),
    predicted: rounded(predicted),
  };
}

const nameOf = (retriever: string, { method, limit, numQueries }: Asking) => ({
  ...{ retriever, delay_ms: retrieverOf(retriever).delayMs },
  ...{ method, limit, sub_queries: numQueries },
});

/** Whole microseconds, and ratios to three decimals: finer than anything here is measured. */
const rounded = (value: number): number => Number(value.toFixed(3));

function roundedValues<T extends object>(values: T): T {
  const entries = Object.entries(values).map(([name, value]) => [name, rounded(value as number)]);
  return Object.fromEntries(entries) as T;
}

/** The costs of each retriever's requests, milliseconds. */
export const costsOf = (latency: Latency): object[] =>
  LATENCY_RETRIEVERS.map(({ name }) => {
    const { callMs, serviceMs, delayMs } = requestCosts(latency, name);
    return { retriever: name, request_ms: callMs, search_ms: serviceMs, delay_ms: delayMs };
  });

/** The parts of the time that the model gives every set, beside the median that was measured. */
export const partsOf = (latency: Latency): object[] =>
  latency.measurements.flatMap(({ retriever, samplesMs, ...asking }) => {
    const { callMs, serviceMs, waitingMs } = predictTime(asking, requestCosts(latency, retriever));
    const set = { retriever, asked: askingTitle(asking), sub_queries: asking.numQueries };
    const measured = rounded(quantile(samplesMs, 0.5)!);
    const parts = { waiting: waitingMs, requests: callMs, searching: serviceMs };
    return Object.entries(parts).map(([part, value]) => ({ ...set, part, value: rounded(value), measured }));
  });

/** Questions in turns and in one turn without limit, as far as they were measured. */
const questionWays = (rows: readonly LatencyRow[]): LatencyRow[] =>
  rows.filter((r) => r.metric === 'wall_ms' && (r.method === 'in-turns' || r.limit === 'unlimited'));

/** Whole questions: the model's calls, the measured search, and both together where the time of a call is known. */
export const questionsOf = (rows: readonly LatencyRow[], generation: GenerationTime | null): object[] =>
  questionWays(rows).map(({ retriever, method, limit, sub_queries: numQueries, value: searchMs }) => ({
    ...{ retriever, sub_queries: numQueries, asked: askingTitle({ method, limit }) },
    ...{ metric: 'question_ms', model_calls: modelCalls({ method, numQueries }), search_ms: searchMs },
    question_ms:
      generation && questionMs({ method, numQueries }, { searchMs, generationMs: generation.msPerCall }),
  }));

/** Times of a call of the model over which a question is looked at, ms: 1 to 10,000 in equal ratios. */
const GENERATION_MS = Array.from({ length: 41 }, (_, i) => 10 ** (i / 10));

/**
 * How many times as fast a question is in one turn without limit as it is in turns, by the time of a call of the model: over
 * a range, and at the known time.
 */
export function speedUpsOf(rows: readonly LatencyRow[], generation: GenerationTime | null): object[] {
  const ways = questionWays(rows);
  const times = [...GENERATION_MS, ...(generation ? [generation.msPerCall] : [])].sort((a, b) => a - b);
  return ways.flatMap(({ retriever, method, sub_queries: numQueries, value: inTurnsMs }) => {
    if (method !== 'in-turns') return [];
    const oneTurn = ways.find(
      (row) => row.method === 'one-turn' && row.retriever === retriever && row.sub_queries === numQueries,
    )!;
    return times.map((generationMs) => {
      const total = (way: AskingName, searchMs: number): number =>
        questionMs({ method: way, numQueries }, { searchMs, generationMs });
      const value = total('in-turns', inTurnsMs) / total('one-turn', oneTurn.value);
      return { retriever, sub_queries: numQueries, generation_ms: generationMs, metric: 'speed_up', value };
    });
  });
}
