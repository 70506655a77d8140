import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';

await useBackend('wasm');

const random = createRandom('wasm kernels');
const values = (...shape: number[]): number[] =>
  Array.from({ length: tf.util.sizeFromShape(shape) }, () => random.normal());
const tensor = (...shape: [number, number, number]): tf.Tensor3D =>
  tf.tensor3d(values(...shape), shape);

type Matrix = number[][];
const transposed = (m: Matrix): Matrix => m[0].map((_, j) => m.map((row) => row[j]));
/** A naive matrix product. */
const product = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) => transposed(b).map((column) => row.reduce((sum, x, k) => sum + x * column[k], 0)));

describe('matMul on wasm', () => {
  const forms = [1, 7, 8, 20].flatMap((rows) =>
    [false, true].flatMap((tA) => [false, true].map((tB) => [rows, tA, tB] as const)),
  );
  it.each(forms)(
    'is the product of each pair within 1e-5: %i rows, transposed %s %s',
    (rows, tA, tB) => {
      const a = tA ? tensor(5, 6, rows) : tensor(5, rows, 6);
      const b = tB ? tensor(5, 9, 6) : tensor(5, 6, 9);
      const [left, right] = [a.arraySync(), b.arraySync()];
      const expected = left
        .map((m, n) => product(tA ? transposed(m) : m, tB ? transposed(right[n]) : right[n]))
        .flat(2);
      const found = tf.matMul(a, b, tA, tB).dataSync();
      expected.forEach((value, i) => expect(Math.abs(found[i] - value)).toBeLessThan(1e-5));
      const [first, second] = [a, b].map((x) => tf.squeeze(tf.slice(x, 0, 1), [0]));
      const one = tf.matMul(first, second, tA, tB).dataSync();
      expected
        .slice(0, one.length)
        .forEach((value, i) => expect(Math.abs(one[i] - value)).toBeLessThan(1e-5));
    },
  );

  it('keeps its inputs and leaks no memory', () => {
    const [a, b] = [tensor(6, 16, 8), tensor(6, 12, 8)];
    const before = [a.dataSync().slice(), b.dataSync().slice()];
    const first = tf.matMul(a, b, false, true).dataSync();
    const numTensors = tf.memory().numTensors;
    for (let i = 0; i < 200; i++) tf.tidy(() => void tf.matMul(a, b, false, true));
    expect(tf.memory().numTensors).toBe(numTensors);
    expect([a.dataSync(), b.dataSync()]).toEqual(before);
    expect(tf.matMul(a, b, false, true).dataSync()).toEqual(first);
  });
});

describe('split on wasm', () => {
  it.each([
    [0, [1, 3]],
    [1, [2, 1, 2]],
    [2, [4, 2]],
  ])('along axis %i returns consecutive slices', (axis, sizes) => {
    const x = tensor(4, 5, 6);
    const pieces = tf.split(x, sizes, axis);
    expect(pieces.map((p) => p.shape[axis])).toEqual(sizes);
    expect(tf.concat(pieces, axis).arraySync()).toEqual(x.arraySync());
    const [begin, size] = [[0, 0, 0].with(axis, sizes[0]), x.shape.with(axis, sizes[1])];
    expect(pieces[1].arraySync()).toEqual(tf.slice(x, begin, size).arraySync());
  });
});

describe('gather on wasm', () => {
  it.each([
    [0, [4, 5, 6], [2]],
    [0, [4, 5], [2, 3]],
    [0, [4], [3]],
    [1, [4, 5, 6], [2, 2]],
  ])('along axis %i of %j picks the given rows', (axis, shape, indexShape) => {
    const x = tf.tensor(values(...shape), shape);
    const size = tf.util.sizeFromShape(indexShape);
    const indices = Array.from({ length: size }, (_, i) => (3 * i + 1) % shape[axis]);
    const gathered = tf.gather(x, tf.tensor(indices, indexShape, 'int32'), axis);
    const oneHot = tf.cast(tf.oneHot(tf.tensor1d(indices, 'int32'), shape[axis]), 'float32');
    const expected =
      axis === 0
        ? tf.matMul(oneHot, tf.reshape(x, [shape[0], -1]))
        : tf.matMul(tf.tile(tf.expandDims(oneHot, 0), [shape[0], 1, 1]), x);
    expect(gathered.shape).toEqual(shape.toSpliced(axis, 1, ...indexShape));
    expect(gathered.dataSync()).toEqual(expected.dataSync());
  });

  it('supports integers, and rejects rows out of range', () => {
    const x = tf.tensor2d([1, 2, 3, 4], [2, 2], 'int32');
    const gather = (rows: number[]) => tf.gather(x, tf.tensor1d(rows, 'int32')).arraySync();
    expect(gather([1, 0, 1])).toEqual([
      [3, 4],
      [1, 2],
      [3, 4],
    ]);
    expect(() => gather([2])).toThrow('2');
    expect(gather([])).toEqual([]);
  });
});

describe('tile on wasm', () => {
  it.each([
    [[3], [4]],
    [
      [2, 3],
      [1, 2],
    ],
    [
      [2, 3],
      [3, 1],
    ],
    [
      [2, 1, 3],
      [1, 5, 1],
    ],
    [
      [2, 3],
      [2, 2],
    ],
    [
      [2, 0],
      [1, 3],
    ],
  ])('of %j repeats it %j times', (shape, reps) => {
    const x = tf.tensor(values(...shape), shape);
    const expected = reps.reduce(
      (tiled, times, axis) => tf.concat(Array<tf.Tensor>(times).fill(tiled), axis),
      x,
    );
    expect(tf.tile(x, reps).arraySync()).toEqual(expected.arraySync());
  });
});

describe('clone on wasm', () => {
  it('shares the data until both are disposed of', () => {
    const before = tf.memory();
    const x = tf.tensor1d([1, 2, 3]);
    const copy = tf.clone(x);
    x.dispose();
    const other = tf.tensor1d([4, 5, 6]);
    expect([...copy.dataSync()]).toEqual([1, 2, 3]);
    tf.dispose([copy, other]);
    expect(tf.memory().numTensors).toBe(before.numTensors);
    expect(tf.memory().numDataBuffers).toBe(before.numDataBuffers);
  });
});
