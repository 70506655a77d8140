/** A made-up latency record: exactly what the model says of known costs, spread by known factors. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  latencyConfigSchema,
  type LatencyMeasurement,
  type LatencyRecord,
} from '../../../lib/experiments/latency/measures.js';
import { predictTime } from '../../../lib/experiments/latency/model.js';
import { askingsOf } from '../../../lib/experiments/latency/run.js';

/** Median 1, quartiles 0.9 and 1.2. */
export const FACTORS = [1.2, 0.5, 1, 0.9, 2];
const SERVICE_MS = 1;
const CALL_MS = { embedded: 0.5, server: 2 };

export function syntheticLatency(): LatencyRecord {
  const config = latencyConfigSchema.parse({
    ...{
      seeds: [1, 2],
      numQueries: [1, 2, 3, 4, 5, 6, 7, 8],
      limits: [1, 2, 4, 'unlimited'],
      topK: 3,
      warmUps: 1,
    },
    retrievers: [
      { name: 'embedded', place: 'embedded', repeats: 5 },
      { name: 'http', place: 'server', repeats: 5 },
      { name: 'slow-50', place: 'server', delayMs: 50, repeats: 5 },
    ],
  });
  const measurements = config.retrievers.flatMap(({ name, place, delayMs }) =>
    askingsOf(config).map((asking): LatencyMeasurement => {
      const costs = { callMs: CALL_MS[place], serviceMs: SERVICE_MS, delayMs };
      const { totalMs } = predictTime(asking, costs);
      return { retriever: name, ...asking, samplesMs: FACTORS.map((factor) => factor * totalMs) };
    }),
  );
  const provenance = { seeds: config.seeds, commit: '0000000', configHash: 'synthetic', durationSeconds: 1 };
  return { config, serviceSamplesMs: [0.9, 1, 3], measurements, provenance };
}

/** Writes a folder as the experiment does; returns it. */
export function writeSyntheticLatency(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'results.json'), JSON.stringify(syntheticLatency()));
  return folder;
}
