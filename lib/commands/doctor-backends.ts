/**
 * Checks whether a tfjs backend loads, or why not, and how fast it multiplies matrices.
 * Run as a program, probes one backend and prints the result as a line of JSON.
 */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';
import { installCommand } from '../io/optional.js';
import { BACKEND_NAMES, tryBackend, type BackendName } from '../tensor/backend.js';

/** Versions found, or what is wrong, with a remedy that overrides the part's. */
export type Finding = string | { status: 'warning' | 'missing'; detail: string; remedy?: string };

type BackendProbe = { detail: string; gflops: number; size: number } | { reason: string };

const PROBE_TIMEOUT_MS = 120_000;
const PROGRAM = fileURLToPath(new URL('./doctor-backends.js', import.meta.url));
/** In a product this long, the overhead of the call is negligible. */
const LONG_ENOUGH_MS = 40;
const MAX_SIZE = 4096;

const INSTALL_NATIVE = `\`${installCommand('@tensorflow/tfjs-node-gpu')}\``;
const REINSTALL = 'The installation is incomplete: remove node_modules and install again.';
export const BACKEND_REMEDIES: Record<BackendName, string> = {
  gpu: `It needs Linux, an NVIDIA GPU with CUDA and cuDNN, and ${INSTALL_NATIVE}. Optional: the other backends give the same results.`,
  native: `Run ${INSTALL_NATIVE} where the install script of @tensorflow/tfjs-node-gpu can download libtensorflow (Linux or Windows, x64). Optional, but training is several times faster with it.`,
  wasm: REINSTALL,
  webgpu: `It needs a GPU with a driver for Vulkan, Metal or Direct3D 12, \`${installCommand('webgpu')}\` and \`${installCommand('@tensorflow/tfjs-backend-webgpu')}\`. Optional: the other backends give the same results.`,
  cpu: REINSTALL,
};

/**
 * Probes a backend in its own process: native libraries cannot clash, and a crash is only
 * reported. Takes the start of the backend plus a second.
 */
function probeBackend(name: BackendName): Promise<BackendProbe> {
  return new Promise((resolve) => {
    const options = { timeout: PROBE_TIMEOUT_MS };
    execFile(process.execPath, [PROGRAM, name], options, (error, stdout, stderr) => {
      const [line, complaint] = [stdout, stderr].map((text) => text.trim().split('\n').at(-1)!);
      if (!error && line !== '') return resolve(JSON.parse(line) as BackendProbe);
      const end = error?.signal
        ? `was ended by ${error.signal}`
        : `ended with code ${error?.code ?? 0}`;
      resolve({ reason: `its process ${end}${complaint && `: ${complaint.slice(0, 200)}`}` });
    });
  });
}

export async function checkBackend(name: BackendName, probe = probeBackend): Promise<Finding> {
  const result = await probe(name);
  if ('reason' in result) return { status: 'missing', detail: result.reason };
  const { detail, gflops, size } = result;
  return `${detail}: ${gflops.toPrecision(3)} GFLOP/s (product of two ${size} x ${size} matrices)`;
}

/**
 * Measures the current backend: multiplies square matrices for `durationMs`, one product
 * at a time, of a size that takes long enough.
 * @returns GFLOP/s (2 n^3 operations per product) and n
 */
export async function measureGflops(durationMs = 1000): Promise<{ gflops: number; size: number }> {
  for (let size = 256; ; size *= 2) {
    const [a, b] = [tf.randomUniform([size, size], -1, 1), tf.randomUniform([size, size], -1, 1)];
    try {
      await multiplyOnce(a, b);
      const ms = await multiplyOnce(a, b);
      if (ms < LONG_ENOUGH_MS && size < MAX_SIZE) continue;
      let numProducts = 0;
      let totalMs = 0;
      for (; totalMs < durationMs; numProducts++) totalMs += await multiplyOnce(a, b);
      return { gflops: (numProducts * 2 * size ** 3) / (totalMs * 1e6), size };
    } finally {
      tf.dispose([a, b]);
    }
  }
}

/** Milliseconds of one product, including reading the result. */
async function multiplyOnce(a: tf.Tensor, b: tf.Tensor): Promise<number> {
  const started = performance.now();
  const product = tf.matMul(a, b);
  await product.data();
  product.dispose();
  return performance.now() - started;
}

if (process.argv[1] && realpathSync(process.argv[1]) === PROGRAM) {
  const attempt = await tryBackend(BACKEND_NAMES.find((name) => name === process.argv[2])!);
  const result: BackendProbe =
    'reason' in attempt ? attempt : { detail: attempt.detail, ...(await measureGflops()) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
