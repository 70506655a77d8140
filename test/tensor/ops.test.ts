import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  chosenLogProbs,
  chosenLogProbsInParts,
  frozenLinear,
  gatherRows,
  groupByLength,
  linear,
  rmsNorm,
  rotary,
  swiglu,
  type LowRank,
} from '../../lib/tensor/ops.js';
import { readFixture } from '../fixtures/read.js';
import { HAS_NATIVE } from './has-backend.js';

/** Nested lists of numbers. */
type Nested = number[] | Nested[];
interface LayerFixture {
  settings: Record<string, number>;
  inputs: Record<string, Nested>;
  outputs: Record<string, Nested>;
  upstream: Record<string, Nested>;
  gradients: Record<string, Nested>;
}
const layers = readFixture<{
  rms_norm: LayerFixture;
  rotary: LayerFixture & { cos: number[][][]; sin: number[][][] };
  swiglu: LayerFixture;
}>('layers.json');

const flat = (nested: Nested): number[] => (nested as number[]).flat(Infinity);
const matrix = (nested: Nested, columns: number): tf.Tensor2D => {
  const values = flat(nested);
  return tf.tensor2d(values, [values.length / columns, columns]);
};

/** Compares values; the tolerance is relative to the largest if above 1. */
function expectClose(actual: tf.Tensor, expected: readonly number[], tolerance: number): void {
  const values = actual.dataSync();
  expect(values.length).toBe(expected.length);
  const worst = Math.max(...expected.map((value, i) => Math.abs(values[i] - value)));
  expect(worst).toBeLessThan(tolerance * Math.max(1, ...expected.map(Math.abs)));
}

/** Normal deviates, seeded by a label. */
function randomTensor<R extends tf.Rank>(label: string, shape: tf.ShapeMap[R]): tf.Tensor<R> {
  const random = createRandom(label);
  return tf.tensor(
    Array.from({ length: tf.util.sizeFromShape(shape) }, () => random.normal()),
    shape,
  );
}

/**
 * Compares the gradient of sum(op(inputs) * upstream) with central differences along
 * random directions. Double-precision sums keep the error below 2e-3 of the gradient's
 * length.
 */
function expectGradients<T extends tf.Tensor>(
  op: (...inputs: T[]) => tf.Tensor,
  inputs: T[],
): void {
  const EPSILON = 2e-2;
  const upstream = randomTensor('upstream', op(...inputs).shape as [number]);
  const weights = upstream.dataSync();
  const loss = (at: T[]): number =>
    op(...at)
      .dataSync<'float32'>()
      .reduce((sum, value, i) => sum + value * weights[i], 0);
  const gradients = tf.grads((...at) => tf.sum(tf.mul(op(...(at as T[])), upstream)))(inputs);
  inputs.forEach((input, k) => {
    expect(gradients[k].shape, `input ${k}`).toEqual(input.shape);
    const length = tf.norm(gradients[k]).dataSync()[0];
    expect(length, `input ${k}`).toBeGreaterThan(0);
    for (let trial = 0; trial < 3; trial++) {
      const raw = randomTensor(`direction ${k} ${trial}`, input.shape as [number]);
      const direction = tf.div(raw, tf.norm(raw));
      const moved = (by: number): number =>
        loss(inputs.with(k, tf.add(input, tf.mul(direction, by))));
      const numeric = (moved(EPSILON) - moved(-EPSILON)) / (2 * EPSILON);
      const analytic = tf.sum(tf.mul(gradients[k], direction)).dataSync()[0];
      expect(Math.abs(analytic - numeric), `input ${k}`).toBeLessThan(2e-3 * length + 1e-4);
    }
  });
}

const indices = (...values: number[]): tf.Tensor1D => tf.tensor1d(values, 'int32');

const weight = (): tf.Tensor2D => randomTensor<tf.Rank.R2>('weight', [7, 4]);
/** A frozen projection with a value computed earlier. */
const known = (x: tf.Tensor2D, w: tf.Tensor2D, update?: LowRank): tf.Tensor2D =>
  frozenLinear(x, w, update, () => linear(x, w, update));

/** Log-probs from hidden states of width 7 with a vocabulary of 9. */
function logProbsOf(hidden: tf.Tensor2D, computesGradient: boolean): tf.Tensor1D {
  // Kept, like weights.
  const head = tf.keep(randomTensor<tf.Rank.R2>('head', [7, 9]));
  const chosen = indices(...Array.from({ length: hidden.shape[0] }, (_, i) => (i * 5) % 9));
  const logits = (some: tf.Tensor2D): tf.Tensor2D => tf.matMul(some, head);
  const backward = (dLogits: tf.Tensor2D): tf.Tensor2D => tf.matMul(dLogits, head, false, true);
  const frozen = { logits, backward, rowsAtOnce: 3, computesGradient };
  return chosenLogProbsInParts(hidden, chosen, frozen);
}

/** Operations on matrices, with the shapes of their inputs. */
const OPERATIONS: [string, (...inputs: tf.Tensor2D[]) => tf.Tensor, ...[number, number][]][] = [
  ['matMul', (a, b) => tf.matMul(a, b), [5, 7], [7, 4]],
  ['matMul with a transpose', (a, b) => tf.matMul(a, b, false, true), [5, 6], [9, 6]],
  ['matMul of many rows', (a, b) => tf.matMul(a, b), [12, 9], [9, 8]],
  [
    'matMul of many rows with a transpose',
    (a, b) => tf.matMul(a, b, false, true),
    [12, 9],
    [10, 9],
  ],
  [
    'gatherRows, with an index that comes three times',
    (t) => gatherRows(t, indices(4, 1, 4, 0, 4)),
    [6, 3],
  ],
  [
    'linear, with an update',
    (x, w, a, b) => linear(x, w, { a, b }),
    [5, 7],
    [7, 4],
    [7, 2],
    [2, 4],
  ],
  ['frozenLinear', (x) => known(x, weight()), [5, 7]],
  ['frozenLinear a transposed weight', (x) => known(x, tf.transpose(weight())), [5, 7]],
  [
    'frozenLinear, with an update',
    (x, a, b) => known(x, weight(), { a, b }),
    [5, 7],
    [7, 2],
    [2, 4],
  ],
  ['chosenLogProbsInParts', (x) => logProbsOf(x, false), [5, 7]],
  ['chosenLogProbsInParts, which is learned from', (x) => logProbsOf(x, true), [5, 7]],
  ['chosenLogProbs', (x) => chosenLogProbs(x, indices(2, 0, 6, 2)), [4, 7]],
];

const BACKENDS = ['wasm', 'cpu', ...(HAS_NATIVE ? (['native'] as const) : [])] as const;

describe.each(BACKENDS)('on the %s backend', (backend) => {
  beforeAll(async () => {
    await useBackend(backend);
    tf.engine().startScope();
  });
  afterAll(() => tf.engine().endScope());

  describe('compared with layers of transformers (Python), within 1e-5 of the largest value', () => {
    it('rmsNorm', () => {
      const { settings, inputs, outputs, upstream, gradients } = layers.rms_norm;
      const [x, gain] = [matrix(inputs.x, 8), tf.tensor1d(inputs.weight as number[])];
      const norm = (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
        rmsNorm(a as tf.Tensor2D, b as tf.Tensor1D, settings.eps);
      expectClose(norm(x, gain), flat(outputs.y), 1e-5);
      const loss = (a: tf.Tensor, b: tf.Tensor): tf.Scalar =>
        tf.sum(tf.mul(norm(a, b), matrix(upstream.y, 8)));
      const [dx, dGain] = tf.grads(loss)([x, gain]);
      expectClose(dx, flat(gradients.x), 1e-5);
      expectClose(dGain, flat(gradients.weight), 1e-5);
    });

    it.each(['q', 'k'])('rotary of %s', (name) => {
      const { inputs, outputs, upstream, gradients, cos, sin, settings } = layers.rotary;
      const width = settings.head_width;
      // (B, heads, T, D): a token's table row, repeated for every head.
      const heads = (inputs[name] as Nested[][])[0].length;
      const spread = (table: number[][][]): tf.Tensor2D =>
        matrix(
          table.map((row) => Array.from({ length: heads }, () => row)),
          width,
        );
      const rotation = tf.buffer([width, width]);
      for (let i = 0; i < width / 2; i++) {
        rotation.set(-1, i + width / 2, i);
        rotation.set(1, i, i + width / 2);
      }
      const turn = (x: tf.Tensor): tf.Tensor =>
        rotary(x as tf.Tensor2D, spread(cos), spread(sin), rotation.toTensor() as tf.Tensor2D);
      const x = matrix(inputs[name], width);
      expectClose(turn(x), flat(outputs[name]), 1e-5);
      const dx = tf.grad((a) => tf.sum(tf.mul(turn(a), matrix(upstream[name], width))))(x);
      expectClose(dx, flat(gradients[name]), 1e-5);
    });

    it('swiglu between projections', () => {
      const { settings, inputs, outputs, upstream, gradients } = layers.swiglu;
      const { width, inner } = settings;
      // PyTorch stores output by input.
      const x = matrix(inputs.x, width);
      const gate = tf.transpose(matrix(inputs.gate_proj, width));
      const up = tf.transpose(matrix(inputs.up_proj, width));
      const down = tf.transpose(matrix(inputs.down_proj, inner));
      const mlp = (...[a, g, u, d]: tf.Tensor[]): tf.Tensor =>
        tf.matMul(swiglu(tf.matMul(a, tf.concat([g as tf.Tensor2D, u as tf.Tensor2D], 1))), d);
      expectClose(mlp(x, gate, up, down), flat(outputs.y), 1e-5);
      const [dx, dGate, dUp, dDown] = tf.grads((...at) =>
        tf.sum(tf.mul(mlp(...at), matrix(upstream.y, width))),
      )([x, gate, up, down]);
      expectClose(dx, flat(gradients.x), 1e-5);
      expectClose(tf.transpose(dGate), flat(gradients.gate_proj), 1e-5);
      expectClose(tf.transpose(dUp), flat(gradients.up_proj), 1e-5);
      expectClose(tf.transpose(dDown), flat(gradients.down_proj), 1e-5);
    });
  });

  describe('gradients match central differences within 0.2 %', () => {
    it.each(OPERATIONS)('%s', (name, op, ...shapes) => {
      const inputs = shapes.map((shape, i) => randomTensor<tf.Rank.R2>(`${name} ${i}`, shape));
      expectGradients(op, inputs);
    });
  });

  describe('values', () => {
    it('gathers rows', () => {
      const table = tf.tensor2d([0, 1, 10, 11, 20, 21], [3, 2]);
      expectClose(gatherRows(table, indices(2, 0, 2)), [20, 21, 0, 1, 20, 21], 1e-9);
    });

    it('gives finite log-probs for logits of 1000, within 1e-5', () => {
      const logits = tf.tensor2d([1000, 999, -1000, 0, 0, 0], [2, 3]);
      const logProbs = chosenLogProbs(logits, indices(1, 2));
      expectClose(logProbs, [-1 - Math.log1p(Math.exp(-1)), -Math.log(3)], 1e-5);
    });

    it('leaks no tensors', () => {
      const x = randomTensor<tf.Rank.R2>('leak', [20, 6]);
      const before = tf.memory().numTensors;
      const gradient = tf.grad((a) => tf.sum(swiglu(tf.matMul(a, tf.ones([6, 8])))))(x);
      gradient.dispose();
      expect(tf.memory().numTensors).toBe(before);
    });
  });
});

it.each([
  [[], 10, []],
  [
    [5, 1, 5, 1],
    10,
    [
      [1, 3],
      [0, 2],
    ],
  ],
  // A sequence over the limit gets its own group.
  [[9, 3, 30, 4, 3, 12, 9], 20, [[1, 4, 3], [0, 6], [5], [2]]],
])('groups sequences of similar length: %j within %d tokens', (lengths, maxTokens, groups) => {
  expect(groupByLength(lengths, maxTokens)).toEqual(groups);
});
