/**
 * Parts of a transformer as one program each on the webgpu backend, where every operation costs the same 60 to 140 microseconds however small it
 * is: generation has a third of the operations. Relies on the internals of `@tensorflow/tfjs-backend-webgpu` 4.22,
 * which package.json pins.
 *
 * Shape letters: N rows, C width, F hidden width, B rows of a batch, K key-value heads, G query heads to each, L cached tokens, D head width.
 */
import { range } from 'd3-array';
import * as tf from '@tensorflow/tfjs-core';

type Uniform = { type: 'int32' | 'float32'; data: number[] };

/** What the backend runs: a shader with the inputs as arrays of numbers under their names. */
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
  /** Inputs, and `result`, that the shader sees as an array of vectors of four numbers: their last dimension is a multiple of four. */
  vectors?: string[];
  uniforms: string;
  outputShape: (shapes: number[][]) => number[];
  /** The input that is written into, in place, and not read; otherwise the result is a new tensor. */
  into?: string;
  threads?: number;
  /** Workgroups; one for every {@link THREADS} numbers of the output unless it says so. */
  workgroups?: (outputShape: number[], shapes: number[][]) => number;
  /** What the shader has as a constant; the width of the first input unless it says so: heads are of one width in all of a model. */
  constant?: (shapes: number[][]) => number;
  /** Functions of WGSL with `fn main(index : i32)`, which sees inputs, `result` and `uniforms`. */
  code: (shapes: number[][]) => string;
}

const isFloat = (uniform: string): boolean => uniform.endsWith('f32');

/** Runs a kernel on its inputs; the result is a new tensor, or another name of the one that is written into. */
function runCode(
  { name, inputs, vectors = [], uniforms, outputShape, into, threads = THREADS, ...of }: KernelCode,
  given: Record<string, tf.TensorInfo>,
  attributes: Record<string, number>,
  backend: WebGpuBackend,
): tf.TensorInfo {
  const declared = uniforms.split(',').flatMap((one) => one.trim() || []);
  const names = declared.map((one) => one.split(' ')[0]);
  const tensors = inputs.map((one) => given[one]);
  const shapes = tensors.map(({ shape }) => shape);
  const shape = outputShape(shapes);
  const count = of.workgroups?.(shape, shapes) ?? Math.ceil(tf.util.sizeFromShape(shape) / threads);
  const program: Program = {
    ...{ outputShape: shape, variableNames: inputs },
    variableComponents: inputs.map((one) => (vectors.includes(one) ? 4 : 1)),
    outputComponent: vectors.includes('result') ? 4 : 1,
    uniforms: declared.map((one) => `${one},`).join(' '),
    shaderKey: `${name}_${of.constant?.(shapes) ?? shapes[0].at(-1)}`,
    ...{ workgroupSize: [threads, 1, 1], dispatchLayout: { x: shape.map((_, i) => i) } },
    ...{ dispatch: [count, 1, 1], getUserCode: () => of.code(shapes) },
  };
  const values = names.map((one, i): Uniform => {
    return { type: isFloat(declared[i]) ? 'float32' : 'int32', data: [attributes[one]] };
  });
  const output = into ? given[into] : undefined;
  const result = backend.runWebGPUProgram(program, tensors, 'float32', values, output);
  if (output) backend.incRef(output.dataId);
  return { dataId: result.dataId, shape: result.shape, dtype: result.dtype };
}

const register = (kernel: KernelCode): void =>
  tf.registerKernel({
    ...{ kernelName: kernel.name, backendName: 'webgpu' },
    kernelFunc: ({ inputs, attrs, backend }) =>
      runCode(
        kernel,
        inputs as Record<string, tf.TensorInfo>,
        attrs as Record<string, number>,
        backend as unknown as WebGpuBackend,
      ),
  });

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
          for (var d = 0; d < ${width / 4}; d++) { score += dot(query[d], k${n}[(first + thread) * ${width / 4} + d]); }
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
  vectors: ['q', 'k1', 'k2'],
  uniforms: 'kvHeads : i32, scale : f32',
  outputShape: ([q]) => q,
  workgroups: ([heads, groups]) => heads * groups,
  code: ([q]) => {
    const width = q[2];
    return `
    var<workgroup> query : array<vec4<f32>, ${width / 4}>;
    var<workgroup> scores : array<f32, ${THREADS}>;
    fn main(index : i32) {
      let thread = index % ${THREADS};
      let row = index / ${THREADS};
      let head = row / uniforms.outShape.y;
      for (var d = thread; d < ${width / 4}; d += ${THREADS}) { query[d] = q[row * ${width / 4} + d] * uniforms.scale; }
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

/** x (R, 1, D) into column slot (1) of the block (R, L, D), in place. */
const WRITE_COLUMN: KernelCode = {
  name: 'WriteColumn',
  inputs: ['x', 'slot'],
  uniforms: '',
  into: 'block',
  outputShape: ([[rows, , width]]) => [rows, 1, width],
  workgroups: (_, [x]) => Math.ceil(tf.util.sizeFromShape(x) / THREADS),
  code: () => `
    fn main(index : i32) {
      let width = uniforms.xShape.z;
      if (index >= uniforms.xShape.x * width) { return; }
      let row = index / width;
      result[(row * uniforms.outShape.y + slot[0]) * width + index % width] = x[index];
    }`,
};

/** Columns and slices of the inner dimension that a workgroup of {@link FEW_ROWS} works on, and rows whose sums it adds up together. */
const [COLUMNS, SLICES, CHUNK] = [32, 8, 8];
/** Most rows of a product that {@link FEW_ROWS} takes: each thread has a sum for every row. */
const MOST_ROWS = 48;
const roundedRows = ([a]: number[][]): number => Math.ceil(a[0] / CHUNK) * CHUNK;

/**
 * a (N, C) times b (C, F) -> (N, F) for the few rows of a step of generation. The backend's own has tiles of 32 by 32, in which a few workgroups
 * walk the whole inner dimension one after the other.
 */
const FEW_ROWS: KernelCode = {
  name: 'FewRows',
  inputs: ['a', 'b'],
  vectors: ['a'],
  uniforms: '',
  outputShape: ([[rows], [, columns]]) => [rows, columns],
  threads: COLUMNS * SLICES,
  workgroups: ([, columns]) => Math.ceil(columns / COLUMNS),
  constant: roundedRows,
  code: (shapes) => {
    const rows = range(roundedRows(shapes));
    const last = 'uniforms.outShape.x - 1';
    return `
    var<workgroup> sums : array<f32, ${COLUMNS * SLICES * CHUNK}>;
    fn main(index : i32) {
      let thread = index % ${COLUMNS * SLICES};
      let lane = thread % ${COLUMNS};
      let slice = thread / ${COLUMNS};
      let width = uniforms.outShape.y;
      let column = (index / ${COLUMNS * SLICES}) * ${COLUMNS} + lane;
      let read = min(column, width - 1);
      let inner = uniforms.aShape.y / 4;
      let length = (inner + ${SLICES - 1}) / ${SLICES};
      ${rows.map((row) => `var s${row} = 0.0; let a${row} = min(${row}, ${last}) * inner;`).join('\n')}
      for (var k = slice * length; k < min(inner, (slice + 1) * length); k++) {
        let at = k * 4 * width + read;
        let four = vec4<f32>(b[at], b[at + width], b[at + 2 * width], b[at + 3 * width]);
        ${rows.map((row) => `s${row} += dot(a[a${row} + k], four);`).join('\n')}
      }
      ${range(0, rows.length, CHUNK)
        .map(
          (first) => `
      ${range(CHUNK)
        .map((row) => `sums[(slice * ${CHUNK} + ${row}) * ${COLUMNS} + lane] = s${first + row};`)
        .join('\n')}
      workgroupBarrier();
      {
        var total = 0.0;
        for (var t = 0; t < ${SLICES}; t++) { total += sums[(t * ${CHUNK} + slice) * ${COLUMNS} + lane]; }
        let row = ${first} + slice;
        if (row <= ${last} && column < width) { result[row * width + column] = total; }
      }
      workgroupBarrier();`,
        )
        .join('')}
    }`;
  },
};

/** Rows and columns of the result that a workgroup of {@link TILED} computes, the inner dimension by steps of so many, and what a thread computes. */
const [TILE, STEP, OWN] = [64, 16, 8];
/** Fewer workgroups leave most of a GPU idle: then the backend's own divides the work better. */
const FEWEST_TILES = 64;

/** Four neighbours of the inner dimension, of each of {@link TILE} rows, into a tile with the rows side by side. */
const loadTurned = (tile: string, matrix: string, first: string, rows: string): string => `
        {
          let at = min(${first} + thread, ${rows} - 1) * inner + k;
          ${range(STEP / 4)
            .flatMap((j) => [
              `let four${j} = ${matrix}[at + ${j}];`,
              ...range(4).map(
                (i) => `${tile}[${(4 * j + i) * TILE} / 4 + thread / 4][thread % 4] = four${j}[${i}];`,
              ),
            ])
            .join('\n')}
        }`;

/** a (N, C) times b (C, F), or b (F, C) where that is transposed -> (N, F), in tiles of 64 by 64, of which each thread has 8 by 8. */
const tiled = (isTransposed: boolean): KernelCode => ({
  name: isTransposed ? 'TiledTransposed' : 'Tiled',
  inputs: ['a', 'b'],
  vectors: ['a', 'b', 'result'],
  uniforms: '',
  outputShape: ([[rows], b]) => [rows, b[isTransposed ? 0 : 1]],
  threads: (TILE / OWN) ** 2,
  workgroups: ([rows, columns]) => Math.ceil(rows / TILE) * (columns / TILE),
  constant: () => TILE,
  code: () => `
    var<workgroup> tileA : array<vec4<f32>, ${(STEP * TILE) / 4}>;
    var<workgroup> tileB : array<vec4<f32>, ${(STEP * TILE) / 4}>;
    fn main(index : i32) {
      let thread = index % ${TILE};
      let tilesAcross = uniforms.outShape.y / ${TILE};
      let group = index / ${TILE};
      let row = (group / tilesAcross) * ${TILE};
      let column = (group % tilesAcross) * ${TILE};
      let inner = uniforms.aShape.y / 4;
      let across = uniforms.outShape.y / 4;
      let lane = thread % ${TILE / OWN};
      let line = thread / ${TILE / OWN};
      ${range(OWN)
        .map((r) => `var s${r}a = vec4<f32>(0.0); var s${r}b = vec4<f32>(0.0);`)
        .join('\n')}
      for (var k = 0; k < inner; k += ${STEP / 4}) {
        ${loadTurned('tileA', 'a', 'row', 'uniforms.aShape.x')}
        ${
          isTransposed
            ? loadTurned('tileB', 'b', 'column', 'uniforms.bShape.x')
            : range(STEP / 4)
                .map(
                  (j) =>
                    `tileB[thread + ${j * TILE}] = b[(4 * k + thread / 16 + ${4 * j}) * across + column / 4 + thread % 16];`,
                )
                .join('\n')
        }
        workgroupBarrier();
        for (var t = 0; t < ${STEP}; t++) {
          let a0 = tileA[t * 16 + 2 * line];
          let a1 = tileA[t * 16 + 2 * line + 1];
          let b0 = tileB[t * 16 + lane];
          let b1 = tileB[t * 16 + lane + 8];
          ${range(OWN)
            .map((r) => `s${r}a += a${r >> 2}[${r % 4}] * b0; s${r}b += a${r >> 2}[${r % 4}] * b1;`)
            .join('\n')}
        }
        workgroupBarrier();
      }
      ${range(OWN)
        .map(
          (r) => `
      if (row + line * ${OWN} + ${r} < uniforms.outShape.x) {
        let at = (row + line * ${OWN} + ${r}) * across + column / 4 + lane;
        result[at] = s${r}a;
        result[at + 8] = s${r}b;
      }`,
        )
        .join('')}
    }`,
});
const [TILED, TILED_TRANSPOSED] = [false, true].map(tiled);

/** The kernel for a product of two matrices; undefined where the backend's own serves best. */
function kernelOf(a: number[], b: number[], isTransposed: boolean): KernelCode | undefined {
  const [rows, inner] = a;
  if (rows <= MOST_ROWS) return isTransposed || inner % 4 > 0 ? undefined : FEW_ROWS;
  const columns = isTransposed ? b[0] : b[1];
  const isEven = inner % STEP === 0 && columns % TILE === 0;
  const tiles = Math.ceil(rows / TILE) * Math.ceil(columns / TILE);
  if (!isEven || tiles < FEWEST_TILES) return undefined;
  return isTransposed ? TILED_TRANSPOSED : TILED;
}

/** Products of two matrices by the kernels here, all others as before. */
function multiplyMatrices(): void {
  const { kernelFunc, ...kernel } = tf.getKernel('BatchMatMul', 'webgpu');
  tf.unregisterKernel('BatchMatMul', 'webgpu');
  tf.registerKernel({
    ...kernel,
    kernelFunc: (task) => {
      const { a, b } = task.inputs as Record<string, tf.TensorInfo>;
      const { transposeA, transposeB } = task.attrs as Record<string, boolean>;
      const areMatrices = a.shape.length === 2 && b.shape.length === 2 && !transposeA;
      const own = areMatrices ? kernelOf(a.shape, b.shape, transposeB) : undefined;
      return own ? runCode(own, { a, b }, {}, task.backend as unknown as WebGpuBackend) : kernelFunc(task);
    },
  });
}

/** Registers the kernels; once. */
export function installWebGpuKernels(): void {
  [RMS_NORM, ROTARY, SWIGLU, ATTEND_CACHED, WRITE_COLUMN].forEach(register);
  multiplyMatrices();
}

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
