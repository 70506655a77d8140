/** A process that loads one backend, measures it and prints what it found as one line of JSON. */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';
import { BACKEND_NAMES, tryBackend, type BackendName } from '../tensor/backend.js';

export type BackendProbe = { detail: string; gflops: number; size: number } | { reason: string };

/** A product this long drowns the cost of calling it. */
const LONG_ENOUGH_MS = 40;
const MAX_SIZE = 4096;

/**
 * Speed of the current backend: products of two square matrices for `durationMs`, each waited for. The matrices grow
 * until one product takes long enough.
 * @returns billions of floating-point operations a second (2 n^3 a product), and n
 */
export async function measureGflops(durationMs = 1000): Promise<{ gflops: number; size: number }> {
  for (let size = 256; ; size *= 2) {
    const [a, b] = [tf.randomUniform([size, size], -1, 1), tf.randomUniform([size, size], -1, 1)];
    try {
      await multiplyOnce(a, b);
      const ms = await multiplyOnce(a, b);
      if (ms < LONG_ENOUGH_MS && size < MAX_SIZE) continue;
      return { gflops: await averageGflops(a, b, durationMs), size };
    } finally {
      tf.dispose([a, b]);
    }
  }
}

/** Milliseconds of one product, its result included. */
async function multiplyOnce(a: tf.Tensor, b: tf.Tensor): Promise<number> {
  const started = performance.now();
  const product = tf.matMul(a, b);
  await product.data();
  product.dispose();
  return performance.now() - started;
}

async function averageGflops(a: tf.Tensor, b: tf.Tensor, durationMs: number): Promise<number> {
  let [numProducts, ms] = [0, 0];
  for (; ms < durationMs; numProducts++) ms += await multiplyOnce(a, b);
  return (numProducts * 2 * a.shape[0] ** 3) / (ms * 1e6);
}

async function main(name: BackendName): Promise<void> {
  const tried = await tryBackend(name);
  const result: BackendProbe =
    'reason' in tried ? tried : { detail: tried.detail, ...(await measureGflops()) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

const isProgram = process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
const wanted = BACKEND_NAMES.find((name) => name === process.argv[2]);
if (isProgram && wanted) await main(wanted);
