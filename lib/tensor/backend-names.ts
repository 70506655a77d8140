/** Backends by name, and their threads. Importing this loads no TensorFlow.js. */
import { existsSync, readFileSync } from 'node:fs';

/**
 * `gpu`: tfjs-node-gpu on a GPU; `native`: libtensorflow on the CPU; `wasm`: XNNPACK;
 * `cpu`: plain JavaScript; `webgpu`: any GPU through Dawn, only on request, because the
 * small world's models are slower on it.
 */
export type BackendName = 'gpu' | 'native' | 'wasm' | 'cpu' | 'webgpu';

/** The order in which `auto` tries backends. */
export const TRIED_BACKENDS: readonly BackendName[] = ['gpu', 'native', 'wasm', 'cpu'];
export const BACKEND_NAMES: readonly BackendName[] = [...TRIED_BACKENDS, 'webgpu'];

/** Whether the backend leaves cores idle for a second process. */
export const isCpuBackend = (name: BackendName): boolean =>
  ['native', 'wasm', 'cpu'].includes(name);

/**
 * Sets the threads per operation of libtensorflow, unless `TF_NUM_INTRAOP_THREADS` does.
 * Call it before the backend loads. One is best for a small model, whose operations end
 * before a second thread has woken up.
 */
export function limitThreads(threads: number): void {
  process.env.TF_NUM_INTRAOP_THREADS ??= String(threads);
}

/** Whether the CPU multiplies bfloat16 matrices (AMX); otherwise bfloat16 is slower. */
const hasAmx = (): boolean =>
  existsSync('/proc/cpuinfo') && readFileSync('/proc/cpuinfo', 'utf8').includes('amx_bf16');

/** Environment variables of a process that trains. */
export const trainingEnvironment = (threads: number): Record<string, string> => ({
  TF_NUM_INTRAOP_THREADS: String(threads),
  ...(hasAmx() && { ONEDNN_DEFAULT_FPMATH_MODE: 'BF16' }),
});
