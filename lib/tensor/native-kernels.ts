/**
 * The native backend's product of two matrices as TensorFlow's `MatMul`. tfjs-node takes `BatchMatMulV2` for all products, for which
 * oneDNN prepares itself anew at every call: .2 ms, more than a product of few rows takes. Relies on the internals of tfjs-node 4.22, which
 * package.json pins.
 */
import * as tf from '@tensorflow/tfjs-core';

/** The part of the backend that is used here. */
interface NativeBackend {
  binding: { TF_ATTR_BOOL: number; TF_ATTR_TYPE: number; TF_FLOAT: number };
  executeSingleOutput(name: string, attributes: object[], inputs: tf.TensorInfo[]): tf.TensorInfo;
}

interface MatMulArguments {
  inputs: { a: tf.TensorInfo; b: tf.TensorInfo };
  attrs: { transposeA: boolean; transposeB: boolean };
  backend: NativeBackend;
}

const NAME = 'BatchMatMul';

/** Puts the faster kernel in place; call it once, when libtensorflow is the backend. */
export function installNativeKernels(): void {
  const original = tf.getKernel(NAME, 'tensorflow').kernelFunc as unknown as typeof multiply;
  const multiply = (args: MatMulArguments): tf.TensorInfo => {
    const { inputs, attrs, backend } = args;
    const { a, b } = inputs;
    const isPlain = [a, b].every(({ shape, dtype }) => shape.length === 2 && dtype === 'float32');
    if (!isPlain) return original(args);
    const { TF_ATTR_BOOL, TF_ATTR_TYPE, TF_FLOAT } = backend.binding;
    const attributes = [
      { name: 'T', type: TF_ATTR_TYPE, value: TF_FLOAT },
      { name: 'transpose_a', type: TF_ATTR_BOOL, value: attrs.transposeA },
      { name: 'transpose_b', type: TF_ATTR_BOOL, value: attrs.transposeB },
    ];
    return backend.executeSingleOutput('MatMul', attributes, [a, b]);
  };
  tf.unregisterKernel(NAME, 'tensorflow');
  tf.registerKernel({
    kernelName: NAME,
    backendName: 'tensorflow',
    kernelFunc: multiply as unknown as tf.KernelFunc,
  });
}
