import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';

beforeAll(async () => {
  await useBackend('wasm');
});

const random = createRandom('wasm kernels');
const values = (...shape: number[]): number[] =>
  Array.from({ length: tf.util.sizeFromShape(shape) }, () => random.normal());
const tensor = (...shape: [number, number, number]): tf.Tensor3D => tf.tensor3d(values(...shape), shape);

/** The product by its definition. */
function product(a: number[][][], b: number[][][], transposeA: boolean, transposeB: boolean): number[][][] {
  return a.map((left, n) => {
    const rows = transposeA ? left[0].length : left.length;
    const inner = transposeA ? left.length : left[0].length;
    const columns = transposeB ? b[n].length : b[n][0].length;
    const at = (i: number, j: number): number => {
      let sum = 0;
      for (let k = 0; k < inner; k++)
        sum += (transposeA ? left[k][i] : left[i][k]) * (transposeB ? b[n][j][k] : b[n][k][j]);
      return sum;
    };
    return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => at(i, j)));
  });
}

describe('the batched product on wasm', () => {
  const forms = [1, 7, 8, 20].flatMap((rows) =>
    [false, true].flatMap((tA) => [false, true].map((tB) => [rows, tA, tB] as const)),
  );
  it.each(forms)('is the product of each pair within 1e-5: %i rows, transposed %s %s', (rows, tA, tB) => {
    const a = tA ? tensor(5, 6, rows) : tensor(5, rows, 6);
    const b = tB ? tensor(5, 9, 6) : tensor(5, 6, 9);
    const expected = product(a.arraySync(), b.arraySync(), tA, tB).flat(2);
    const found = tf.matMul(a, b, tA, tB).dataSync();
    expected.forEach((value, i) => expect(Math.abs(found[i] - value)).toBeLessThan(1e-5));
  });

  it('leaves its inputs as they were, and no memory behind over many calls', () => {
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
  ])('along axis %i gives pieces that join to the whole', (axis, sizes) => {
    const x = tensor(4, 5, 6);
    const pieces = tf.split(x, sizes, axis);
    expect(pieces.map((p) => p.shape[axis])).toEqual(sizes);
    expect(tf.concat(pieces, axis).arraySync()).toEqual(x.arraySync());
    expect(pieces[1].arraySync()).toEqual(
      tf
        .slice(x, [0, 0, 0].with(axis, sizes[0]), x.shape.with(axis, sizes[1]) as [number, number, number])
        .arraySync(),
    );
  });
});
