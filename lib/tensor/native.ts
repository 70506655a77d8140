/** Kernels for the native backend; they rely on internals of tfjs-node 4.22. */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { replaceKernel } from './ops.js';

export interface OpAttribute {
  name: string;
  /** One of the addon's `TF_ATTR_*`. */
  type: number;
  value: unknown;
}

export interface TensorData {
  shape: number[];
  dtype: number;
  /** Handle in the addon; -1 until the values are uploaded. */
  id: number;
  /** Values not uploaded yet. */
  values: ArrayLike<number> | null;
}

interface Output {
  id: number;
  shape: number[];
  dtype: number;
}

export interface Binding {
  TF_ATTR_BOOL: number;
  TF_ATTR_FLOAT: number;
  TF_ATTR_INT: number;
  TF_ATTR_TYPE: number;
  TF_BOOL: number;
  TF_FLOAT: number;
  TF_INT32: number;
  createTensor: (shape: number[], dtype: number, values: ArrayLike<number>) => number;
  deleteTensor: (id: number) => void;
  tensorDataSync: (id: number) => ArrayLike<number>;
  loadSavedModel: (folder: string, tags: string) => number;
  deleteSavedModel: (session: number) => void;
  /** @param inputs `node:output` names, separated by commas; `outputs` likewise */
  runSavedModel: (session: number, ids: number[], inputs: string, outputs: string) => Output[];
}

export interface NativeBackend {
  binding: Binding;
  /** Whether the addon is that of `@tensorflow/tfjs-node-gpu`. */
  isGPUPackage: boolean;
  isUsingGpuDevice: boolean;
  tensorMap: { get: (dataId: tf.DataId) => TensorData; has: (dataId: tf.DataId) => boolean };
  createOutputTensor: (output: Output) => tf.Tensor;
  executeSingleOutput: (
    op: string,
    attributes: OpAttribute[],
    inputs: readonly tf.TensorInfo[],
  ) => tf.Tensor;
  executeMultipleOutputs: (
    op: string,
    attributes: OpAttribute[],
    inputs: readonly tf.TensorInfo[],
    numOutputs: number,
  ) => tf.Tensor[];
  incRef: (dataId: tf.DataId) => void;
}

export const currentBackend = (): NativeBackend => tf.backend() as unknown as NativeBackend;

const typeAttribute = (name: string, dtype: string, { binding }: NativeBackend): OpAttribute => ({
  name,
  type: binding.TF_ATTR_TYPE,
  value: { int32: binding.TF_INT32, bool: binding.TF_BOOL }[dtype] ?? binding.TF_FLOAT,
});

/**
 * The largest inner dimension that may use `MatMul`. Beyond it, oneDNN's AVX-512 kernel
 * points the stack into a heap block, which any signal (Ctrl-C, a resized window) then
 * overwrites (oneDNN issue 4845; in libtensorflow 2.15 and 2.18).
 */
const MAX_SAFE_INNER = 84;

interface MatMulArguments {
  inputs: { a: tf.TensorInfo; b: tf.TensorInfo };
  attrs: { transposeA: boolean; transposeB: boolean };
  backend: NativeBackend;
}

/**
 * Multiplies two matrices with TensorFlow's `MatMul` where that is safe. tfjs-node uses
 * `BatchMatMulV2` for all products, which oneDNN re-initialises at every call: 0.2 ms,
 * longer than a product of few rows takes.
 */
const matMul =
  (original: (args: MatMulArguments) => tf.TensorInfo) =>
  (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const isPlain = [a, b].every(({ shape, dtype }) => shape.length === 2 && dtype === 'float32');
    const inner = a.shape[attrs.transposeA ? 0 : 1];
    if (!isPlain || inner > MAX_SAFE_INNER) return original(args);
    const type = backend.binding.TF_ATTR_BOOL;
    const attributes = [
      typeAttribute('T', 'float32', backend),
      { name: 'transpose_a', type, value: attrs.transposeA },
      { name: 'transpose_b', type, value: attrs.transposeB },
    ];
    return backend.executeSingleOutput('MatMul', attributes, [a, b]);
  };

interface GatherArguments {
  inputs: { x: tf.TensorInfo; indices: tf.TensorInfo };
  attrs: { axis: number; batchDims: number };
  backend: NativeBackend;
}

/** Unlike tfjs-node, does not read the indices first: libtensorflow checks them. */
const gather =
  () =>
  ({ inputs, attrs, backend }: GatherArguments): tf.TensorInfo => {
    const { x, indices } = inputs;
    const { TF_ATTR_INT } = backend.binding;
    const attributes = [
      { name: 'batch_dims', type: TF_ATTR_INT, value: attrs.batchDims },
      typeAttribute('Tparams', x.dtype, backend),
      typeAttribute('Tindices', indices.dtype, backend),
      typeAttribute('Taxis', 'int32', backend),
    ];
    const axis = tf.scalar(attrs.axis, 'int32');
    const result = backend.executeSingleOutput('GatherV2', attributes, [x, indices, axis]);
    axis.dispose();
    return result;
  };

/** Writes values (n, ...) into rows (n) of all tensors that share the memory. */
function updateInPlace(tensor: tf.Tensor, rows: tf.Tensor1D, values: tf.Tensor): void {
  const backend = currentBackend();
  const attributes = [typeAttribute('T', tensor.dtype, backend)];
  backend.executeSingleOutput('InplaceUpdate', attributes, [tensor, rows, values]).dispose();
}

interface WriteColumnsArguments {
  inputs: { x: tf.Tensor3D; columns: tf.Tensor1D; block: tf.Tensor3D };
  backend: NativeBackend;
}

/** Writes x (R, 1, D) into the block (R, L, D) in place, at columns (R). */
function writeColumns({ inputs, backend }: WriteColumnsArguments): tf.TensorInfo {
  const { x, columns, block } = inputs;
  const [rows, length, width] = block.shape;
  tf.tidy(() => {
    const starts = tf.tensor1d(range(0, rows * length, length), 'int32');
    const flat = tf.reshape(block, [rows * length, width]);
    updateInPlace(flat, tf.add(starts, columns), tf.reshape(x, [rows, width]));
  });
  backend.incRef(block.dataId);
  return { dataId: block.dataId, shape: block.shape, dtype: block.dtype };
}

/** Installs the kernels; call once, while libtensorflow is the backend. */
export function installNativeKernels(): void {
  replaceKernel('tensorflow', 'BatchMatMul', matMul);
  replaceKernel('tensorflow', 'GatherV2', gather);
  tf.registerKernel({
    kernelName: 'WriteColumns',
    backendName: 'tensorflow',
    kernelFunc: writeColumns as unknown as tf.KernelFunc,
  });
}

/** Whether libtensorflow on the CPU is the current backend. */
export const isCurrent = (): boolean =>
  tf.getBackend() === 'tensorflow' && !currentBackend().isUsingGpuDevice;

/** Implements `overwrite` of graph.ts: the next run of a graph reads the new tensor. */
export function overwrite(tensor: tf.Tensor, values: readonly number[]): void {
  const { binding, tensorMap } = currentBackend();
  const data = tensorMap.get(tensor.dataId);
  binding.deleteTensor(data.id);
  const typed = tensor.dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values);
  data.id = binding.createTensor(data.shape, data.dtype, typed);
}
