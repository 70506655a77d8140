import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { rotaryTable } from '../../lib/policy/transformer.js';
import type { Weights } from '../../lib/policy/weights.js';
import { useBackend } from '../../lib/tensor/backend.js';
import type { Sequence } from '../../lib/training/sequences.js';
import {
  encodePieces,
  supervisedGradients,
  totalWeight,
} from '../../lib/training/cross-entropy.js';
import { CONFIG, TOKENIZER, tinyModel } from './tiny.js';

const row = (length: number, from = 20): Sequence => ({
  tokenIds: Array.from({ length }, (_, t) => from + ((t * 7) % 11)),
  lossMask: Array.from({ length }, (_, t) => (t % 3 === 0 ? 0 : 1)),
});
const ROWS = [row(12), row(5, 40), row(30, 60), row(9, 90), row(17, 120)];

await useBackend('wasm');
const table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
const passes = { config: CONFIG, table, maxTokensPerPass: 40 };

/** The largest difference of two tensors of each name. */
const differences = (a: Weights, b: Weights): number[] =>
  Object.keys(a).map((key) => tf.max(tf.abs(tf.sub(a[key], b[key]))).dataSync()[0]);

it('encodePieces tokenises each piece by itself and gives its tokens its weight', () => {
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

it('encodePieces takes a piece for a token only where it says so', () => {
  const eos = { text: '<eos>', weight: 1 };
  expect(encodePieces([{ ...eos, isToken: true }], TOKENIZER).tokenIds).toEqual(CONFIG.eosTokenIds);
  expect(encodePieces([eos], TOKENIZER).tokenIds).not.toContain(CONFIG.eosTokenIds[0]);
});

it('totalWeight sums the weights of all tokens that have a prediction', () => {
  const weighted = { tokenIds: [1, 2, 3, 4], lossMask: [1, 1, 1, 0], lossWeights: [9, 1, 0.5, 7] };
  expect(totalWeight([weighted, row(4)])).toBe(3.5);
});

describe('supervisedGradients', () => {
  it('are the same in one pass and in several, within 1e-5', async () => {
    const { weights } = tinyModel();
    const options = { ...passes, totalWeight: totalWeight(ROWS) };
    const whole = await supervisedGradients(weights, ROWS, options);
    const onePass = await supervisedGradients(weights, ROWS, {
      ...options,
      maxTokensPerPass: 1000,
    });
    expect(onePass.loss).toBeCloseTo(whole.loss, 5);
    expect(Math.max(...differences(whole.gradients, onePass.gradients))).toBeLessThan(1e-5);
    const zeros = Object.fromEntries(Object.keys(weights).map((key) => [key, tf.scalar(0)]));
    expect(Math.min(...differences(whole.gradients, zeros))).toBeGreaterThan(1e-4);
  });

  it('refuses a batch in which no token has a loss', async () => {
    const quiet = [{ tokenIds: [1, 2], lossMask: [1, 0] }];
    const gradients = supervisedGradients(tinyModel().weights, quiet, {
      ...passes,
      totalWeight: 1,
    });
    await expect(gradients).rejects.toThrow(/trained token/);
  });
});
