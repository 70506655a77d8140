import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { installCommand, loadOptional, optionalVersion } from '../io/optional.js';
import { packagePath } from '../io/paths.js';
import { BACKEND_NAMES, TRIED_BACKENDS, type BackendName } from './backend-names.js';
import { setNativeGraphs } from './graph.js';

// Registers gradients, which tfjs-core only has in files that Node cannot load; the build
// bundles them.
createRequire(import.meta.url)(packagePath('dist', 'tensor', 'tfjs-gradients.cjs'));

export { BACKEND_NAMES, type BackendName };

export interface BackendReport {
  name: BackendName;
  detail: string;
  /** Backends tried before, and why they did not load. */
  skipped: { name: BackendName; reason: string }[];
}

/** Restores what tfjs-node 4.22 calls, and Node 23 removed. */
function restoreRemovedUtil(): void {
  const mutable = createRequire(import.meta.url)('node:util') as Record<string, unknown>;
  mutable.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
}

interface NodeBinding {
  binding?: { TF_Version?: string };
  isUsingGpuDevice?: boolean;
}

const installed = new Set<() => void>();

function installOnce(install: () => void): void {
  if (!installed.has(install)) install();
  installed.add(install);
}

/** In a clone, `@tensorflow/tfjs-node` is `@tensorflow/tfjs`, which loads slowly. */
function isAlias(name: string): boolean {
  const require = createRequire(import.meta.url);
  try {
    return (require(`${name}/package.json`) as { name: string }).name !== name;
  } catch {
    return false;
  }
}

/**
 * Without oneDNN, libtensorflow uses the kernel that signals corrupt (see native.ts)
 * unless this is 0, which takes about twice as long.
 */
const CONTRACTION_KERNEL = 'TENSORFLOW_USE_CUSTOM_CONTRACTION_KERNEL';

/** Loads the libtensorflow addon from either package; it registers as `tensorflow`. */
async function loadNative(wantGpu: boolean): Promise<string> {
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2';
  restoreRemovedUtil();
  if (process.env.TF_ENABLE_ONEDNN_OPTS === '0') process.env[CONTRACTION_KERNEL] ??= '0';
  const failures: string[] = [];
  for (const name of ['@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-node']) {
    try {
      if (!isAlias(name)) await import(name);
      if (!tf.findBackendFactory('tensorflow')) throw new Error('registers no native backend');
      await tf.setBackend('tensorflow');
      const backend = tf.backend() as unknown as NodeBinding;
      if (wantGpu && !backend.isUsingGpuDevice) throw new Error('finds no CUDA device');
      installOnce((await import('./native.js')).installNativeKernels);
      setNativeGraphs(await import('./native-graph.js'));
      return `${name}, libtensorflow ${backend.binding?.TF_Version ?? 'unknown'}`;
    } catch (error) {
      failures.push(`${name} ${firstLine(error)}`);
    }
  }
  throw new Error(failures.join('; '));
}

async function loadWasm(): Promise<string> {
  const wasm = await import('@tensorflow/tfjs-backend-wasm');
  const entry = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(`${dirname(entry)}/`);
  if (!(await tf.setBackend('wasm'))) throw new Error('failed to initialise');
  installOnce((await import('./wasm.js')).installWasmKernels);
  return `@tensorflow/tfjs-backend-wasm ${wasm.version_wasm}`;
}

async function loadCpu(): Promise<string> {
  await import('@tensorflow/tfjs-backend-cpu');
  await tf.setBackend('cpu');
  // Otherwise its first use prints five lines that recommend another backend.
  (tf.backend() as unknown as { firstUse: boolean }).firstUse = false;
  return '@tensorflow/tfjs-backend-cpu';
}

/** Number of operations submitted to the GPU together. */
const DISPATCHES = 100;

/** Dawn's binding to Node: WebGPU's globals, and `create` for `navigator.gpu`. */
interface Dawn {
  create: (flags: string[]) => {
    requestAdapter: () => Promise<{ info: { description: string; device: string } } | null>;
  };
  globals: object;
}

let gpuDevice: string | null = null;

async function openGpu(): Promise<string> {
  const dawn = loadOptional<Dawn>('webgpu');
  Object.assign(globalThis, dawn.globals);
  const gpu = dawn.create([]);
  Object.defineProperty(globalThis, 'navigator', {
    value: { gpu, userAgent: 'node' },
    configurable: true,
  });
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('finds no GPU with a driver for Vulkan, Metal or Direct3D 12');
  loadOptional('@tensorflow/tfjs-backend-webgpu');
  tf.env().set('WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE', DISPATCHES);
  return adapter.info.description || adapter.info.device;
}

async function loadWebGpu(): Promise<string> {
  gpuDevice ??= await openGpu();
  if (!(await tf.setBackend('webgpu'))) throw new Error('failed to initialise');
  installOnce((await import('./webgpu.js')).setUpWebGpu);
  return `@tensorflow/tfjs-backend-webgpu on ${gpuDevice}, Dawn ${optionalVersion('webgpu')}`;
}

const LOADERS: Record<BackendName, () => Promise<string>> = {
  gpu: () => loadNative(true),
  native: () => loadNative(false),
  wasm: loadWasm,
  cpu: loadCpu,
  webgpu: loadWebGpu,
};

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = message.split('\n')[0].replace(/\/\S*\//g, '');
  if (/Cannot find (package|module)/.test(message)) return 'is not installed';
  // This project's messages end with the remedy.
  return line.startsWith('Expected ') ? line : line.slice(0, 120);
}

/** Makes a backend the current one, or returns a short reason why it does not load. */
export async function tryBackend(
  name: BackendName,
): Promise<{ detail: string } | { reason: string }> {
  try {
    const detail = await LOADERS[name]();
    await tf.ready();
    return { detail };
  } catch (error) {
    return { reason: firstLine(error) };
  }
}

/**
 * Makes a backend the current one.
 * @param requested `auto` for the first of gpu, native, wasm and cpu that loads
 * @throws Error with the reasons if none loads
 */
export async function useBackend(requested: BackendName | 'auto' = 'auto'): Promise<BackendReport> {
  if (requested !== 'auto' && !BACKEND_NAMES.includes(requested)) {
    throw new RangeError(
      `Expected a backend of auto, ${BACKEND_NAMES.join(', ')}, but got ${String(requested)}.`,
    );
  }
  const skipped: BackendReport['skipped'] = [];
  for (const name of requested === 'auto' ? TRIED_BACKENDS : [requested]) {
    const tried = await tryBackend(name);
    if ('detail' in tried) return { name, detail: tried.detail, skipped };
    skipped.push({ name, reason: tried.reason });
  }
  const reasons = skipped.map((s) => `${s.name}: ${s.reason}`).join('; ');
  throw new Error(
    `Expected backend ${requested} to load, but it did not (${reasons}). Try --backend wasm, which needs nothing else${
      requested === 'gpu' || requested === 'native'
        ? `, or install @tensorflow/tfjs-node-gpu with "${installCommand('@tensorflow/tfjs-node-gpu')}"`
        : ''
    }.`,
  );
}

/** One-line description for the log: the backend, and faster ones that did not load. */
export function describeBackend({ name, skipped }: BackendReport): string {
  if (skipped.length === 0) return `backend: ${name}`;
  return `backend: ${name}; unavailable: ${skipped.map((other) => other.name).join(', ')} (see \`parallelsearch doctor\`)`;
}
