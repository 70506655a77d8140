/** What the latency experiment recorded, and the tidy table over it: medians, quartiles, what the model predicts. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Interval } from '../../evaluation/bootstrap.js';
import {
  ASKING_NAMES,
  predictTime,
  questionMs,
  type Asking,
  type AskingName,
  type RequestCosts,
} from './model.js';
import type { TidyTable } from '../../evaluation/table.js';
import { generationTimeOf, readTiming, type GenerationTime } from '../timing/measures.js';

const count = z.int().min(1);
const limitSchema = z.union([count, z.literal('unlimited')]);

/** One retriever of the experiment. */
const retrieverSchema = z.strictObject({
  name: z.string().min(1),
  /** In the asking process, or behind HTTP in a process of its own. */
  place: z.enum(['embedded', 'server']),
  /** Artificial waiting time of each request, milliseconds. */
  delayMs: z.int().min(0).default(0),
  /** Measurements of every setting, for each seed. */
  repeats: count,
});

export const latencyConfigSchema = z.strictObject({
  /** Each decides which sub-queries are drawn, and in which order the settings are measured. */
  seeds: z.array(z.int()).min(1),
  numQueries: z.array(count).min(1),
  /** Concurrency limits of one turn with a request for each sub-query. */
  limits: z.array(limitSchema).min(1),
  /** Passages for each sub-query. */
  topK: count,
  /** Times that the largest set is asked in every way before anything is measured. */
  warmUps: z.int().min(0),
  retrievers: z.array(retrieverSchema).min(1),
});

export type LatencyConfig = z.infer<typeof latencyConfigSchema>;
export type LatencyRetriever = z.infer<typeof retrieverSchema>;
export type ConcurrencyLimit = z.infer<typeof limitSchema>;

const measurementSchema = z.object({
  retriever: z.string(),
  method: z.enum(ASKING_NAMES),
  limit: limitSchema.nullable(),
  numQueries: count,
  /** Wall clock of the whole set, milliseconds; sample i of all settings of a retriever asks the same sub-queries. */
  samplesMs: z.array(z.number().nonnegative()).min(1),
});

/** Wall clock of sets of sub-queries asked in one way. */
export type LatencyMeasurement = z.infer<typeof measurementSchema>;

const recordSchema = z.object({
  // The experiment's configuration also holds hashes, which are nothing to a reader.
  config: latencyConfigSchema.loose(),
  /** A search by itself, without request and search turn, milliseconds. */
  serviceSamplesMs: z.array(z.number().nonnegative()).min(1),
  measurements: z.array(measurementSchema).min(1),
  provenance: z.record(z.string(), z.unknown()),
});
export type LatencyRecord = z.infer<typeof recordSchema>;

/** A figure of the latency report: a median over repeats, with quartiles as `low` and `high`. */
export interface LatencyRow extends Interval {
  retriever: string;
  /** The retriever's artificial waiting time. */
  delay_ms: number;
  method: AskingName;
  limit: ConcurrencyLimit | null;
  sub_queries: number;
  /** `wall_ms` is measured; `question_ms` adds the stated time of the model's calls to it. */
  metric: 'wall_ms' | 'question_ms';
  /** Repeats. */
  n: number;
  seeds: number;
  /** What the model of time gives. */
  predicted: number;
}

/** Time of a set asked in one turn over that of the same set asked in turns, repeat by repeat. */
export interface LatencyContrast extends Interval {
  retriever: string;
  delay_ms: number;
  method: AskingName;
  against: 'in-turns';
  limit: ConcurrencyLimit | null;
  sub_queries: number;
  metric: 'wall_ms';
  kind: 'ratio';
  predicted: number;
}

export interface LatencyResults {
  kind: 'results';
  /** One sentence on what is there. */
  summary: string;
  record: LatencyRecord;
  /** Null where the timing experiment has not been run. */
  generation: GenerationTime | null;
  tidy: TidyTable<LatencyRow, LatencyContrast>;
}

/**
 * Loads what the latency experiment wrote.
 * @param timing folder of the timing experiment, which says how long a call of the model takes
 * @throws Error naming the file that is missing or does not fit
 */
export function loadLatency(folder: string, timing?: string): LatencyResults {
  const file = path.join(folder, 'results.json');
  if (!existsSync(file)) {
    throw new Error(
      `Expected ${file} to exist, but it does not. Run "npx parallelsearch experiment latency" first.`,
    );
  }
  const parsed = recordSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) {
    const reason = z.prettifyError(parsed.error);
    throw new Error(
      `Expected ${file} to be a latency record, but:\n${reason}\nRun "npx parallelsearch experiment latency --force".`,
    );
  }
  const timed = timing === undefined ? null : readTiming(timing);
  return summariseLatency(parsed.data, timed && generationTimeOf(timed));
}

/** Tidy rows and contrasts over a record. */
export function summariseLatency(record: LatencyRecord, generation: GenerationTime | null): LatencyResults {
  const { config, measurements } = record;
  const rows = measurements.flatMap((measurement) => rowsFor(record, measurement, generation));
  const contrasts = measurements.flatMap((measurement) => contrastFor(record, measurement) ?? []);
  const samples = measurements.reduce((sum, { samplesMs }) => sum + samplesMs.length, 0);
  const summary = `${samples.toLocaleString('en')} sets of sub-queries timed with ${config.retrievers.length} retrievers; ${generation ? `a call of the model takes ${generation.msPerCall.toFixed(1)} ms (${generation.source})` : 'nothing says how long a call of the model takes'}.`;
  const provenance = {
    ...record.provenance,
    figures: 'median over repeats; low and high are the quartiles',
    costs: Object.fromEntries(
      config.retrievers.map(({ name }) => [name, roundedValues(requestCosts(record, name))]),
    ),
    generation: generation ?? 'unknown',
    headlines: headlinesOf(record, contrasts),
  };
  return { kind: 'results', summary, record, generation, tidy: { rows, contrasts, provenance } };
}

/** What the index of reports says: whether the slowest retriever is waited for once instead of again and again. */
function headlinesOf({ config }: LatencyRecord, contrasts: readonly LatencyContrast[]) {
  const slowest = config.retrievers.reduce((a, b) => (b.delayMs > a.delayMs ? b : a));
  const most = Math.max(...config.numQueries);
  const found = contrasts.find(
    (c) => c.retriever === slowest.name && c.sub_queries === most && c.limit === 'unlimited',
  );
  if (!found || slowest.delayMs === 0) return [];
  const claim = `${most} sub-queries to a retriever that takes ${slowest.delayMs} ms need less than half the time in one turn`;
  const figures = [found.value, found.low, found.high].map((x) => x.toFixed(3));
  return [{ claim, found: `ratio ${figures[0]} [${figures[1]}, ${figures[2]}]`, holds: found.high < 0.5 }];
}

/** The retriever of a name. */
export function retrieverOf({ config }: Pick<LatencyRecord, 'config'>, name: string): LatencyRetriever {
  const found = config.retrievers.find((retriever) => retriever.name === name);
  if (found) return found;
  const known = config.retrievers.map((retriever) => retriever.name).join(', ');
  throw new Error(`Expected a retriever of ${known}, but got ${name}.`);
}

/**
 * The costs of a retriever's requests: searching from single searches, the rest of a request from single sub-queries of
 * the undelayed retriever of the same place, the delay as it was set. So nothing about several sub-queries and nothing
 * about delayed retrievers goes into what is predicted of them.
 */
export function requestCosts(record: LatencyRecord, name: string): RequestCosts {
  const { place, delayMs } = retrieverOf(record, name);
  const undelayed = record.config.retrievers.find((r) => r.place === place && r.delayMs === 0);
  const single = record.measurements.find(
    (m) => m.retriever === undelayed?.name && m.method === 'in-turns' && m.numQueries === 1,
  );
  if (!single) {
    throw new Error(
      `Expected a retriever at the place ${place} without delay, asked a single sub-query, to take the costs of a request from, but there is none. Add one to the configuration.`,
    );
  }
  const serviceMs = quantile(record.serviceSamplesMs, 0.5);
  return { callMs: Math.max(0, quantile(single.samplesMs, 0.5) - serviceMs), serviceMs, delayMs };
}

/** The value below which a share of the samples lies, with linear interpolation (type 7 of Hyndman and Fan). */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)];
  return below + (sorted[Math.ceil(place)] - below) * (place - Math.floor(place));
}

function spread(samples: readonly number[]): Interval {
  return roundedValues({
    value: quantile(samples, 0.5),
    low: quantile(samples, 0.25),
    high: quantile(samples, 0.75),
  });
}

function rowsFor(
  record: LatencyRecord,
  { retriever, samplesMs, ...asking }: LatencyMeasurement,
  generation: GenerationTime | null,
): LatencyRow[] {
  const base = {
    ...nameOf(record, retriever, asking),
    n: samplesMs.length,
    seeds: record.config.seeds.length,
  };
  const predicted = predictTime(asking, requestCosts(record, retriever)).totalMs;
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

function contrastFor(record: LatencyRecord, measurement: LatencyMeasurement): LatencyContrast | null {
  const { retriever, samplesMs, ...asking } = measurement;
  if (asking.method === 'in-turns') return null;
  const inTurns = record.measurements.find(
    (m) => m.retriever === retriever && m.method === 'in-turns' && m.numQueries === asking.numQueries,
  );
  if (!inTurns) return null;
  const costs = requestCosts(record, retriever);
  const predicted = predictTime(asking, costs).totalMs / predictTime(inTurns, costs).totalMs;
  return {
    ...nameOf(record, retriever, asking),
    against: 'in-turns',
    metric: 'wall_ms',
    kind: 'ratio',
    ...spread(samplesMs.map((ms, i) => ms / inTurns.samplesMs[i])),
    predicted: rounded(predicted),
  };
}

function nameOf(record: LatencyRecord, retriever: string, { method, limit, numQueries }: Asking) {
  const { delayMs } = retrieverOf(record, retriever);
  return { retriever, delay_ms: delayMs, method, limit, sub_queries: numQueries };
}

/** Whole microseconds, and ratios to three decimals: finer than anything here is measured. */
const rounded = (value: number): number => Number(value.toFixed(3));

function roundedValues<T extends object>(values: T): T {
  const entries = Object.entries(values).map(([name, value]) => [name, rounded(value as number)]);
  return Object.fromEntries(entries) as T;
}
