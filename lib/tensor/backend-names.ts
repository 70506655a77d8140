/** Backends by name, and their threads: importing this loads no TensorFlow.js. */

/**
 * `gpu`: tfjs-node-gpu on a GPU; `native`: libtensorflow on the CPU; `wasm`: XNNPACK;
 * `cpu`: plain JavaScript; `webgpu`: any GPU through Dawn, only on request, since the
 * small world's models are slower on it.
 */
export type BackendName = 'gpu' | 'native' | 'wasm' | 'cpu' | 'webgpu';

/** In the order in which `auto` tries them. */
export const TRIED_BACKENDS: readonly BackendName[] = ['gpu', 'native', 'wasm', 'cpu'];
export const BACKEND_NAMES: readonly BackendName[] = [...TRIED_BACKENDS, 'webgpu'];

/** Whether a backend leaves cores idle that a second process can use. */
export const isCpuBackend = (name: BackendName): boolean =>
  ['native', 'wasm', 'cpu'].includes(name);

/**
 * Threads for one operation of libtensorflow, unless `TF_NUM_INTRAOP_THREADS` says so;
 * call before the backend loads. One is best for a small model, whose operations are over
 * before a second thread has woken up.
 */
export function limitThreads(threads: number): void {
  process.env.TF_NUM_INTRAOP_THREADS ??= String(threads);
}
