/**
 * Kernels of this project's own on the native backend. Relies on the internals of
 * tfjs-node 4.22, which package.json pins.
 */
import { range } from 'd3-array';
import * as tf from '@tensorflow/tfjs-core';

/** The parts of the backend that are used here and for graphs. */
export interface NativeBackend {
  binding: {
    TF_ATTR_BOOL: number;
    TF_ATTR_TYPE: number;
    TF_FLOAT: number;
    TF_INT32: number;
    executeOp(
      name: string,
      attributes: object[],
      ids: number[],
      numOutputs: number,
    ): { id: number }[];
    deleteTensor(id: number): void;
  };
  isUsingGpuDevice: boolean;
  tensorMap: { get(dataId: tf.DataId): { id: number } };
  executeSingleOutput(name: string, attributes: object[], inputs: tf.TensorInfo[]): tf.Tensor;
  incRef(dataId: tf.DataId): void;
}

export const currentBackend = (): NativeBackend => tf.backend() as unknown as NativeBackend;

const typeAttribute = (dtype: string, { binding }: NativeBackend): object => ({
  name: 'T',
  type: binding.TF_ATTR_TYPE,
  value: dtype === 'int32' ? binding.TF_INT32 : binding.TF_FLOAT,
});

interface MatMulArguments {
  inputs: { a: tf.TensorInfo; b: tf.TensorInfo };
  attrs: { transposeA: boolean; transposeB: boolean };
  backend: NativeBackend;
}

const PRODUCT = 'BatchMatMul';

/**
 * The product of two matrices as TensorFlow's `MatMul`. tfjs-node takes `BatchMatMulV2`
 * for all products, for which oneDNN prepares itself anew at every call: .2 ms, more than
 * a product of few rows takes.
 */
function replaceProduct(): void {
  const original = tf.getKernel(PRODUCT, 'tensorflow').kernelFunc as unknown as typeof multiply;
  const multiply = (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const isPlain = [a, b].every(({ shape, dtype }) => shape.length === 2 && dtype === 'float32');
    if (!isPlain) return original(args);
    const type = backend.binding.TF_ATTR_BOOL;
    const attributes = [
      typeAttribute('float32', backend),
      { name: 'transpose_a', type, value: attrs.transposeA },
      { name: 'transpose_b', type, value: attrs.transposeB },
    ];
    return backend.executeSingleOutput('MatMul', attributes, [a, b]);
  };
  tf.unregisterKernel(PRODUCT, 'tensorflow');
  tf.registerKernel({
    kernelName: PRODUCT,
    backendName: 'tensorflow',
    kernelFunc: multiply as unknown as tf.KernelFunc,
  });
}

/**
 * Values (n, ...) into those rows (n) of a tensor, in its own memory and in that of every
 * tensor that shares it.
 */
export function updateInPlace(tensor: tf.Tensor, rows: tf.Tensor1D, values: tf.Tensor): void {
  const backend = currentBackend();
  const attributes = [typeAttribute(tensor.dtype, backend)];
  backend.executeSingleOutput('InplaceUpdate', attributes, [tensor, rows, values]).dispose();
}

interface WriteColumnsArguments {
  inputs: { x: tf.Tensor3D; columns: tf.Tensor1D; block: tf.Tensor3D };
  backend: NativeBackend;
}

/** x (R, 1, D) into the block (R, L, D), each row into its own column (R), in place. */
function writeColumns({
  inputs: { x, columns, block },
  backend,
}: WriteColumnsArguments): tf.TensorInfo {
  const [rows, length, width] = block.shape;
  tf.tidy(() => {
    const starts = tf.tensor1d(
      range(rows).map((row) => row * length),
      'int32',
    );
    const all = tf.reshape(block, [rows * length, width]);
    updateInPlace(all, tf.add(starts, columns), tf.reshape(x, [rows, width]));
  });
  backend.incRef(block.dataId);
  return { dataId: block.dataId, shape: block.shape, dtype: block.dtype };
}

/** Puts the kernels in place; call it once, when libtensorflow is the backend. */
export function installNativeKernels(): void {
  replaceProduct();
  tf.registerKernel({
    kernelName: 'WriteColumns',
    backendName: 'tensorflow',
    kernelFunc: writeColumns as unknown as tf.KernelFunc,
  });
}
