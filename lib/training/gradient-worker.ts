/**
 * A second process that computes the gradients of its share of a step's rows. tfjs works on one core for much of a small
 * model's step, and threads of one process share tfjs's global state: two processes use both cores.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/model-config.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { supervisedGradients, type GradientOptions } from './supervised.js';
import type { Sequence } from './sequences.js';

type Arrays = Record<string, { shape: number[]; values: Float32Array }>;
type Request =
  | { kind: 'init'; config: ModelConfig; backend: BackendName }
  | { kind: 'gradients'; weights: Arrays; rows: Sequence[]; options: Omit<GradientOptions, 'table'> };
type Reply = { loss: number; gradients: Arrays };

async function toArrays(weights: Weights): Promise<Arrays> {
  const entries = Object.entries(weights).map(
    async ([key, t]) => [key, { shape: t.shape, values: (await t.data()) as Float32Array }] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

const fromArrays = (arrays: Arrays): Weights =>
  Object.fromEntries(Object.entries(arrays).map(([key, { shape, values }]) => [key, tf.tensor(values, shape)]));

export interface GradientWorker {
  /**
   * Hands over rows and weights; resolves once the worker has them, with a function that waits for the gradients. The caller
   * disposes of the gradients.
   */
  start(
    weights: Weights,
    rows: readonly Sequence[],
    options: Omit<GradientOptions, 'table'>,
  ): Promise<() => Promise<{ loss: number; gradients: Weights }>>;
  stop(): void;
}

/** Starts a worker on the same backend. */
export function startGradientWorker(config: ModelConfig, backend: BackendName): GradientWorker {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  const send = (request: Request): Promise<void> =>
    new Promise((resolve, reject) => child.send(request, (error) => (error ? reject(error) : resolve())));
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`The gradient worker stopped with code ${String(code)}.`);
  });
  exited.catch(() => undefined);
  const initialised = send({ kind: 'init', config, backend });
  return {
    start: async (weights, rows, options) => {
      await initialised;
      const message = once(child, 'message');
      await send({ kind: 'gradients', weights: await toArrays(weights), rows: [...rows], options });
      return async () => {
        const [reply] = (await Promise.race([message, exited])) as [Reply];
        return { loss: reply.loss, gradients: fromArrays(reply.gradients) };
      };
    },
    stop: () => void child.kill(),
  };
}

/** The child's side: answers one request after the other. */
function serve(): void {
  let table: RotaryTable;
  let config: ModelConfig;
  let ready: Promise<unknown> = Promise.resolve();
  const answer = async (request: Request): Promise<void> => {
    if (request.kind === 'init') {
      config = request.config;
      await useBackend(request.backend);
      table = rotaryTable(config, config.maxPositionEmbeddings);
      return;
    }
    const weights = fromArrays(request.weights);
    const { loss, gradients } = supervisedGradients(weights, request.rows, config, { ...request.options, table });
    disposeWeights(weights);
    process.send!({ loss, gradients: await toArrays(gradients) } satisfies Reply);
    disposeWeights(gradients);
  };
  process.on('message', (request: Request) => {
    ready = ready.then(() => answer(request)).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // The parent's end, even by a kill, ends the worker.
  process.on('disconnect', () => process.exit(0));
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) serve();
