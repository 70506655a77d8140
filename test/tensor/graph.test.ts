import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { canCapture, captureGraph, graphInput, overwrite } from '../../lib/tensor/graph.js';
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

  /** Several operations, one with two results, and constants created on the way. */
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
    expect(await tf.add(graph.result, 0).array()).toEqual([
      [0, 3, 11],
      [15, 0, 7],
    ]);
    expect(await tf.add(block, 0).array()).toEqual([
      [
        [0, 0],
        [1, 2],
        [5, 6],
      ],
      [
        [7, 8],
        [0, 0],
        [3, 4],
      ],
    ]);
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
