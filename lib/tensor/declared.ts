/**
 * Tensors as the package's declarations describe them. TensorFlow.js's own types need
 * @webgpu/types 0.1, which clashes with the DOM library of TypeScript 7, so the build
 * puts these in their place. A `tf.Tensor` is accepted wherever one of these is; the
 * other way round takes a cast.
 */

/** A tensor of TensorFlow.js. The caller disposes of returned tensors. */
export interface Tensor<Shape extends readonly number[] = readonly number[]> {
  readonly id: number;
  readonly dtype: string;
  readonly shape: Shape;
  readonly size: number;
  readonly isDisposed: boolean;
  data(): Promise<Float32Array | Int32Array | Uint8Array>;
  dataSync(): Float32Array | Int32Array | Uint8Array;
  dispose(): void;
}
export type Scalar = Tensor;
export type Tensor1D = Tensor<[number]>;
export type Tensor2D = Tensor<[number, number]>;
export type Tensor3D = Tensor<[number, number, number]>;
