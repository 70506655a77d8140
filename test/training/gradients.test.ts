import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import type { LoraOptions } from '../../lib/policy/folders/peft.js';
import { createAdapter, mergeAdapter, withAdapter } from '../../lib/policy/model/lora.js';
import { rotaryTable } from '../../lib/policy/model/transformer.js';
import { disposeWeights, type Weights } from '../../lib/policy/model/weights.js';
import { createRandom, type Random } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { FrozenLayerCache } from '../../lib/training/adapter.js';
import { clipByGlobalNorm, lossAndGradients, rowGradients } from '../../lib/training/gradients.js';
import { grpoLoss } from '../../lib/training/grpo.js';
import {
  batchLogProbs,
  packSequences,
  sequenceLogProbs,
  totalWeight,
  type Sequence,
} from '../../lib/training/sequences.js';
import { randomModelWeights } from '../../tools/warm-up/random-weights.js';
import { supervisedGradients } from '../../tools/warm-up/supervised-gradients.js';
import { CONFIG } from './tiny.js';

const ROWS: Sequence[] = [
  {
    tokenIds: [5, 9, 31, 7, 200, 9, 12],
    lossMask: [0, 1, 1, 1, 0, 1, 1],
    lossWeights: [0, 0.2, 1, 1, 0, 3, 1],
  },
  { tokenIds: [8, 8, 250, 3], lossMask: [0, 0, 1, 1] },
  // Starts like the first one, with trained tokens.
  { tokenIds: [5, 9, 31, 44], lossMask: [0, 1, 1, 1] },
];
const BATCH = packSequences(ROWS);
const LORA = { rank: 2, alpha: 4 };

await useBackend('wasm');
const weights = randomModelWeights(CONFIG, createRandom('gradients'));
// Wider than a fresh embedding, so that the loss is far from uniform.
weights.embed = tf.mul(weights.embed, 20);
const table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
const passes = { config: CONFIG, table, maxTokensPerPass: 64 };

const mapWeights = (of: Weights, change: (t: tf.Tensor, key: string) => tf.Tensor): Weights =>
  Object.fromEntries(Object.entries(of).map(([key, t]) => [key, change(t, key)]));
const normalLike = ({ shape, size }: tf.Tensor, random: Random): tf.Tensor =>
  tf.tensor(
    Array.from({ length: size }, () => random.normal()),
    shape,
  );
const dot = (a: Weights, b: Weights): number =>
  sum(Object.keys(b), (key) => tf.sum(tf.mul(a[key], b[key])).dataSync()[0]);
const scale = (of: Weights, by: number): Weights => mapWeights(of, (t) => tf.mul(t, by));
const unit = (of: Weights): Weights => scale(of, 1 / Math.sqrt(dot(of, of)));

/**
 * Compares gradients with central differences: along the gradient itself within 1 %, and
 * along five random directions within 1 % of the change expected from the gradient's
 * length, plus the rounding error of a float32 loss.
 */
function expectDirectionalDerivatives(
  at: Weights,
  gradients: Weights,
  loss: (w: Weights) => number,
): void {
  const length = Math.sqrt(dot(gradients, gradients));
  const numericAlong = (direction: Weights, step: number): number => {
    const lossAt = (by: number): number =>
      loss(mapWeights(at, (t, key) => tf.add(t, tf.mul(direction[key], by))));
    return (lossAt(step) - lossAt(-step)) / (2 * step);
  };
  expect(Math.abs(numericAlong(unit(gradients), 2e-3) / length - 1)).toBeLessThan(0.01);
  const typical = length / Math.sqrt(sum(Object.values(at), ({ size }) => size));
  for (let trial = 0; trial < 5; trial++) {
    const random = createRandom(`direction ${trial}`);
    const direction = unit(mapWeights(at, (t) => normalLike(t, random)));
    expect(Math.abs(numericAlong(direction, 0.02) - dot(gradients, direction))).toBeLessThan(
      0.01 * typical + 1e-4,
    );
  }
}

describe('gradients of the whole loss compared with central differences', () => {
  it('are equal for supervised training of every weight', async () => {
    const total = totalWeight(ROWS);
    const { loss, gradients } = await supervisedGradients(weights, ROWS, {
      ...passes,
      totalWeight: total,
    });
    const lossAt = (w: Weights): number => {
      const logProbs = tf.tidy(() => batchLogProbs(w, BATCH, passes).dataSync());
      return -sum(BATCH.lossWeights, (weight, m) => weight * logProbs[m]) / total;
    };
    expect(loss).toBeCloseTo(lossAt(weights), 5);
    expectDirectionalDerivatives(weights, gradients, lossAt);
  });

  it('are equal for GRPO training of the adapter', () => {
    const random = createRandom('adapter');
    // A fresh B is zero, and would make the gradient of A zero.
    const adapter = mapWeights(createAdapter(CONFIG, LORA, random), (t, key) =>
      key.endsWith('.B') ? tf.mul(normalLike(t, random), 0.1) : t,
    );
    const logProbsOf = (w: Weights): tf.Tensor1D =>
      batchLogProbs(mergeAdapter(weights, w, LORA), BATCH, passes);
    const now = tf.tidy(() => logProbsOf(adapter));
    const shifted = (label: string, by: number): tf.Tensor1D =>
      tf.add(now, tf.mul(normalLike(now, createRandom(label)), by));
    // Ratios within the clip range: at its edge, the loss has a kink that differences
    // would cross.
    const tokens = {
      oldLogProbs: shifted('old', 0.03),
      referenceLogProbs: shifted('reference', 0.5),
      advantages: tf.tensor1d(BATCH.rows.map((row) => (row === 0 ? 1.3 : -0.7))),
      weights: tf.fill<tf.Rank.R1>([BATCH.targets.length], 1 / BATCH.targets.length),
    };
    const loss = (w: Weights): tf.Scalar =>
      grpoLoss(logProbsOf(w), tokens, { clip: 0.2, beta: 0.1 });
    const lossAt = (w: Weights): number => tf.tidy(() => loss(w).dataSync()[0]);
    const { value, gradients } = lossAndGradients(adapter, loss);
    expect(Object.keys(gradients)).toEqual(Object.keys(adapter));
    expect(value.dataSync()[0]).toBeCloseTo(lossAt(adapter), 6);
    expectDirectionalDerivatives(adapter, gradients, lossAt);
  });
});

it('lossAndGradients leaks no tensors', () => {
  const at = { a: tf.tensor1d([1, 2]), b: tf.tensor1d([3, 4]) };
  const before = tf.memory().numTensors;
  const { value, gradients } = lossAndGradients(at, ({ a, b }) => tf.sum(tf.mul(a, b)));
  expect(value.dataSync()).toEqual(Float32Array.of(11));
  expect([...gradients.a.dataSync(), ...gradients.b.dataSync()]).toEqual([3, 4, 1, 2]);
  expect(tf.memory().numTensors).toBe(before + 3);
});

it.each([
  [1, [0.6, 0.8]],
  [5.1, [3, 4]],
])(
  'clipByGlobalNorm scales all gradients to a total norm of at most %d, within 1e-5',
  async (maxNorm, expected) => {
    const before = tf.memory().numTensors;
    const given = { a: tf.tensor1d([3, 0]), b: tf.tensor2d([[4]]) };
    const { gradients, norm } = await clipByGlobalNorm(given, maxNorm);
    expect(norm).toBeCloseTo(5, 5);
    expect(gradients.a.dataSync()[0]).toBeCloseTo(expected[0], 5);
    expect(gradients.b.dataSync()[0]).toBeCloseTo(expected[1], 5);
    expect(tf.memory().numTensors).toBe(before + 2);
  },
);

it.each([NaN, Infinity])(
  'clipByGlobalNorm gives a non-finite norm for gradients with %d',
  async (value) => {
    const given = { a: tf.tensor1d([3, value]) };
    expect((await clipByGlobalNorm(given, 1)).norm).toBe(value);
  },
);

it.each([false, true])(
  'readLater reads values after each pass, checkpointed: %s',
  async (isCheckpointed) => {
    const logProbs = await sequenceLogProbs(weights, ROWS, passes);
    const before = tf.memory().numTensors;
    const expected: number[] = [];
    const {
      loss,
      gradients,
      passes: read,
    } = await rowGradients(
      weights,
      ROWS,
      { ...passes, maxTokensPerPass: 8, isCheckpointed },
      (newest, rows) => {
        expected.push(...rows.flatMap((row) => logProbs[ROWS.indexOf(row)]));
        return { loss: tf.sum(newest), read: { newest } };
      },
    );
    expect(read).toHaveLength(2);
    const values = read.flatMap((pass) => [...pass.values.newest]);
    expect(values).toEqual(expected.map((value) => expect.closeTo(value, 4) as number));
    expect(loss).toBeCloseTo(sum(values), 4);
    disposeWeights(gradients);
    expect(tf.memory().numTensors).toBe(before);
  },
);

describe('gradients one layer at a time', () => {
  const { tieWordEmbeddings: _, ...rest } = CONFIG;
  /** A value head next to the weights, and a loss of it, the log-probs and their rows. */
  const gradientsOf = (trained: Weights, options: Partial<Parameters<typeof rowGradients>[2]>) =>
    rowGradients(
      trained,
      ROWS,
      { ...passes, ...options },
      (logProbs, rows, { hidden, newest, lossWeights }) => {
        expect(rows.length).toBeGreaterThan(0);
        const values = tf.matMul(hidden, newest.value);
        const weighted = tf.mul(tf.square(logProbs), tf.tensor1d([...lossWeights]));
        return { loss: tf.add<tf.Scalar>(tf.sum(weighted), tf.sum(tf.square(values))) };
      },
    );
  const value = () => tf.fill([CONFIG.hiddenSize, 1], 0.3);
  type Found = Awaited<ReturnType<typeof gradientsOf>>;
  function expectClose(a: Found, b: Found): void {
    expect(a.loss / b.loss).toBeCloseTo(1, 5);
    expect(Object.keys(a.gradients).sort()).toEqual(Object.keys(b.gradients).sort());
    for (const [key, gradient] of Object.entries(b.gradients)) {
      const difference = tf.norm(tf.sub(a.gradients[key], gradient)).dataSync()[0];
      expect(difference / tf.norm(gradient).dataSync()[0], key).toBeLessThan(1e-4);
    }
  }

  it.each([true, false])(
    'equal those of the whole pass for every weight, with a tied head: %s',
    async (isTied) => {
      const config = { ...rest, tieWordEmbeddings: isTied };
      const all = {
        ...weights,
        value: value(),
        ...(isTied ? {} : { head: tf.transpose(weights.embed) }),
      };
      const before = tf.memory().numTensors;
      const whole = await gradientsOf(all, { config });
      const kept = tf.memory().numTensors - before;
      const parts = await gradientsOf(all, { config, isCheckpointed: true });
      expect(tf.memory().numTensors - before).toBe(2 * kept);
      expectClose(parts, whole);
    },
  );

  /** An adapter with the value head, and options that apply it separately. */
  const separate = (lora: LoraOptions) => {
    const adapter = mapWeights(createAdapter(CONFIG, lora, createRandom('adapter')), (t) =>
      tf.add(t, tf.mul(normalLike(t, createRandom('b')), 0.1)),
    );
    const buildWeights = (newest: Weights) => withAdapter(weights, newest, lora);
    return { trained: { ...adapter, value: value() }, beside: { buildWeights, isAdapter: true } };
  };

  it('of an adapter applied separately equal those of the merged weights', async () => {
    const { trained, beside } = separate(LORA);
    const merged = await gradientsOf(trained, {
      buildWeights: ({ value: _, ...newest }) => mergeAdapter(weights, newest, LORA),
    });
    expectClose(await gradientsOf(trained, beside), merged);
    expectClose(
      await gradientsOf(trained, { ...beside, temperature: 1, isCheckpointed: true }),
      merged,
    );
    const tempered = { ...beside, temperature: 0.7 };
    expectClose(
      await gradientsOf(trained, { ...tempered, isCheckpointed: true }),
      await gradientsOf(trained, { ...tempered, isAdapter: false }),
    );
  });

  it('are equal for any budget of saved projections; saved ones are not recomputed', async () => {
    const { trained, beside } = separate(LORA);
    const runs = [];
    const before = tf.memory().numTensors;
    for (const budgetBytes of [0, 5000, Infinity]) {
      let found: Found;
      const { kernels } = await tf.profile(async () => {
        found = await gradientsOf(trained, { ...beside, isCheckpointed: true, budgetBytes });
        return [];
      });
      runs.push({
        ...found!,
        numMatMuls: kernels.filter(({ name }) => name === 'BatchMatMul').length,
      });
    }
    expect(tf.memory().numTensors - before).toBe(3 * Object.keys(trained).length);
    const [none, ...more] = runs;
    for (const { loss, gradients } of more) {
      expect(loss).toBe(none.loss);
      for (const [key, gradient] of Object.entries(gradients))
        expect(gradient.dataSync(), key).toEqual(none.gradients[key].dataSync());
    }
    const [fewest, some, most] = runs.map(({ numMatMuls }) => numMatMuls).reverse();
    // Four matrices per layer, each with an adapter.
    expect(most - fewest).toBe(CONFIG.numLayers * 4 * 3);
    expect(some).toBeGreaterThan(fewest);
    expect(some).toBeLessThan(most);
  });

  it('stop at the lowest trained layer and equal those of the whole pass', async () => {
    const { trained, beside } = separate({ ...LORA, layersToTransform: [1] });
    const whole = await gradientsOf(trained, beside);
    const before = tf.memory().numTensors;
    const parts = await gradientsOf(trained, { ...beside, isCheckpointed: true });
    expect(tf.memory().numTensors - before).toBe(Object.keys(trained).length);
    expectClose(parts, whole);

    const frozen = new FrozenLayerCache(1);
    for (const isCheckpointed of [true, false, true]) {
      const already = tf.memory().numTensors;
      const run = () => gradientsOf(trained, { ...beside, frozen, isCheckpointed });
      const computed = [await run(), await run()];
      frozen.release();
      expect(tf.memory().numTensors - already).toBe(2 * Object.keys(trained).length);
      for (const gradients of computed) expectClose(gradients, whole);
    }
  });
});

describe('supervisedGradients', () => {
  const options = { ...passes, totalWeight: totalWeight(ROWS) };

  it('are equal in one pass and in several, within 1e-5', async () => {
    const [whole, split] = [
      await supervisedGradients(weights, ROWS, options),
      await supervisedGradients(weights, ROWS, { ...options, maxTokensPerPass: 8 }),
    ];
    expect(split.passes.length).toBeGreaterThan(whole.passes.length);
    expect(split.loss).toBeCloseTo(whole.loss, 5);
    for (const [key, gradient] of Object.entries(whole.gradients)) {
      const difference = tf.max(tf.abs(tf.sub(gradient, split.gradients[key]))).dataSync()[0];
      expect(difference).toBeLessThan(1e-5);
    }
  });

  it('rejects a batch without a trained token', async () => {
    const quiet = [{ tokenIds: [1, 2], lossMask: [1, 0] }];
    await expect(supervisedGradients(weights, quiet, options)).rejects.toThrow(/trained token/);
  });
});
