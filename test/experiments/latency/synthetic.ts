/**
 * Made-up latencies: exactly what the model of time says of known costs, spread by known
 * factors.
 */
import { latency } from '../../../lib/experiments/latency/experiment.js';
import type { Latency } from '../../../lib/experiments/latency/experiment.js';
import type { LatencyMeasurement } from '../../../lib/experiments/latency/measuring.js';
import { predictTime } from '../../../lib/experiments/latency/measuring.js';
import {
  askingsOf,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  type LatencyRetriever,
} from '../../../lib/experiments/latency/measuring.js';
import { writeRecords } from '../synthetic.js';

/** Median 1, quartiles 0.9 and 1.2. */
const FACTORS = [1.2, 0.5, 1, 0.9, 2];
const SERVICE_MS = 1;
const CALL_MS = { embedded: 0.5, server: 2 };

/** What the experiment measures of a retriever. */
function measuredOf({ name, place, delayMs }: LatencyRetriever): Latency {
  const costs = { callMs: CALL_MS[place], serviceMs: SERVICE_MS, delayMs };
  const measurements = askingsOf(LATENCY_SETTINGS).map((asking): LatencyMeasurement => {
    const { totalMs } = predictTime(asking, costs);
    return { retriever: name, ...asking, samplesMs: FACTORS.map((factor) => factor * totalMs) };
  });
  return { measurements, serviceSamplesMs: place === 'embedded' ? [0.9, 1, 3] : [] };
}

/** What it measures of all of them. */
export function syntheticLatency(): Latency {
  const measured = LATENCY_RETRIEVERS.map(measuredOf);
  return {
    measurements: measured.flatMap(({ measurements }) => measurements),
    serviceSamplesMs: measured.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
  };
}

export const writeSyntheticLatency = (folder: string): Promise<void> =>
  writeRecords(folder, latency, (retriever: LatencyRetriever) => ({
    ...measuredOf(retriever),
    load: '1.00 before, 2.00 after',
  }));
