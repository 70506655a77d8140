/**
 * Computations as graphs, without TensorFlow.js's overhead for each operation: run once
 * ({@link runAsGraph}), or captured and repeated on new inputs, as with CUDA Graphs.
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
  /** Frees the memory of intermediate results, not the inputs or the result. */
  dispose: () => void;
}

type NativeGraphs = typeof import('./native-graph.js');
let nativeGraphs: NativeGraphs | null = null;

/** Set when the native backend loads: this module also runs in a browser. */
export function setNativeGraphs(graphs: NativeGraphs): void {
  nativeGraphs = graphs;
}

export const canCapture = (): boolean => tf.getBackend() === 'webgpu' || native.isCurrent();

/** Zeros for a captured computation, to {@link overwrite}. The caller disposes of it. */
export const graphInput = <R extends tf.Rank>(shape: tf.ShapeMap[R], dtype: 'float32' | 'int32') =>
  tf.fill<R>(shape, 0, dtype);

export const overwrite = (tensor: tf.Tensor, values: readonly number[]): void =>
  (tf.getBackend() === 'webgpu' ? webgpu : native).overwrite(tensor, values);

/**
 * Runs a computation and captures it. It must be the same every time: inputs change by
 * {@link overwrite} only, and nothing may depend on values that it reads.
 */
export const captureGraph = <T extends tf.Tensor>(compute: () => T): Graph<T> =>
  (tf.getBackend() === 'webgpu' ? webgpu : nativeGraphs!).captureGraph(compute);

/**
 * Computes at once what the backend would start one by one; on backends without graphs,
 * as `compute` does. It may run twice, must read no values, and leaves what it leaves:
 * the caller disposes of the same tensors.
 */
export const runAsGraph = <T>(compute: () => T): T =>
  native.isCurrent() && nativeGraphs ? nativeGraphs.runAsGraph(compute) : compute();
