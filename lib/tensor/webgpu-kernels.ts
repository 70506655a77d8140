/**
 * Parts of a transformer as one program each on the webgpu backend, where every operation costs the same 60 to 140 microseconds however small it
 * is: generation has a third of the operations. Relies on the internals of `@tensorflow/tfjs-backend-webgpu` 4.22,
 * which package.json pins.
 *
 * Shape letters: N rows, C width, F hidden width, B rows of a batch, K key-value heads, G query heads to each, L cached tokens, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';

type Uniform = { type: 'int32' | 'float32'; data: number[] };

/** What the backend runs: a shader with the inputs as arrays of numbers under their names. */
interface Program {
  outputShape: number[];
  variableNames: string[];
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
  ): tf.TensorInfo;
}

/** Threads of a workgroup. */
const THREADS = 64;

interface KernelCode {
  name: string;
  inputs: string[];
  uniforms: string;
  outputShape: (shapes: number[][]) => number[];
  /** Workgroups; one for every {@link THREADS} numbers of the output unless it says so. */
  workgroups?: (outputShape: number[]) => number;
  /** Functions of WGSL with `fn main(index : i32)`, which sees inputs, `result` and `uniforms`. */
  code: (shapes: number[][]) => string;
}

const isFloat = (uniform: string): boolean => uniform.endsWith('f32');

function register({ name, inputs, uniforms, outputShape, workgroups, code }: KernelCode): void {
  const declared = uniforms.split(',').flatMap((one) => one.trim() || []);
  const names = declared.map((one) => one.split(' ')[0]);
  tf.registerKernel({
    kernelName: name,
    backendName: 'webgpu',
    kernelFunc: ({ inputs: given, attrs, backend }) => {
      const tensors = inputs.map((one) => given[one] as tf.TensorInfo);
      const shapes = tensors.map(({ shape }) => shape);
      const shape = outputShape(shapes);
      const count = workgroups?.(shape) ?? Math.ceil(tf.util.sizeFromShape(shape) / THREADS);
      const program: Program = {
        ...{
          outputShape: shape,
          variableNames: inputs,
          uniforms: declared.map((one) => `${one},`).join(' '),
        },
        // Heads are of one width in all of a model, which the shader has as a constant.
        shaderKey: `${name}_${shapes[0].at(-1)}`,
        ...{ workgroupSize: [THREADS, 1, 1], dispatchLayout: { x: shape.map((_, i) => i) } },
        ...{ dispatch: [count, 1, 1], getUserCode: () => code(shapes) },
      };
      const values = names.map((one, i): Uniform => {
        const value = (attrs as Record<string, number>)[one];
        return { type: isFloat(declared[i]) ? 'float32' : 'int32', data: [value] };
      });
      return (backend as unknown as WebGpuBackend).runWebGPUProgram(program, tensors, 'float32', values);
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

/** One block of keys: a chunk of them at a time, with the maximum and the sum that were before. */
const attendBlock = (n: 1 | 2, width: number): string => `
      for (var base = 0; base < uniforms.k${n}Shape.y; base += ${THREADS}) {
        let count = min(${THREADS}, uniforms.k${n}Shape.y - base);
        let first = head * uniforms.k${n}Shape.y + base;
        var score = -3.0e38;
        if (thread < count) {
          score = bias${n}[(head / uniforms.kvHeads) * uniforms.k${n}Shape.y + base + thread];
          for (var d = 0; d < ${width}; d++) { score += query[d] * k${n}[(first + thread) * ${width} + d]; }
        }
        scores[thread] = score;
        workgroupBarrier();
        var newest = highest;
        for (var t = 0; t < count; t++) { newest = max(newest, scores[t]); }
        workgroupBarrier();
        scores[thread] = exp(score - newest);
        workgroupBarrier();
        let kept = exp(highest - newest);
        total *= kept;
        for (var i = 0; i < ${Math.ceil(width / THREADS)}; i++) { sums[i] *= kept; }
        for (var t = 0; t < count; t++) {
          total += scores[t];
          for (var i = 0; i < ${Math.ceil(width / THREADS)}; i++) {
            let d = i * ${THREADS} + thread;
            if (d < ${width}) { sums[i] += scores[t] * v${n}[(first + t) * ${width} + d]; }
          }
        }
        highest = newest;
        workgroupBarrier();
      }`;

/** Queries (B*K, G, D) of a token each over two blocks of keys and values (B*K, L, D) with biases (B, L), one softmax over both -> (B*K, G, D). */
const ATTEND_CACHED: KernelCode = {
  name: 'AttendCached',
  inputs: ['q', 'k1', 'v1', 'bias1', 'k2', 'v2', 'bias2'],
  uniforms: 'kvHeads : i32, scale : f32',
  outputShape: ([q]) => q,
  workgroups: ([heads, groups]) => heads * groups,
  code: ([q]) => {
    const width = q[2];
    return `
    var<workgroup> query : array<f32, ${width}>;
    var<workgroup> scores : array<f32, ${THREADS}>;
    fn main(index : i32) {
      let thread = index % ${THREADS};
      let row = index / ${THREADS};
      let head = row / uniforms.outShape.y;
      for (var d = thread; d < ${width}; d += ${THREADS}) { query[d] = q[row * ${width} + d] * uniforms.scale; }
      workgroupBarrier();
      var highest = -3.0e38;
      var total = 0.0;
      var sums = array<f32, ${Math.ceil(width / THREADS)}>();
      ${attendBlock(1, width)}
      ${attendBlock(2, width)}
      for (var i = 0; i < ${Math.ceil(width / THREADS)}; i++) {
        let d = i * ${THREADS} + thread;
        if (d < ${width}) { result[row * ${width} + d] = sums[i] / total; }
      }
    }`;
  },
};

/** Registers the kernels; once. */
export const installWebGpuKernels = (): void => [RMS_NORM, ROTARY, SWIGLU, ATTEND_CACHED].forEach(register);

/** What the backend knows of its memory: buffers that are free, by size and use, to be used again. */
interface BufferManager {
  freeBuffers: Map<string, { size: number; destroy: () => void }[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
  numBytesUsed: number;
  releaseBuffer: (buffer: { size: number }, reuse?: boolean) => void;
}

/**
 * Gives free buffers back to the GPU, all of them, when they come to so many bytes. Otherwise they are kept for tensors of the very same
 * size, and contexts are of another length at every step: 140 GB are full after 50 steps of a model of 135 million parameters.
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
