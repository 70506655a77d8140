/**
 * A second process that computes the gradients of its share of a step's rows. tfjs works on one core for much of a small
 * model's step, and threads of one process share tfjs's global state: two processes use both cores.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/model-config.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker } from '../io/worker.js';
import type { Sequence } from './sequences.js';
import { supervisedGradients, type GradientOptions, type GradientWorker } from './supervised.js';

type Arrays = Record<string, { shape: number[]; values: Float32Array }>;
interface Request {
  config: ModelConfig;
  backend: BackendName;
  weights: Arrays;
  rows: Sequence[];
  options: Omit<GradientOptions, 'table'>;
}
interface Reply {
  loss: number;
  gradients: Arrays;
}

async function toArrays(weights: Weights): Promise<Arrays> {
  const entries = Object.entries(weights).map(
    async ([key, t]) => [key, { shape: t.shape, values: (await t.data()) as Float32Array }] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

const fromArrays = (arrays: Arrays): Weights =>
  Object.fromEntries(
    Object.entries(arrays).map(([key, { shape, values }]) => [key, tf.tensor(values, shape)]),
  );

/** Starts a worker on the same backend. */
export function startGradientWorker(config: ModelConfig, backend: BackendName): GradientWorker {
  const worker = startWorker<Request, Reply>(import.meta.url);
  return {
    start: async (weights, rows, options) => {
      const request = { config, backend, weights: await toArrays(weights), rows: [...rows], options };
      const { reply } = await worker.send(request);
      return async () => {
        const { loss, gradients } = await reply;
        return { loss, gradients: fromArrays(gradients) };
      };
    },
    stop: () => worker.stop(),
  };
}

let table: RotaryTable | null = null;
serve<Request, Reply>(import.meta.url, async ({ config, backend, weights: arrays, rows, options }) => {
  if (!table) await useBackend(backend);
  table ??= rotaryTable(config, config.maxPositionEmbeddings);
  const weights = fromArrays(arrays);
  const { loss, gradients } = supervisedGradients(weights, rows, config, { ...options, table });
  disposeWeights(weights);
  const reply = { loss, gradients: await toArrays(gradients) };
  disposeWeights(gradients);
  return reply;
});
