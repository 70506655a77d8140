import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { rotaryTable, type RotaryTable } from '../../lib/policy/transformer.js';
import { disposeWeights, type Weights } from '../../lib/policy/weights.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { addGradients } from '../../lib/training/gradients.js';
import type { Sequence } from '../../lib/training/sequences.js';
import {
  encodePieces,
  splitRows,
  supervisedGradients,
  totalWeight,
  trainSupervised,
  type GradientWorker,
  type SupervisedOptions,
  type SupervisedStep,
} from '../../lib/training/supervised.js';
import { CONFIG, TOKENIZER, tinyModel } from './tiny.js';

const row = (length: number, from = 20): Sequence => ({
  tokenIds: Array.from({ length }, (_, t) => from + ((t * 7) % 11)),
  lossMask: Array.from({ length }, (_, t) => (t % 3 === 0 ? 0 : 1)),
});
const ROWS = [row(12), row(5, 40), row(30, 60), row(9, 90), row(17, 120)];
const OPTIONS: SupervisedOptions = {
  steps: 12,
  learningRateAt: () => 0.01,
  maxGradNorm: 1,
  maxTokensPerPass: 40,
};

let table: RotaryTable;
beforeAll(async () => {
  await useBackend('wasm');
  table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
});

describe('encodePieces', () => {
  it('tokenises each piece by itself and gives its tokens its weight', () => {
    const pieces = [
      { text: 'Ada Sto', weight: 0 },
      { text: 'ne', weight: 3 },
    ];
    const { tokenIds, lossMask, lossWeights } = encodePieces(pieces, TOKENIZER);
    const [a, b] = pieces.map(({ text }) => TOKENIZER.encode(text));
    expect(tokenIds).toEqual([...a, ...b]);
    expect(lossMask).toEqual([...a.map(() => 0), ...b.map(() => 1)]);
    expect(lossWeights).toEqual([...a.map(() => 0), ...b.map(() => 3)]);
    expect(tokenIds).not.toEqual(TOKENIZER.encode('Ada Stone'));
  });
});

describe('totalWeight', () => {
  it('sums the weights of all tokens that have a prediction', () => {
    const weighted = { tokenIds: [1, 2, 3, 4], lossMask: [1, 1, 1, 0], lossWeights: [9, 1, 0.5, 7] };
    expect(totalWeight([weighted, row(4)])).toBe(3.5);
  });
});

describe('splitRows', () => {
  it('gives two halves of about as many tokens that hold every row once', () => {
    const halves = splitRows(ROWS);
    expect(new Set(halves.flat())).toEqual(new Set(ROWS));
    expect(halves.flat()).toHaveLength(ROWS.length);
    const [a, b] = halves.map((half) => half.reduce((sum, r) => sum + r.tokenIds.length, 0));
    expect(Math.abs(a - b)).toBeLessThanOrEqual(9);
  });
});

describe('supervisedGradients', () => {
  it('of two halves add up to the whole, and so do those of other passes, within 1e-5', () => {
    const { weights } = tinyModel();
    const options = { maxTokensPerPass: 40, table, totalWeight: totalWeight(ROWS) };
    const whole = supervisedGradients(weights, ROWS, CONFIG, options);
    const onePass = supervisedGradients(weights, ROWS, CONFIG, { ...options, maxTokensPerPass: 1000 });
    const [a, b] = splitRows(ROWS).map((half) => supervisedGradients(weights, half, CONFIG, options));
    const sum = addGradients(a.gradients, b.gradients);
    expect(a.loss + b.loss).toBeCloseTo(whole.loss, 5);
    expect(onePass.loss).toBeCloseTo(whole.loss, 5);
    for (const key of Object.keys(weights)) {
      const difference = (other: tf.Tensor): number =>
        tf.max(tf.abs(tf.sub(whole.gradients[key], other))).dataSync()[0];
      expect(difference(sum[key]), key).toBeLessThan(1e-5);
      expect(difference(onePass.gradients[key]), key).toBeLessThan(1e-5);
      expect(tf.max(tf.abs(whole.gradients[key])).dataSync()[0], key).toBeGreaterThan(1e-4);
    }
  });

  it('refuses a batch in which no token has a loss', () => {
    const { weights } = tinyModel();
    const quiet = [{ tokenIds: [1, 2], lossMask: [1, 0] }];
    const options = { maxTokensPerPass: 40, table, totalWeight: 1 };
    expect(() => supervisedGradients(weights, quiet, CONFIG, options)).toThrow(
      'Expected at least one token with a loss, but the batch has none.',
    );
  });
});

describe('trainSupervised', () => {
  it('lowers the loss on a fixed batch by more than a nat, and leaks no tensors from step to step', async () => {
    const steps: SupervisedStep[] = [];
    const numTensors: number[] = [];
    const weights = await trainSupervised(tinyModel().weights, CONFIG, OPTIONS, {
      sample: () => ROWS,
      onStep: (report) => {
        steps.push(report);
        numTensors.push(tf.memory().numTensors);
      },
    });
    expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(steps[0].loss).toBeCloseTo(Math.log(CONFIG.vocabSize), 0);
    expect(steps.at(-1)!.loss).toBeLessThan(steps[0].loss - 1);
    expect(new Set(numTensors).size).toBe(1);
    expect(steps[0].numTokens).toBe(73);
    disposeWeights(weights);
  });

  it('disposes of all but the new weights', async () => {
    const model = tinyModel();
    const before = tf.memory().numTensors;
    const weights = await trainSupervised(
      model.weights,
      CONFIG,
      { ...OPTIONS, steps: 2 },
      { sample: () => ROWS },
    );
    expect(tf.memory().numTensors).toBe(before);
    expect(Object.keys(weights)).toEqual(Object.keys(model.weights));
    for (const tensor of Object.values(model.weights)) expect(tensor.isDisposed).toBe(true);
    disposeWeights(weights);
  });

  it('goes the same way with half of the rows in a helper, weights within 1e-4', async () => {
    const calls: number[] = [];
    const helper: GradientWorker = {
      start: async (weights, rows, options) => {
        calls.push(rows.length);
        return async () => supervisedGradients(weights, rows, CONFIG, { ...options, table });
      },
      stop: () => undefined,
    };
    const train = (worker?: GradientWorker): Promise<Weights> =>
      trainSupervised(tinyModel().weights, CONFIG, { ...OPTIONS, steps: 3 }, { sample: () => ROWS, worker });
    const [alone, together] = [await train(), await train(helper)];
    expect(calls).toHaveLength(3);
    for (const key of Object.keys(alone)) {
      expect(tf.max(tf.abs(tf.sub(alone[key], together[key]))).dataSync()[0], key).toBeLessThan(1e-4);
    }
  });
});
