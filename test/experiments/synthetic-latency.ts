/** Made-up latencies: the model of time for known costs, spread by known factors. */
import { latency, type Latency } from '../../lib/experiments/latency/experiment.js';
import {
  allAskings,
  LATENCY_RETRIEVERS,
  LATENCY_SETTINGS,
  predictTime,
  type LatencyRetriever,
} from '../../lib/experiments/latency/measuring.js';
import { writeRecords } from './synthetic.js';

/** Median 1, quartiles 0.9 and 1.2. */
const FACTORS = [1.2, 0.5, 1, 0.9, 2];
const CALL_MS = { embedded: 0.5, server: 2 };

function latencyOf({ name, place, delayMs }: LatencyRetriever): Latency {
  const costs = { callMs: CALL_MS[place], serviceMs: 1, delayMs };
  const measurements = allAskings(LATENCY_SETTINGS).map((asking) => {
    const { totalMs } = predictTime(asking, costs);
    return { retriever: name, ...asking, samplesMs: FACTORS.map((factor) => factor * totalMs) };
  });
  return { measurements, serviceSamplesMs: place === 'embedded' ? [0.9, 1, 3] : [] };
}

export function syntheticLatency(): Latency {
  const measured = LATENCY_RETRIEVERS.map(latencyOf);
  return {
    measurements: measured.flatMap(({ measurements }) => measurements),
    serviceSamplesMs: measured.flatMap(({ serviceSamplesMs }) => serviceSamplesMs),
  };
}

export const writeSyntheticLatency = (folder: string): Promise<void> =>
  writeRecords(folder, latency, (retriever: LatencyRetriever) => {
    return { ...latencyOf(retriever), load: '1.00 before, 2.00 after' };
  });
