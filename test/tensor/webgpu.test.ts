import * as tf from '@tensorflow/tfjs-core';
import { max } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { attendCached, gatherRows, rmsNorm, rotary, swiglu } from '../../lib/tensor/ops.js';
import { boundFreeBuffers } from '../../lib/tensor/webgpu.js';
import { HAS_WEBGPU } from './has-backend.js';

/** The same random numbers on every backend. */
function numbers(name: string, shape: number[]): tf.Tensor {
  const random = createRandom(name);
  return tf.tensor(
    Array.from({ length: tf.util.sizeFromShape(shape) }, () => random.normal()),
    shape,
  );
}
const matrix = (name: string, rows: number, columns: number) =>
  numbers(name, [rows, columns]) as tf.Tensor2D;

const withGradients = (of: (...xs: tf.Tensor[]) => tf.Tensor, ...xs: tf.Tensor[]): tf.Tensor[] => {
  const value = of(...xs);
  return [value, ...tf.grads(of)(xs, numbers('dy', value.shape))];
};

/** Keys, values and padding of three rows with two heads each. */
const block = (name: string, length: number, width: number) => ({
  k: numbers(`${name} keys`, [6, length, width]) as tf.Tensor3D,
  v: numbers(`${name} values`, [6, length, width]) as tf.Tensor3D,
  bias: tf.tensor2d(
    Array.from({ length: 3 * length }, (_, i) => (i % 7 === 3 || i % length > 280 ? -1e9 : 0)),
    [3, length],
  ),
});

function attended(width: number): tf.Tensor3D {
  const q = numbers('q', [6, 3, width]) as tf.Tensor3D;
  const cached = block('cached', 300, width);
  const scale = 1 / Math.sqrt(width);
  const whole = attendCached(q, cached, { kvHeads: 2, scale });
  if (whole) return whole;
  const { k, v, bias } = cached;
  const perHead = tf.reshape(tf.tile(tf.expandDims(bias, 1), [1, 2, 1]), [6, 1, bias.shape[1]]);
  const scores = tf.matMul(tf.mul<tf.Tensor3D>(q, scale), k, false, true);
  return tf.matMul(tf.softmax(tf.add<tf.Tensor3D>(scores, perHead)), v);
}

const half = (name: string) => tf.concat([matrix(name, 9, 8), matrix(name, 9, 8)], 1);
/** The "rotate half" matrix for rows of 16. */
const TURN = Array.from({ length: 16 }, (_, i) =>
  Array.from({ length: 16 }, (__, j) => (i === j + 8 ? -1 : i + 8 === j ? 1 : 0)),
);
const CASES: [string, () => tf.Tensor[]][] = [
  [
    'rmsNorm',
    () =>
      withGradients(
        (x, gain) => rmsNorm(x as tf.Tensor2D, gain as tf.Tensor1D, 1e-5),
        matrix('x', 9, 100),
        numbers('gain', [100]),
      ),
  ],
  ['swiglu', () => withGradients((x) => swiglu(x as tf.Tensor2D), matrix('x', 9, 100))],
  [
    'rotary',
    () =>
      withGradients(
        (x) => rotary(x as tf.Tensor2D, half('cos'), half('sin'), tf.tensor2d(TURN)),
        matrix('x', 9, 16),
      ),
  ],
  [
    'gatherRows',
    () =>
      withGradients(
        (x) => gatherRows(x as tf.Tensor2D, tf.tensor1d([0, 1, 1, 8, 1], 'int32')),
        matrix('x', 9, 16),
      ),
  ],
  ['attention over what is cached', () => [attended(64)]],
  ['attention over what is cached, heads wider than a workgroup', () => [attended(80)]],
];

describe.skipIf(!HAS_WEBGPU)('the webgpu backend (needs a GPU)', () => {
  it.each(CASES)('computes %s and its gradients like wasm, within 1e-5', async (_, compute) => {
    await useBackend('wasm');
    const expected = await Promise.all(compute().map((tensor) => tensor.data()));
    await useBackend('webgpu');
    const values = await Promise.all(compute().map((tensor) => tensor.data()));
    values.forEach((value, i) => {
      const difference = max(value, (x, j) => Math.abs(x - expected[i][j]))!;
      expect(difference / max(expected[i], Math.abs)!).toBeLessThan(1e-5);
    });
  });

  it('limits free memory and stays correct', async () => {
    await useBackend('webgpu');
    const most = 2e5;
    boundFreeBuffers(tf.backend(), most);
    const { bufferManager } = tf.backend() as unknown as {
      bufferManager: { numBytesAllocated: number; numBytesUsed: number };
    };
    for (let rows = 1; rows < 200; rows++) {
      const x = tf.fill([rows * 7, 16], rows);
      const y = tf.mul(x, 2);
      const sum = tf.add(x, y);
      expect((await sum.data()).at(-1)).toBe(3 * rows);
      tf.dispose([x, y, sum]);
      expect(bufferManager.numBytesAllocated - bufferManager.numBytesUsed).toBeLessThanOrEqual(
        most,
      );
    }
  });
});
