/**
 * The webgpu backend: fused kernels, because every op costs 60 to 140 µs whatever its
 * size (generation needs a third of the ops), and graphs, which record the kernels and
 * replay them on the same memory. Relies on internals of
 * `@tensorflow/tfjs-backend-webgpu` 4.22, which package.json pins.
 * Shape letters: N rows, C width, F hidden width, B batch rows, K key-value heads, G
 * query heads per key-value head, L cached tokens, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';

/** A shader, which sees the inputs as arrays of numbers by name. */
interface Program {
  outputShape: number[];
  variableNames: string[];
  variableComponents: number[];
  outputComponent: number;
  uniforms: string;
  shaderKey: string;
  workgroupSize: [number, number, number];
  dispatchLayout: { x: number[] };
  dispatch: [number, number, number];
  getUserCode: () => string;
}

/** WebGPU objects that are only passed on. */
type Opaque = object;
interface ComputePass {
  setPipeline(pipeline: Opaque): void;
  setBindGroup(index: number, group: Opaque): void;
  dispatchWorkgroups(x: number, y: number, z: number): void;
  end(): void;
}

interface BufferManager {
  /** Free buffers by size and usage. */
  freeBuffers: Map<string, { size: number; destroy: () => void }[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
  numBytesUsed: number;
  releaseBuffer: (buffer: { size: number }, reuse?: boolean) => void;
}

interface WebGpuBackend {
  runWebGPUProgram(
    program: Program,
    inputs: tf.TensorInfo[],
    dtype: 'float32',
    uniforms: { type: 'int32' | 'float32'; data: number[] }[],
    output?: tf.TensorInfo,
  ): tf.TensorInfo;
  incRef(dataId: tf.DataId): void;
  queue: { writeBuffer: (buffer: Opaque, offset: number, data: ArrayBufferView) => void };
  commandEncoder: { beginComputePass: () => ComputePass } | null;
  computePassEncoder: ComputePass | null;
  bufferManager: BufferManager;
  tensorMap: { get: (dataId: tf.DataId) => { resource?: Opaque } };
  ensureCommandEncoderReady: () => void;
  endComputePassEncoder: () => void;
  submitQueue: () => void;
}

const currentBackend = (): WebGpuBackend => tf.backend() as unknown as WebGpuBackend;

const THREADS = 64;

interface KernelCode {
  name: string;
  inputs: string[];
  /** Inputs (or `result`) that are arrays of vec4: their width is a multiple of four. */
  vectors?: string[];
  uniforms?: Record<string, 'f32' | 'i32'>;
  outputShape: (shapes: number[][]) => number[];
  /** An input to overwrite in place. Default: the result is a new tensor. */
  into?: string;
  threads?: number;
  /** Number of workgroups. Default: one thread per number of the output. */
  workgroups?: (outputShape: number[], shapes: number[][]) => number;
  /** WGSL with `fn main(index : i32)`, which sees the inputs, `result` and `uniforms`. */
  code: (shapes: number[][]) => string;
}

function register(kernel: KernelCode): void {
  const { name, inputs: names, vectors = [], uniforms = {}, into, threads = THREADS } = kernel;
  tf.registerKernel({
    kernelName: name,
    backendName: 'webgpu',
    kernelFunc: ({ inputs, attrs, backend }) => {
      const gpu = backend as unknown as WebGpuBackend;
      const tensors = names.map((input) => inputs[input] as tf.TensorInfo);
      const shapes = tensors.map(({ shape }) => shape);
      const shape = kernel.outputShape(shapes);
      const numWorkgroups =
        kernel.workgroups?.(shape, shapes) ?? Math.ceil(tf.util.sizeFromShape(shape) / threads);
      const declarations = Object.entries(uniforms).map(([key, type]) => `${key} : ${type},`);
      const program: Program = {
        outputShape: shape,
        variableNames: names,
        variableComponents: names.map((input) => (vectors.includes(input) ? 4 : 1)),
        outputComponent: vectors.includes('result') ? 4 : 1,
        uniforms: declarations.join(' '),
        // The head width is a constant of the shader, and the same throughout a model.
        shaderKey: `${name}_${shapes[0].at(-1)}`,
        workgroupSize: [threads, 1, 1],
        dispatchLayout: { x: shape.map((_, i) => i) },
        dispatch: [numWorkgroups, 1, 1],
        getUserCode: () => kernel.code(shapes),
      };
      const values = Object.entries(uniforms).map(([key, type]) => ({
        type: type === 'f32' ? ('float32' as const) : ('int32' as const),
        data: [(attrs as Record<string, number>)[key]],
      }));
      const output = into ? (inputs[into] as tf.TensorInfo) : undefined;
      const result = gpu.runWebGPUProgram(program, tensors, 'float32', values, output);
      // In place, two tensors share the memory.
      if (output) gpu.incRef(result.dataId);
      return { dataId: result.dataId, shape: result.shape, dtype: result.dtype };
    },
  });
}

/** x (N, C) and gain (C) -> (N, C). */
const RMS_NORM: KernelCode = {
  name: 'RmsNorm',
  inputs: ['x', 'gain'],
  uniforms: { epsilon: 'f32' },
  outputShape: ([x]) => x,
  workgroups: ([rows]) => rows,
  code: () => `
    var<workgroup> squares : array<f32, ${THREADS}>;
    fn main(index : i32) {
      let thread = index % ${THREADS};
      let width = uniforms.outShape.y;
      let start = (index / ${THREADS}) * width;
      var square = 0.0;
      for (var c = thread; c < width; c += ${THREADS}) { square += x[start + c] * x[start + c]; }
      squares[thread] = square;
      workgroupBarrier();
      var total = 0.0;
      for (var t = 0; t < ${THREADS}; t++) { total += squares[t]; }
      let inverse = inverseSqrt(total / f32(width) + uniforms.epsilon);
      for (var c = thread; c < width; c += ${THREADS}) { result[start + c] = x[start + c] * inverse * gain[c]; }
    }`,
};

/** x, cos and sin (N, D) -> (N, D). */
const ROTARY: KernelCode = {
  name: 'Rotary',
  inputs: ['x', 'cosine', 'sine'],
  uniforms: { direction: 'f32' },
  outputShape: ([x]) => x,
  code: () => `
    fn main(index : i32) {
      if (index >= uniforms.outShape.x * uniforms.outShape.y) { return; }
      let half = uniforms.outShape.y / 2;
      var turned = 0.0;
      if (index % uniforms.outShape.y < half) { turned = -x[index + half]; } else { turned = x[index - half]; }
      result[index] = x[index] * cosine[index] + uniforms.direction * turned * sine[index];
    }`,
};

/** (N, 2F) -> (N, F). */
const SWIGLU: KernelCode = {
  name: 'SwiGlu',
  inputs: ['gateUp'],
  outputShape: ([[rows, width]]) => [rows, width / 2],
  code: () => `
    fn main(index : i32) {
      let width = uniforms.outShape.y;
      if (index >= uniforms.outShape.x * width) { return; }
      let at = (index / width) * 2 * width + index % width;
      let gate = gateUp[at];
      result[index] = gate / (1.0 + exp(-gate)) * gateUp[at + width];
    }`,
};

/** Keys per block of attention, one for each thread of a workgroup. */
const KEYS = 256;
/** Number of values that a thread reads at a time, to hide latency. */
const UNDERWAY = 4;

/** Loops over blocks of keys with running maximum and sums; unrolled to overlap reads. */
const attendKeys = (vectors: number, parts: number): string => `
      for (var base = 0; base < uniforms.kShape.y; base += ${KEYS}) {
        let count = min(${KEYS}, uniforms.kShape.y - base);
        let first = head * uniforms.kShape.y + base;
        let at = (first + min(thread, count - 1)) * ${vectors};
        var score = bias[(head / uniforms.kvHeads) * uniforms.kShape.y + base + min(thread, count - 1)];
        ${range(vectors)
          .map((d) => `score += dot(query[${d}], k[at + ${d}]);`)
          .join('\n')}
        if (thread >= count) { score = -3.0e38; }
        highest[thread] = score;
        workgroupBarrier();
        for (var half = ${KEYS / 2}; half > 0; half /= 2) {
          if (thread < half) { highest[thread] = max(highest[thread], highest[thread + half]); }
          workgroupBarrier();
        }
        let newest = max(before, highest[0]);
        weights[thread] = exp(score - newest);
        workgroupBarrier();
        let kept = exp(before - newest);
        before = newest;
        total *= kept;
        sums *= kept;
        for (var t = part; t < count; t += ${UNDERWAY * parts}) {
          ${range(UNDERWAY)
            .map(
              (i) => `
          let key${i} = min(t + ${i * parts}, count - 1);
          let weight${i} = select(0.0, weights[key${i}], t + ${i * parts} < count);
          let value${i} = v[(first + key${i}) * ${vectors} + lane];`,
            )
            .join('')}
          ${range(UNDERWAY)
            .map((i) => `total += weight${i}; sums += weight${i} * value${i};`)
            .join('\n')}
        }
        workgroupBarrier();
      }`;

/** One query token (B*K, G, D) over keys, values (B*K, L, D), bias (B, L). */
const ATTEND_CACHED: KernelCode = {
  name: 'AttendCached',
  inputs: ['q', 'k', 'v', 'bias'],
  vectors: ['q', 'k', 'v', 'result'],
  uniforms: { kvHeads: 'i32', scale: 'f32' },
  outputShape: ([q]) => q,
  threads: KEYS,
  workgroups: ([heads, groups]) => heads * groups,
  code: ([q]) => {
    const vectors = q[2] / 4;
    // Each lane has four numbers of a value, each part a share of the keys.
    const parts = Math.floor(KEYS / vectors);
    return `
    var<workgroup> query : array<vec4<f32>, ${vectors}>;
    var<workgroup> highest : array<f32, ${KEYS}>;
    var<workgroup> weights : array<f32, ${KEYS}>;
    var<workgroup> totals : array<f32, ${parts}>;
    var<workgroup> partial : array<vec4<f32>, ${parts * vectors}>;
    fn main(index : i32) {
      let thread = index % ${KEYS};
      let row = index / ${KEYS};
      let head = row / uniforms.outShape.y;
      let lane = thread % ${vectors};
      // Leftover threads have no key.
      let part = select(thread / ${vectors}, ${KEYS}, thread >= ${parts * vectors});
      if (thread < ${vectors}) { query[thread] = q[row * ${vectors} + thread] * uniforms.scale; }
      workgroupBarrier();
      var before = -3.0e38;
      var total = 0.0;
      var sums = vec4<f32>(0.0);
      ${attendKeys(vectors, parts)}
      if (part < ${parts}) {
        partial[thread] = sums;
        if (lane == 0) { totals[part] = total; }
      }
      workgroupBarrier();
      if (thread < ${vectors}) {
        for (var p = 1; p < ${parts}; p++) {
          sums += partial[p * ${vectors} + thread];
          total += totals[p];
        }
        result[row * ${vectors} + thread] = sums / total;
      }
    }`;
  },
};

/** Writes x (R, 1, D) into the block (R, L, D) in place, at columns (R). */
const WRITE_COLUMNS: KernelCode = {
  name: 'WriteColumns',
  inputs: ['x', 'columns'],
  into: 'block',
  outputShape: ([[rows, , width]]) => [rows, 1, width],
  workgroups: (_, [x]) => Math.ceil(tf.util.sizeFromShape(x) / THREADS),
  code: () => `
    fn main(index : i32) {
      let width = uniforms.xShape.z;
      if (index >= uniforms.xShape.x * width) { return; }
      let row = index / width;
      result[(row * uniforms.outShape.y + columns[row]) * width + index % width] = x[index];
    }`,
};

/** Installs the kernels; call once, while webgpu is the backend. */
export function setUpWebGpu(): void {
  [RMS_NORM, ROTARY, SWIGLU, ATTEND_CACHED, WRITE_COLUMNS].forEach(register);
  boundFreeBuffers(tf.backend(), FREE_BYTES);
}

/** Maximum bytes of free buffers on the GPU. */
const FREE_BYTES = 4e9;

/**
 * Destroys all free buffers once they exceed `maxBytes`. The backend keeps them for
 * tensors of exactly the same size, but context lengths differ at every step: 50 steps of
 * a model with 135 million parameters fill 140 GB.
 */
export function boundFreeBuffers(backend: tf.KernelBackend, maxBytes: number): void {
  const { bufferManager } = backend as unknown as WebGpuBackend;
  const release = bufferManager.releaseBuffer.bind(bufferManager);
  bufferManager.releaseBuffer = (buffer, reuse) => {
    release(buffer, reuse);
    if (bufferManager.numBytesAllocated - bufferManager.numBytesUsed <= maxBytes) return;
    for (const free of bufferManager.freeBuffers.values()) {
      for (const spare of free) {
        spare.destroy();
        bufferManager.numBytesAllocated -= spare.size;
      }
      free.length = 0;
    }
    bufferManager.numFreeBuffers = 0;
  };
}

/** Submits what is queued, so that later writes into buffers come after it. */
function flush(backend: WebGpuBackend): void {
  if (!backend.commandEncoder) return;
  backend.endComputePassEncoder();
  backend.submitQueue();
}

interface Dispatch {
  pipeline: Opaque;
  group: Opaque;
  workgroups: [number, number, number];
}

function recordingPass(pass: ComputePass, dispatches: Dispatch[]): ComputePass {
  let [pipeline, group]: Opaque[] = [];
  return {
    setPipeline: (next) => pass.setPipeline((pipeline = next)),
    setBindGroup: (index, next) => pass.setBindGroup(index, (group = next)),
    dispatchWorkgroups: (...workgroups) => {
      dispatches.push({ pipeline, group, workgroups });
      pass.dispatchWorkgroups(...workgroups);
    },
    end: () => pass.end(),
  };
}

/** Implements `overwrite` of graph.ts; the tensor must be on the GPU and never read. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  const backend = currentBackend();
  flush(backend);
  const data = tensor.dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values);
  backend.queue.writeBuffer(backend.tensorMap.get(tensor.dataId).resource!, 0, data);
}

/** Implements `captureGraph` of graph.ts. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const backend = currentBackend();
  const { bufferManager } = backend;
  const dispatches: Dispatch[] = [];
  // Buffers that the computation would release.
  const held: Parameters<BufferManager['releaseBuffer']>[] = [];
  const [ensureReady, release] = [backend.ensureCommandEncoderReady, bufferManager.releaseBuffer];
  let pass: ComputePass | null = null;
  flush(backend);
  backend.ensureCommandEncoderReady = () => {
    ensureReady.call(backend);
    if (backend.computePassEncoder === pass && pass) return;
    pass = recordingPass(backend.commandEncoder!.beginComputePass(), dispatches);
    backend.computePassEncoder = pass;
  };
  bufferManager.releaseBuffer = (...given) => void held.push(given);
  const dispose = (): void =>
    held.splice(0).forEach((given) => release.call(bufferManager, ...given));
  let result: T;
  try {
    result = compute();
    flush(backend);
  } catch (error) {
    dispose();
    throw error;
  } finally {
    backend.ensureCommandEncoderReady = ensureReady;
    bufferManager.releaseBuffer = release;
  }
  return {
    result,
    dispose,
    run: () => {
      flush(backend);
      backend.ensureCommandEncoderReady();
      const replay = backend.commandEncoder!.beginComputePass();
      for (const { pipeline, group, workgroups } of dispatches) {
        replay.setPipeline(pipeline);
        replay.setBindGroup(0, group);
        replay.dispatchWorkgroups(...workgroups);
      }
      replay.end();
      backend.submitQueue();
    },
  };
}
