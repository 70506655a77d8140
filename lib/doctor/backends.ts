/**
 * Whether a tfjs backend loads here, why it does not, and how fast it multiplies
 * matrices. As a program, this module tries the backend that it is given and prints what
 * it found as one line of JSON.
 */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';
import { installCommand } from '../io/optional.js';
import { BACKEND_NAMES, tryBackend, type BackendName } from '../tensor/backend.js';
import type { Finding } from './check.js';

type BackendProbe = { detail: string; gflops: number; size: number } | { reason: string };

const PROBE_TIMEOUT_MS = 120_000;
const PROGRAM = fileURLToPath(new URL('./backends.js', import.meta.url));
/** A product this long drowns the cost of calling it. */
const LONG_ENOUGH_MS = 40;
const MAX_SIZE = 4096;

const INSTALL_NATIVE = `\`${installCommand('@tensorflow/tfjs-node-gpu')}\``;
const REINSTALL = 'The installation is incomplete: remove node_modules and install again.';
export const BACKEND_REMEDIES: Record<BackendName, string> = {
  gpu: `It needs Linux, an NVIDIA GPU with CUDA and cuDNN, and ${INSTALL_NATIVE}. Not needed: the others compute the same.`,
  native: `Run ${INSTALL_NATIVE} where the install script of @tensorflow/tfjs-node-gpu can download libtensorflow (Linux or Windows, x64). Not needed, but training is several times faster with it.`,
  wasm: REINSTALL,
  webgpu: `It needs a GPU with a driver for Vulkan, Metal or Direct3D 12, \`${installCommand('webgpu')}\` and \`${installCommand('@tensorflow/tfjs-backend-webgpu')}\`. Not needed: the others compute the same.`,
  cpu: REINSTALL,
};

/**
 * Tries a backend in a process of its own: two native libraries need not meet, and one
 * that crashes is only reported. Takes the backend's start and a second.
 */
function probeBackend(name: BackendName): Promise<BackendProbe> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, name],
      { timeout: PROBE_TIMEOUT_MS },
      (error, stdout, stderr) => {
        const line = stdout.trim().split('\n').at(-1) ?? '';
        if (!error && line !== '') return resolve(JSON.parse(line) as BackendProbe);
        const how = error?.signal
          ? `was ended by ${error.signal}`
          : `ended with code ${error?.code ?? 0}`;
        const said = stderr.trim().split('\n').at(-1);
        resolve({ reason: `its process ${how}${said ? `: ${said.slice(0, 200)}` : ''}` });
      },
    );
  });
}

export async function lookAtBackend(name: BackendName, probe = probeBackend): Promise<Finding> {
  const found = await probe(name);
  if ('reason' in found) return { status: 'missing', detail: found.reason };
  const { detail, gflops, size } = found;
  return `${detail}: ${gflops.toPrecision(3)} GFLOP/s (product of two ${size} x ${size} matrices)`;
}

/**
 * Speed of the current backend: products of two square matrices for `durationMs`, each
 * waited for. The matrices grow until one product takes long enough.
 * @returns billions of floating-point operations a second (2 n^3 a product), and n
 */
export async function measureGflops(durationMs = 1000): Promise<{ gflops: number; size: number }> {
  for (let size = 256; ; size *= 2) {
    const [a, b] = [tf.randomUniform([size, size], -1, 1), tf.randomUniform([size, size], -1, 1)];
    try {
      await multiplyOnce(a, b);
      const ms = await multiplyOnce(a, b);
      if (ms < LONG_ENOUGH_MS && size < MAX_SIZE) continue;
      let [numProducts, totalMs] = [0, 0];
      for (; totalMs < durationMs; numProducts++) totalMs += await multiplyOnce(a, b);
      return { gflops: (numProducts * 2 * size ** 3) / (totalMs * 1e6), size };
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

if (process.argv[1] && realpathSync(process.argv[1]) === PROGRAM) {
  const tried = await tryBackend(BACKEND_NAMES.find((name) => name === process.argv[2])!);
  const result: BackendProbe =
    'reason' in tried ? tried : { detail: tried.detail, ...(await measureGflops()) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
