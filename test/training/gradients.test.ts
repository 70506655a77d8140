import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAdapter, mergeAdapter } from '../../lib/policy/lora.js';
import { rotaryTable, type RotaryTable } from '../../lib/policy/transformer.js';
import { randomWeights, type Weights } from '../../lib/policy/weights.js';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { addGradients, clipByGlobalNorm, lossAndGradients } from '../../lib/training/gradients.js';
import { grpoLoss } from '../../lib/training/grpo/loss.js';
import { batchLogProbs, packSequences, type Sequence } from '../../lib/training/sequences.js';
import { supervisedGradients, totalWeight } from '../../lib/training/supervised.js';
import { CONFIG } from './tiny.js';

const ROWS: Sequence[] = [
  {
    tokenIds: [5, 9, 31, 7, 200, 9, 12],
    lossMask: [0, 1, 1, 1, 0, 1, 1],
    lossWeights: [0, 0.2, 1, 1, 0, 3, 1],
  },
  { tokenIds: [8, 8, 250, 3], lossMask: [0, 0, 1, 1] },
];
const LORA = { rank: 2, alpha: 4 };

let weights: Weights;
let table: RotaryTable;
beforeAll(async () => {
  await useBackend('wasm');
  weights = randomWeights(CONFIG, createRandom('gradients'));
  // Wider than a fresh embedding, so that the loss is far from uniform.
  weights.embed = tf.mul(weights.embed, 20);
  table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
});

/** A direction of length 1 over all weights. */
function randomDirection(of: Weights, label: string): Weights {
  const random = createRandom(label);
  const raw = Object.entries(of).map(
    ([key, t]) => [key, Array.from({ length: t.size }, () => random.normal())] as const,
  );
  const length = Math.hypot(...raw.flatMap(([, values]) => values));
  return Object.fromEntries(
    raw.map(([key, values]) => [
      key,
      tf.tensor(
        values.map((x) => x / length),
        of[key].shape,
      ),
    ]),
  );
}

const move = (from: Weights, direction: Weights, by: number): Weights =>
  Object.fromEntries(Object.entries(from).map(([key, t]) => [key, tf.add(t, tf.mul(direction[key], by))]));

const dot = (a: Weights, b: Weights): number =>
  Object.keys(b).reduce((sum, key) => sum + tf.sum(tf.mul(a[key], b[key])).dataSync()[0], 0);

/**
 * Compares gradients with central differences: along the gradient itself within 1 %, and along five random directions within
 * 1 % of what the gradient's length lets one expect, plus the rounding of a float32 loss.
 */
function expectDirectionalDerivatives(at: Weights, gradients: Weights, loss: (w: Weights) => number): void {
  const length = Math.sqrt(dot(gradients, gradients));
  const steepest = move(gradients, gradients, 1 / length - 1);
  const numericAlong = (direction: Weights, step: number): number =>
    (loss(move(at, direction, step)) - loss(move(at, direction, -step))) / (2 * step);
  expect(Math.abs(numericAlong(steepest, 2e-3) / length - 1)).toBeLessThan(0.01);
  const numWeights = Object.values(at).reduce((sum, t) => sum + t.size, 0);
  for (let trial = 0; trial < 5; trial++) {
    const direction = randomDirection(at, `direction ${trial}`);
    const typical = length / Math.sqrt(numWeights);
    expect(Math.abs(numericAlong(direction, 0.02) - dot(gradients, direction))).toBeLessThan(
      0.01 * typical + 1e-4,
    );
  }
}

describe('the whole loss beside central differences', () => {
  it('supervised, with respect to every weight', () => {
    const options = { maxTokensPerPass: 64, table, totalWeight: totalWeight(ROWS) };
    const { loss, gradients } = supervisedGradients(weights, ROWS, CONFIG, options);
    const lossAt = (w: Weights): number =>
      tf.tidy(() => {
        const batch = packSequences(ROWS);
        const { logProbs } = batchLogProbs(w, batch, CONFIG, table);
        return (
          -batch.lossWeights.reduce((sum, x, m) => sum + x * logProbs.dataSync()[m], 0) / totalWeight(ROWS)
        );
      });
    expect(loss).toBeCloseTo(lossAt(weights), 5);
    expectDirectionalDerivatives(weights, gradients, lossAt);
  });

  it('GRPO, with respect to the adapter', () => {
    const random = createRandom('adapter');
    const adapter = Object.fromEntries(
      Object.entries(createAdapter(CONFIG, LORA, random)).map(([key, t]) => [
        key,
        // A fresh B is zero, and so would be the gradient of A.
        key.endsWith('.B')
          ? tf.tensor(
              Array.from({ length: t.size }, () => 0.1 * random.normal()),
              t.shape,
            )
          : t,
      ]),
    );
    const batch = packSequences(ROWS);
    const now = tf.tidy(
      () => batchLogProbs(mergeAdapter(weights, adapter, LORA), batch, CONFIG, table).logProbs,
    );
    const shift = (label: string, scale: number): tf.Tensor1D => {
      const stream = createRandom(label);
      return tf.tensor1d([...now.dataSync()].map((x) => x + scale * stream.normal()));
    };
    // Ratios within the clip range: at its edge the loss has a kink that differences would step over.
    const tokens = {
      oldLogProbs: shift('old', 0.03),
      referenceLogProbs: shift('reference', 0.5),
      advantages: tf.tensor1d(batch.rows.map((row) => (row === 0 ? 1.3 : -0.7))),
      weights: tf.fill<tf.Rank.R1>([batch.targets.length], 1 / batch.targets.length),
    };
    const loss = (w: Weights): tf.Scalar =>
      grpoLoss(batchLogProbs(mergeAdapter(weights, w, LORA), batch, CONFIG, table).logProbs, tokens, {
        clip: 0.2,
        beta: 0.1,
      });
    const { value, gradients } = lossAndGradients(adapter, loss);
    expect(Object.keys(gradients)).toEqual(Object.keys(adapter));
    expect(value).toBeCloseTo(
      tf.tidy(() => loss(adapter).dataSync()[0]),
      6,
    );
    expectDirectionalDerivatives(adapter, gradients, (w) => tf.tidy(() => loss(w).dataSync()[0]));
  });
});

describe('lossAndGradients', () => {
  it('leaves nothing behind but the gradients', () => {
    const at = { a: tf.tensor1d([1, 2]), b: tf.tensor1d([3, 4]) };
    const before = tf.memory().numTensors;
    const { value, gradients } = lossAndGradients(at, ({ a, b }) => tf.sum(tf.mul(a, b)));
    expect(value).toBe(11);
    expect([...gradients.a.dataSync(), ...gradients.b.dataSync()]).toEqual([3, 4, 1, 2]);
    expect(tf.memory().numTensors).toBe(before + 2);
  });
});

describe('addGradients', () => {
  it('adds by name and disposes of both', () => {
    const before = tf.memory().numTensors;
    const sum = addGradients(addGradients(null, { a: tf.tensor1d([1, 2]) }), { a: tf.tensor1d([10, 20]) });
    expect([...sum.a.dataSync()]).toEqual([11, 22]);
    expect(tf.memory().numTensors).toBe(before + 1);
  });
});

describe('clipByGlobalNorm', () => {
  const gradients = (): Weights => ({ a: tf.tensor1d([3, 0]), b: tf.tensor2d([[4]]) });

  it('scales all gradients alike to the largest norm, within 1e-5', () => {
    const before = tf.memory().numTensors;
    const { gradients: clipped, norm } = clipByGlobalNorm(gradients(), 1);
    expect(norm).toBeCloseTo(5, 5);
    expect(clipped.a.dataSync()[0]).toBeCloseTo(0.6, 5);
    expect(clipped.b.dataSync()[0]).toBeCloseTo(0.8, 5);
    expect(tf.memory().numTensors).toBe(before + 2);
  });

  it('leaves shorter ones as they are', () => {
    const given = gradients();
    const { gradients: same, norm } = clipByGlobalNorm(given, 5.1);
    expect(same).toBe(given);
    expect(norm).toBeCloseTo(5, 5);
  });
});
