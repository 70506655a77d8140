/**
 * Computations as graphs, without TensorFlow.js' overhead per operation: run once ({@link
 * runAsGraph}), or captured and replayed on new inputs, as with CUDA Graphs.
 */
import * as tf from '@tensorflow/tfjs-core';
import * as native from './native.js';
import * as webgpu from './webgpu.js';

export interface Graph<T extends tf.Tensor = tf.Tensor> {
  /**
   * The result, overwritten by each run; the caller disposes of it. Never read its
   * values, which TensorFlow.js would cache: read a copy, or compute with it.
   */
  result: T;
  run: () => void;
  /** Frees the memory of intermediate results, but not of inputs and result. */
  dispose: () => void;
}

type NativeGraphs = typeof import('./native-graph.js');
let nativeGraphs: NativeGraphs | null = null;

/** Set when the native backend loads: this module also runs in a browser. */
export function setNativeGraphs(graphs: NativeGraphs): void {
  nativeGraphs = graphs;
}

export const canCapture = (): boolean => tf.getBackend() === 'webgpu' || native.isCurrent();

/** Zeros as input of a captured computation, to {@link overwrite}; the caller's. */
export const graphInput = <R extends tf.Rank>(shape: tf.ShapeMap[R], dtype: 'float32' | 'int32') =>
  tf.fill<R>(shape, 0, dtype);

export const overwrite = (tensor: tf.Tensor, values: readonly number[]): void =>
  (tf.getBackend() === 'webgpu' ? webgpu : native).overwrite(tensor, values);

/**
 * Runs a computation and captures it. It must be the same every time: only {@link
 * overwrite} changes inputs, and nothing may depend on values that it reads.
 */
export const captureGraph = <T extends tf.Tensor>(compute: () => T): Graph<T> =>
  (tf.getBackend() === 'webgpu' ? webgpu : nativeGraphs!).captureGraph(compute);

/**
 * Runs a computation as one graph on backends that have graphs, otherwise directly. It
 * may run twice, and must not read values. The caller disposes of the tensors it returns.
 */
export const runAsGraph = <T>(compute: () => T): T =>
  native.isCurrent() && nativeGraphs ? nativeGraphs.runAsGraph(compute) : compute();
