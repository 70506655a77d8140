/** Backends by name, for options: importing this loads no TensorFlow.js. */

/**
 * `gpu`: tfjs-node-gpu on a GPU; `native`: libtensorflow on the CPU; `wasm`: XNNPACK;
 * `cpu`: plain JavaScript; `webgpu`: any GPU through Dawn, only on request, since the
 * small world's models are slower on it.
 */
export type BackendName = 'gpu' | 'native' | 'wasm' | 'cpu' | 'webgpu';

/** In the order in which `auto` tries them. */
export const TRIED_BACKENDS: readonly BackendName[] = ['gpu', 'native', 'wasm', 'cpu'];
export const BACKEND_NAMES: readonly BackendName[] = [...TRIED_BACKENDS, 'webgpu'];
