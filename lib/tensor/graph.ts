/**
 * What CUDA calls a graph: the operations of a computation are recorded once and done
 * again with new numbers, without what TensorFlow.js takes to start each of them.
 */
import * as tf from '@tensorflow/tfjs-core';
import * as native from './native.js';
import * as webgpu from './webgpu.js';

/** A computation that has been captured. */
export interface Graph<T extends tf.Tensor = tf.Tensor> {
  /**
   * Its result, whose numbers each run replaces. It must not be read itself, since
   * TensorFlow.js keeps what it has read: copy it, or go on from it.
   */
  result: T;
  /** Does it again. */
  run: () => void;
  /**
   * Gives back the memory in which it computes; what it read and its result are the
   * caller's.
   */
  dispose: () => void;
}

/** Whether computations can be captured on the current backend. */
export const canCapture = (): boolean => tf.getBackend() === 'webgpu' || native.isCurrent();

const current = (): Pick<typeof native, 'overwrite' | 'captureGraph'> =>
  tf.getBackend() === 'webgpu' ? webgpu : native;

/** A tensor of zeros that a captured computation reads and {@link overwrite} fills. */
export const graphInput = <R extends tf.Rank>(shape: tf.ShapeMap[R], dtype: 'float32' | 'int32') =>
  tf.fill<R>(shape, 0, dtype);

/** New numbers for a tensor of {@link graphInput}. */
export const overwrite = (tensor: tf.Tensor, values: readonly number[]): void =>
  current().overwrite(tensor, values);

/**
 * Runs a computation and keeps what it was made of. It must be the same every time:
 * what it reads that changes is overwritten in place ({@link overwrite}), and nothing in
 * it may depend on numbers that have been read.
 */
export const captureGraph = <T extends tf.Tensor>(compute: () => T): Graph<T> =>
  current().captureGraph(compute);
