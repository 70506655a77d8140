/** The tensor library in a worker: the same WebAssembly as in Node, else plain JavaScript. */
import { setWasmPaths, version_wasm } from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { installWasmKernels } from '../../../tensor/wasm-kernels.js';

/** Makes wasm the current backend, or `cpu` where it does not start. Returns words that name it. */
export async function startBackend(wasm: Uint8Array<ArrayBuffer>): Promise<string> {
  // One thread, as in Node: the same sums in the same order.
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  tf.env().platform.fetch = async () => new Response(wasm);
  setWasmPaths('', true); // by the fetch above
  // The binary needs SIMD instructions. tfjs waits for ever where it does not compile, so that is tried first.
  const isCompiled = await WebAssembly.compile(wasm).then(
    () => true,
    () => false,
  );
  if (isCompiled && (await tf.setBackend('wasm'))) {
    installWasmKernels();
    return `WebAssembly, tfjs ${version_wasm}`;
  }
  await tf.setBackend('cpu');
  return `plain JavaScript, tfjs ${version_wasm}`;
}
