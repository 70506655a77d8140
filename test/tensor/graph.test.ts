import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  canCapture,
  captureGraph,
  graphInput,
  overwrite,
  runAsGraph,
} from '../../lib/tensor/graph.js';
import { writeColumns } from '../../lib/tensor/ops.js';
import { HAS_NATIVE, HAS_WEBGPU } from './has-backend.js';

it('wasm cannot capture graphs', async () => {
  await useBackend('wasm');
  expect(canCapture()).toBe(false);
});

describe.each([
  { backend: 'native' as const, isThere: HAS_NATIVE },
  { backend: 'webgpu' as const, isThere: HAS_WEBGPU },
])('a graph on $backend (needs $backend)', ({ backend, isThere }) => {
  beforeAll(async () => {
    if (isThere) await useBackend(backend);
  });

  /** Several operations, one with two outputs, and constants created on the way. */
  const compute = (x: tf.Tensor2D, weight: tf.Tensor2D): tf.Tensor2D =>
    tf.tidy(() => {
      const [left, right] = tf.split(tf.matMul<tf.Tensor2D>(x, weight), 2, 1);
      return tf.add(tf.mul(left, 3), tf.add(tf.tensor2d(range(4), [2, 2]), right));
    });

  it.skipIf(!isThere)('repeats the computation with the current input', async () => {
    const weight = tf.tensor2d(range(12), [3, 4]);
    const x = graphInput<tf.Rank.R2>([2, 3], 'float32');
    const before = tf.memory().numTensors;
    const graph = captureGraph(() => compute(x, weight));
    expect(tf.memory().numTensors).toBe(before + 1);
    for (const run of range(3)) {
      const numbers = range(6).map((i) => i * (run + 1) - 2);
      overwrite(x, numbers);
      graph.run();
      const expected = compute(tf.tensor2d(numbers, [2, 3]), weight);
      expect(await tf.add(graph.result, 0).data()).toEqual(await expected.data());
    }
    graph.dispose();
    tf.dispose([graph.result, x, weight]);
  });

  it.skipIf(!isThere)('writes columns in place', async () => {
    const block = tf.fill<tf.Rank.R3>([2, 3, 2], 0);
    const x = graphInput<tf.Rank.R2>([4, 1], 'float32');
    const columns = graphInput<tf.Rank.R2>([2, 1], 'int32');
    const graph = captureGraph(() =>
      tf.tidy(() => {
        const written = writeColumns(block, tf.reshape(x, [2, 1, 2]), tf.reshape(columns, [-1]));
        return tf.sum<tf.Tensor2D>(written, 2);
      }),
    );
    overwrite(x, [1, 2, 3, 4]);
    overwrite(columns, [1, 2]);
    graph.run();
    overwrite(x, [5, 6, 7, 8]);
    overwrite(columns, [2, 0]);
    graph.run();
    expect([...(await tf.add(graph.result, 0).data())]).toEqual([0, 3, 11, 15, 0, 7]);
    const written = [...(await tf.add(block, 0).data())];
    expect(written).toEqual([0, 0, 1, 2, 5, 6, 7, 8, 0, 0, 3, 4]);
    graph.dispose();
  });

  it.skipIf(!isThere)('leaves the backend unchanged if capturing fails', async () => {
    const x = graphInput<tf.Rank.R2>([2, 3], 'float32');
    const fail = (): tf.Tensor => {
      tf.tidy(() => void tf.mul(x, 2));
      throw new Error('too late');
    };
    expect(() => captureGraph(fail)).toThrow('too late');
    expect([...(await tf.add(x, 1).data())]).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

/** Every kind of shape inferred by a graph; x is (2, 3, 4) and y (4, 2). */
const SHAPES: [string, (x: tf.Tensor3D, y: tf.Tensor2D) => tf.TensorContainer][] = [
  ['broadcasts', (x) => tf.mul(x, tf.tensor1d([1, 2, 3, 4]))],
  ['predicates', (x) => tf.where(tf.greater(x, 3), x, tf.zerosLike(x))],
  ['sums', (x) => [tf.sum(x, -1), tf.mean(x, [0, 2], true), tf.max(x)]],
  ['products', (x, y) => [tf.matMul(tf.reshape<tf.Rank.R2>(x, [6, 4]), y)]],
  ['batched products', (x) => [tf.matMul(x, x, false, true), tf.matMul(x, x, true)]],
  ['a reshape with a free size', (x) => tf.reshape(x, [3, -1])],
  ['slices', (x) => [...tf.split(x, [1, 3], 2), tf.slice(x, [0, 1, 1], [2, -1, 2])]],
  ['concatenations', (x) => [tf.concat([x, x], -1), tf.stack([x, x], 1), tf.expandDims(x, -1)]],
  [
    'copies',
    (x) => [
      tf.tile(x, [1, 2, 3]),
      tf.pad(x, [
        [1, 0],
        [0, 2],
        [1, 1],
      ]),
      tf.clone(x),
    ],
  ],
  ['transposes', (x) => [tf.transpose(x, [2, 0, 1]), tf.transpose(x)]],
  ['gathers', (x, y) => [tf.gather(x, tf.tensor1d([1, 0, 1], 'int32'), 1), tf.gather(y, [3, 3])]],
  ['one-hot rows', () => tf.oneHot(tf.tensor1d([1, 0], 'int32'), 3)],
  [
    'scatters',
    (_, y) => tf.scatterND(tf.tensor2d([[0], [2], [0], [1]], [4, 1], 'int32'), y, [3, 2]),
  ],
  ['gradients', (x) => tf.grad((a: tf.Tensor) => tf.sum(tf.exp(tf.minimum(a, 2))))(x)],
  ['an operation with an unknown shape', (x) => tf.topk(x, 2).values],
];

describe('a computation run as a graph on native (needs native)', () => {
  beforeAll(async () => {
    if (HAS_NATIVE) await useBackend('native');
  });

  const inputs = (): [tf.Tensor3D, tf.Tensor2D] => [
    tf.sub(tf.div(tf.tensor3d(range(24), [2, 3, 4]), 7), 1),
    tf.sub(1, tf.div(tf.tensor2d(range(8), [4, 2]), 3)),
  ];
  const values = (container: tf.TensorContainer) =>
    [container as tf.Tensor | tf.Tensor[]].flat().map((x) => [x.shape, x.dtype, x.arraySync()]);

  it.skipIf(!HAS_NATIVE).each(SHAPES)('gives the same result and memory for %s', (_, compute) => {
    const [x, y] = inputs();
    const before = tf.memory().numTensors;
    const own = tf.tidy(() => compute(x, y));
    const after = tf.memory().numTensors;
    const graph = runAsGraph(() => tf.tidy(() => compute(x, y)));
    expect(tf.memory().numTensors - after).toBe(after - before);
    expect(values(graph)).toEqual(values(own));
    tf.dispose([own, graph, x, y]);
  });

  it.skipIf(!HAS_NATIVE)('supports other numbers of rows', () => {
    for (const rows of [1, 5, 2]) {
      const x = tf.tensor2d(range(rows * 3), [rows, 3]);
      const compute = (): tf.Tensor => tf.tidy(() => tf.sum(tf.mul(x, 0.5), 1, true));
      expect(runAsGraph(compute).arraySync()).toEqual(compute().arraySync());
    }
  });

  it.skipIf(!HAS_NATIVE)('keeps the tensors that the computation keeps', () => {
    const [x] = inputs();
    let kept: tf.Tensor | undefined;
    const sum = runAsGraph(() =>
      tf.tidy(() => {
        kept = tf.keep(tf.square(x));
        return tf.sum(kept);
      }),
    );
    expect(kept!.arraySync()).toEqual(tf.square(x).arraySync());
    expect(sum.dataSync()[0]).toBeCloseTo(tf.sum(tf.square(x)).dataSync()[0], 5);
  });

  it.skipIf(!HAS_NATIVE)('keeps in-place writes in order with reads before and after', () => {
    for (let i = 0; i < 20; i++) {
      const block = tf.fill<tf.Rank.R3>([2, 3, 500], 1);
      const sums = runAsGraph(() =>
        tf.tidy(() => {
          const before = tf.sum(block);
          const row = tf.fill<tf.Rank.R3>([2, 1, 500], 3);
          const written = writeColumns(block, row, tf.tensor1d([0, 2], 'int32'));
          return [before, tf.sum(written)];
        }),
      );
      expect(sums.map((sum) => sum.dataSync()[0])).toEqual([3000, 5000]);
      tf.dispose([block, sums]);
    }
  });

  it.skipIf(!HAS_NATIVE)('leaves the backend unchanged if the computation fails', () => {
    const [x] = inputs();
    const fail = (): tf.Tensor =>
      tf.tidy(() => {
        tf.mul(x, 2);
        throw new Error('too late');
      });
    expect(() => runAsGraph(fail)).toThrow('too late');
    expect(tf.add(x, 0).arraySync()).toEqual(x.arraySync());
  });
});
