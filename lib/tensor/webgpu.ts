import { range } from 'd3-array';
import * as tf from '@tensorflow/tfjs-core';

//==== lib/tensor/webgpu-kernels.ts
/**
 * Parts of a transformer as one program each on the webgpu backend, where every
 * operation costs the same 60 to 140 microseconds however small it is: generation has a
 * third of the operations. Relies on the internals of `@tensorflow/tfjs-backend-webgpu`
 * 4.22, which package.json pins.
 *
 * Shape letters: N rows, C width, F hidden width, B rows of a batch, K key-value heads, G
 * query heads to each, L cached tokens, D head width.
 */

type Uniform = { type: 'int32' | 'float32'; data: number[] };

/**
 * What the backend runs: a shader with the inputs as arrays of numbers under their names.
 */
interface Program {
  outputShape: number[];
  variableNames: string[];
  variableComponents: number[];
  outputComponent: number;
  /** Declarations of what is given beside the inputs. */
  uniforms: string;
  shaderKey: string;
  workgroupSize: [number, number, number];
  dispatchLayout: { x: number[] };
  dispatch: [number, number, number];
  getUserCode: () => string;
}

interface WebGpuBackend {
  runWebGPUProgram(
    program: Program,
    inputs: tf.TensorInfo[],
    dtype: 'float32',
    uniforms: Uniform[],
    output?: tf.TensorInfo,
  ): tf.TensorInfo;
  incRef(dataId: tf.DataId): void;
}

/** Threads of a workgroup, unless a kernel says otherwise. */
const THREADS = 64;

interface KernelCode {
  name: string;
  inputs: string[];
  /**
   * Inputs, and `result`, that the shader sees as an array of vectors of four numbers:
   * their last dimension is a multiple of four.
   */
  vectors?: string[];
  uniforms: string;
  outputShape: (shapes: number[][]) => number[];
  /**
   * The input that is written into, in place, and not read; otherwise the result is a new
   * tensor.
   */
  into?: string;
  threads?: number;
  /**
   * Workgroups; one for every {@link THREADS} numbers of the output unless it says so.
   */
  workgroups?: (outputShape: number[], shapes: number[][]) => number;
  /**
   * Functions of WGSL with `fn main(index : i32)`, which sees inputs, `result` and
   * `uniforms`.
   */
  code: (shapes: number[][]) => string;
}

const isFloat = (uniform: string): boolean => uniform.endsWith('f32');

function register({
  name,
  inputs,
  vectors = [],
  uniforms,
  into,
  threads = THREADS,
  ...of
}: KernelCode): void {
  const declared = uniforms.split(',').flatMap((one) => one.trim() || []);
  const names = declared.map((one) => one.split(' ')[0]);
  tf.registerKernel({
    kernelName: name,
    backendName: 'webgpu',
    kernelFunc: ({ inputs: given, attrs, backend: current }) => {
      const backend = current as unknown as WebGpuBackend;
      const tensors = inputs.map((one) => given[one] as tf.TensorInfo);
      const shapes = tensors.map(({ shape }) => shape);
      const shape = of.outputShape(shapes);
      const count =
        of.workgroups?.(shape, shapes) ?? Math.ceil(tf.util.sizeFromShape(shape) / threads);
      const program: Program = {
        outputShape: shape,
        variableNames: inputs,
        variableComponents: inputs.map((one) => (vectors.includes(one) ? 4 : 1)),
        outputComponent: vectors.includes('result') ? 4 : 1,
        uniforms: declared.map((one) => `${one},`).join(' '),
        // Heads are of one width in all of a model, which the shader has as a constant.
        shaderKey: `${name}_${shapes[0].at(-1)}`,
        workgroupSize: [threads, 1, 1],
        dispatchLayout: { x: shape.map((_, i) => i) },
        dispatch: [count, 1, 1],
        getUserCode: () => of.code(shapes),
      };
      const values = names.map((one, i): Uniform => {
        const value = (attrs as Record<string, number>)[one];
        return { type: isFloat(declared[i]) ? 'float32' : 'int32', data: [value] };
      });
      const output = into ? (given[into] as tf.TensorInfo) : undefined;
      const result = backend.runWebGPUProgram(program, tensors, 'float32', values, output);
      // Two tensors share the memory then.
      if (output) backend.incRef(result.dataId);
      return { dataId: result.dataId, shape: result.shape, dtype: result.dtype };
    },
  });
}

/** x (N, C) and gain (C) -> (N, C). */
const RMS_NORM: KernelCode = {
  name: 'RmsNorm',
  inputs: ['x', 'gain'],
  uniforms: 'epsilon : f32',
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
  uniforms: 'direction : f32',
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
  uniforms: '',
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

/** Threads of a workgroup of attention: so many keys at a time. */
const KEYS = 256;
/** Values that a thread has underway at a time: each of them takes long to come. */
const UNDERWAY = 4;

/**
 * Keys: some of them at a time, with the maximum and the sums that were before. Loops are
 * written out, so that reads overlap.
 */
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

/**
 * Queries (B*K, G, D) of a token each over keys and values (B*K, L, D) with bias (B, L)
 * -> (B*K, G, D).
 */
const ATTEND_CACHED: KernelCode = {
  name: 'AttendCached',
  inputs: ['q', 'k', 'v', 'bias'],
  vectors: ['q', 'k', 'v', 'result'],
  uniforms: 'kvHeads : i32, scale : f32',
  outputShape: ([q]) => q,
  threads: KEYS,
  workgroups: ([heads, groups]) => heads * groups,
  code: ([q]) => {
    const vectors = q[2] / 4;
    // Of a value each lane has four numbers; each part has some of the keys.
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
      // Threads that are left over have no key.
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

/** x (R, 1, D) into the block (R, L, D), each row into its own column (R), in place. */
const WRITE_COLUMNS: KernelCode = {
  name: 'WriteColumns',
  inputs: ['x', 'columns'],
  uniforms: '',
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

/** Registers the kernels; once. */
export const installWebGpuKernels = (): void =>
  [RMS_NORM, ROTARY, SWIGLU, ATTEND_CACHED, WRITE_COLUMNS].forEach(register);

/**
 * What the backend knows of its memory: buffers that are free, by size and use, to be
 * used again.
 */
interface BufferManager {
  freeBuffers: Map<string, { size: number; destroy: () => void }[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
  numBytesUsed: number;
  releaseBuffer: (buffer: { size: number }, reuse?: boolean) => void;
}

/**
 * Gives free buffers back to the GPU, all of them, when they come to so many bytes.
 * Otherwise they are kept for tensors of the very same size, and contexts are of another
 * length at every step: 140 GB are full after 50 steps of a model of 135 million
 * parameters.
 */
export function boundFreeBuffers(backend: tf.KernelBackend, mostBytes: number): void {
  const { bufferManager } = backend as unknown as { bufferManager: BufferManager };
  const release = bufferManager.releaseBuffer.bind(bufferManager);
  bufferManager.releaseBuffer = (buffer, reuse) => {
    release(buffer, reuse);
    if (bufferManager.numBytesAllocated - bufferManager.numBytesUsed <= mostBytes) return;
    for (const free of bufferManager.freeBuffers.values()) {
      for (const one of free) {
        one.destroy();
        bufferManager.numBytesAllocated -= one.size;
      }
      free.length = 0;
    }
    bufferManager.numFreeBuffers = 0;
  };
}

//==== lib/tensor/webgpu-graph.ts
/**
 * Graphs on the webgpu backend: the programs are recorded, and run again on the same
 * memory, without the hundred microseconds that TensorFlow.js takes for each of them.
 * Relies on the internals of `@tensorflow/tfjs-backend-webgpu` 4.22, which package.json
 * pins.
 */

/**
 * The parts of WebGPU that are used here; a pipeline, a bind group and a buffer are only
 * passed on.
 */
type Opaque = object;
interface ComputePass {
  setPipeline(pipeline: Opaque): void;
  setBindGroup(index: number, group: Opaque): void;
  dispatchWorkgroups(x: number, y: number, z: number): void;
  end(): void;
}
interface Backend {
  queue: { writeBuffer: (buffer: Opaque, offset: number, data: ArrayBufferView) => void };
  commandEncoder: { beginComputePass: () => ComputePass } | null;
  computePassEncoder: ComputePass | null;
  bufferManager: BufferManager;
  tensorMap: { get: (dataId: tf.DataId) => { resource?: Opaque } };
  ensureCommandEncoderReady: () => void;
  endComputePassEncoder: () => void;
  submitQueue: () => void;
}

interface Dispatch {
  pipeline: Opaque;
  group: Opaque;
  workgroups: [number, number, number];
}

const currentBackend = (): Backend => tf.backend() as unknown as Backend;

/**
 * What is queued goes to the GPU, so that what is written into buffers afterwards comes
 * after it.
 */
function flush(backend: Backend): void {
  if (!backend.commandEncoder) return;
  backend.endComputePassEncoder();
  backend.submitQueue();
}

/** A compute pass that notes what it is told. */
function recording(pass: ComputePass, dispatches: Dispatch[]): ComputePass {
  let [pipeline, group]: Opaque[] = [];
  return {
    setPipeline: (one) => pass.setPipeline((pipeline = one)),
    setBindGroup: (index, one) => pass.setBindGroup(index, (group = one)),
    dispatchWorkgroups: (...workgroups) => {
      dispatches.push({ pipeline, group, workgroups });
      pass.dispatchWorkgroups(...workgroups);
    },
    end: () => pass.end(),
  };
}

/** New numbers for a tensor that lies on the GPU and has not been read. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  const backend = currentBackend();
  flush(backend);
  const data = tensor.dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values);
  backend.queue.writeBuffer(backend.tensorMap.get(tensor.dataId).resource!, 0, data);
}

/** {@link captureGraph} of graph.ts on this backend. */
export function captureGraph<T extends tf.Tensor>(compute: () => T) {
  const backend = currentBackend();
  const { bufferManager } = backend;
  const dispatches: Dispatch[] = [];
  const held: Parameters<BufferManager['releaseBuffer']>[] = [];
  const [ensureReady, release] = [backend.ensureCommandEncoderReady, bufferManager.releaseBuffer];
  let pass: ComputePass | null = null;
  flush(backend);
  backend.ensureCommandEncoderReady = () => {
    ensureReady.call(backend);
    if (backend.computePassEncoder === pass && pass) return;
    pass = recording(backend.commandEncoder!.beginComputePass(), dispatches);
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
      const again = backend.commandEncoder!.beginComputePass();
      for (const { pipeline, group, workgroups } of dispatches) {
        again.setPipeline(pipeline);
        again.setBindGroup(0, group);
        again.dispatchWorkgroups(...workgroups);
      }
      again.end();
      backend.submitQueue();
    },
  };
}
