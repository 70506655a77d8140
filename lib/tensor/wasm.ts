/**
 * Faster versions of five wasm kernels, with the same results. The stock product of
 * transposed operands and the batched one are naive loops, 10 to 40 times slower than the
 * plain one; the stock split copies the whole input for every piece; the stock gather and
 * tile copy value by value; the stock identity copies what backpropagation keeps. Relies
 * on internals of `@tensorflow/tfjs-backend-wasm` 4.22, which package.json pins.
 */
import * as tf from '@tensorflow/tfjs-core';
import { replaceKernel } from './ops.js';

interface WasmBackend {
  wasm: {
    HEAPU8: Uint8Array;
    cwrap(name: string, result: null, parameters: string[]): (...args: unknown[]) => void;
    tfjs: {
      registerTensor(id: number, size: number, memoryOffset: number): void;
      disposeData(id: number): void;
    };
  };
  dataIdMap: { get(dataId: object): { id: number; memoryOffset: number } };
  dataIdNextNumber: number;
  readSync(dataId: object): Int32Array;
  makeOutput(shape: number[], dtype: string): tf.TensorInfo;
  incRef(dataId: object): void;
  disposeData(dataId: object): void;
}

interface KernelArguments<Inputs, Attributes = unknown> {
  inputs: Inputs;
  attrs: Attributes;
  backend: WasmBackend;
}

const BYTES = 4;
/** With fewer rows, setting up the plain product costs more than the naive loop. */
const FEWEST_ROWS = 8;

const int32Bytes = (values: readonly number[]): Uint8Array =>
  new Uint8Array(Int32Array.from(values).buffer);

/** Runs `use` with tensor ids for parts of other tensors' memory, then frees the ids. */
function withViews(
  backend: WasmBackend,
  parts: { offset: number; size: number }[],
  use: (ids: number[]) => void,
): void {
  const ids = parts.map(({ offset, size }) => {
    const id = backend.dataIdNextNumber++;
    backend.wasm.tfjs.registerTensor(id, size, offset);
    return id;
  });
  try {
    use(ids);
  } finally {
    for (const id of ids) backend.wasm.tfjs.disposeData(id);
  }
}

/** a (N, I, K) times b (N, K, J) as N plain products, without copying. */
function multiplyBatches(a: tf.TensorInfo, b: tf.TensorInfo, backend: WasmBackend): tf.TensorInfo {
  const [batches, rows, inner] = a.shape;
  const columns = b.shape[2];
  const out = backend.makeOutput([batches, rows, columns], 'float32');
  const [aOffset, bOffset, outOffset] = [a, b, out].map(
    ({ dataId }) => backend.dataIdMap.get(dataId).memoryOffset,
  );
  const multiply = backend.wasm.cwrap(
    'BatchMatMul',
    null,
    'number array number number array number number number number'.split(' '),
  );
  const [aShape, bShape] = [int32Bytes([1, rows, inner]), int32Bytes([1, inner, columns])];
  const sizes = [rows * inner, inner * columns, rows * columns];
  for (let n = 0; n < batches; n++) {
    const parts = [aOffset, bOffset, outOffset].map((offset, i) => ({
      offset: offset + n * sizes[i] * BYTES,
      size: sizes[i],
    }));
    withViews(backend, parts, ([aId, bId, outId]) =>
      multiply(aId, aShape, 3, bId, bShape, 3, 0, 0, outId),
    );
  }
  return out;
}

type MatMulArguments = KernelArguments<
  { a: tf.TensorInfo; b: tf.TensorInfo },
  { transposeA: boolean; transposeB: boolean }
>;

function transposeLast(x: tf.TensorInfo, backend: WasmBackend): tf.TensorInfo {
  const perm = x.shape.length === 2 ? [1, 0] : [0, 2, 1];
  const { kernelFunc } = tf.getKernel('Transpose', 'wasm');
  return kernelFunc({ inputs: { x }, attrs: { perm }, backend }) as tf.TensorInfo;
}

const batchMatMul =
  (original: (args: MatMulArguments) => tf.TensorInfo) =>
  (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const { transposeA, transposeB } = attrs;
    const isBatched =
      a.shape.length === 3 && b.shape.length === 3 && a.shape[0] === b.shape[0] && a.shape[0] > 1;
    const rows = a.shape.at(transposeA ? -1 : -2)!;
    const isSupported =
      isBatched || (a.shape.length < 4 && b.shape.length < 4 && (transposeA || transposeB));
    if (!isSupported || rows < FEWEST_ROWS) return original(args);
    const left = transposeA ? transposeLast(a, backend) : a;
    const right = transposeB ? transposeLast(b, backend) : b;
    const plain = {
      inputs: { a: left, b: right },
      attrs: { transposeA: false, transposeB: false },
      backend,
    };
    const out = isBatched ? multiplyBatches(left, right, backend) : original(plain);
    for (const copy of [left, right])
      if (copy !== a && copy !== b) backend.disposeData(copy.dataId);
    return out;
  };

type SplitArguments = KernelArguments<
  { x: tf.TensorInfo },
  { numOrSizeSplits: number | number[]; axis: number }
>;

/** Splits along an axis, copying row by row within wasm's memory. */
function split({ inputs: { x }, attrs, backend }: SplitArguments): tf.TensorInfo[] {
  const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0];
  const sizes = tf.backend_util.prepareSplitSize(x, attrs.numOrSizeSplits, axis);
  const rows = tf.util.sizeFromShape(x.shape.slice(0, axis));
  const inner = tf.util.sizeFromShape(x.shape.slice(axis + 1)) * BYTES;
  const rowBytes = x.shape[axis] * inner;
  let from = 0;
  return sizes.map((size) => {
    const out = backend.makeOutput(x.shape.with(axis, size), x.dtype);
    // After allocating, which may move the heap.
    const heap = backend.wasm.HEAPU8;
    const source = backend.dataIdMap.get(x.dataId).memoryOffset + from;
    const target = backend.dataIdMap.get(out.dataId).memoryOffset;
    const bytes = size * inner;
    for (let row = 0; row < rows; row++) {
      const start = source + row * rowBytes;
      heap.copyWithin(target + row * bytes, start, start + bytes);
    }
    from += bytes;
    return out;
  });
}

type GatherArguments = KernelArguments<
  { x: tf.TensorInfo; indices: tf.TensorInfo },
  { axis: number; batchDims: number }
>;

/** Gathers along the first axis by copying whole rows within wasm's memory. */
const gather =
  (original: (args: GatherArguments) => tf.TensorInfo) =>
  (args: GatherArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { x, indices } = inputs;
    const rowBytes = tf.util.sizeFromShape(x.shape.slice(1)) * BYTES;
    const isRows = attrs.axis === 0 && attrs.batchDims === 0 && rowBytes > 0;
    const rows = backend.readSync(indices.dataId);
    // If not, the stock kernel reports which index is out of range.
    const isValid = rows.every((row) => row >= 0 && row < x.shape[0]);
    if (!isRows || !isValid || x.dtype === 'bool') return original(args);
    const out = backend.makeOutput([...indices.shape, ...x.shape.slice(1)], x.dtype);
    // After allocating, which may move the heap.
    const heap = backend.wasm.HEAPU8;
    const [source, target] = [x, out].map(
      ({ dataId }) => backend.dataIdMap.get(dataId).memoryOffset,
    );
    for (let i = 0; i < rows.length; i++) {
      const start = source + rows[i] * rowBytes;
      heap.copyWithin(target + i * rowBytes, start, start + rowBytes);
    }
    return out;
  };

type TileArguments = KernelArguments<{ x: tf.TensorInfo }, { reps: number[] }>;

/** Repeats along one axis by copying whole blocks within wasm's memory. */
const tile =
  (original: (args: TileArguments) => tf.TensorInfo) =>
  (args: TileArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { x } = inputs;
    const repeated = attrs.reps.flatMap((times, axis) => (times === 1 ? [] : [axis]));
    if (repeated.length !== 1 || x.dtype === 'bool') return original(args);
    const [axis] = repeated;
    const times = attrs.reps[axis];
    const out = backend.makeOutput(x.shape.with(axis, x.shape[axis] * times), x.dtype);
    const bytes = tf.util.sizeFromShape(x.shape.slice(axis)) * BYTES;
    const heap = backend.wasm.HEAPU8;
    const [source, target] = [x, out].map(
      ({ dataId }) => backend.dataIdMap.get(dataId).memoryOffset,
    );
    const blocks = tf.util.sizeFromShape(x.shape.slice(0, axis));
    for (let block = 0; block < blocks; block++) {
      const start = source + block * bytes;
      for (let i = 0; i < times; i++)
        heap.copyWithin(target + (block * times + i) * bytes, start, start + bytes);
    }
    return out;
  };

/** Shares the data under another id; the stock kernel copies it. */
function identity({ inputs, backend }: KernelArguments<{ x: tf.TensorInfo }>): tf.TensorInfo {
  const { dataId, shape, dtype } = inputs.x;
  backend.incRef(dataId);
  return { dataId, shape, dtype };
}

/** Installs the kernels; call once, while wasm is the backend. */
export function installWasmKernels(): void {
  replaceKernel('wasm', 'BatchMatMul', batchMatMul);
  replaceKernel('wasm', 'SplitV', () => split);
  replaceKernel('wasm', 'GatherV2', gather);
  replaceKernel('wasm', 'Tile', tile);
  replaceKernel('wasm', 'Identity', () => identity);
}
