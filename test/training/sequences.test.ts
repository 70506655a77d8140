import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { forward, logitsOf, rotaryTable, type RotaryTable } from '../../lib/policy/transformer.js';
import type { Weights } from '../../lib/policy/weights.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  groupByLength,
  packSequences,
  scoreSequences,
  sequenceLogProbs,
  type Sequence,
} from '../../lib/training/sequences.js';
import { CONFIG, tinyModel } from './tiny.js';

const ROWS: Sequence[] = [
  { tokenIds: [5, 9, 31], lossMask: [1, 0, 1] },
  { tokenIds: [8, 250, 3, 77, 40], lossMask: [0, 1, 0, 1, 0], lossWeights: [0.5, 1, 3, 2, 1] },
];

let weights: Weights;
let table: RotaryTable;
beforeAll(async () => {
  await useBackend('wasm');
  ({ weights } = tinyModel());
  table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
});

describe('packSequences', () => {
  it('pads to the longest and points at the token before each one with a loss', () => {
    expect(packSequences(ROWS)).toEqual({
      ids: [
        [5, 9, 31, 0, 0],
        [8, 250, 3, 77, 40],
      ],
      // The first token of a row has no prediction, whatever its mask says.
      positions: [1, 5, 7],
      targets: [31, 250, 77],
      // Weights count only where the mask is 1.
      lossWeights: [1, 1, 2],
      rows: [0, 1, 1],
    });
  });

  it('never gives padding a loss, not even where a real token has the padding id', () => {
    const batch = packSequences([
      { tokenIds: [4, 0, 0], lossMask: [0, 1, 1] },
      { tokenIds: [4], lossMask: [1] },
    ]);
    expect(batch.targets).toEqual([0, 0]);
    expect(batch.rows).toEqual([0, 0]);
  });
});

describe('groupByLength', () => {
  it('puts each index into one group, and no group over the limit unless it is a single row', () => {
    const lengths = [9, 3, 30, 4, 3, 12, 9];
    const groups = groupByLength(lengths, 20);
    expect(groups.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
    for (const group of groups) {
      const padded = group.length * Math.max(...group.map((i) => lengths[i]));
      if (group.length > 1) expect(padded).toBeLessThanOrEqual(20);
    }
    expect(groups.at(-1)).toEqual([2]);
  });

  it('puts rows of like length together, in one order', () => {
    expect(groupByLength([5, 1, 5, 1], 10)).toEqual([
      [1, 3],
      [0, 2],
    ]);
    expect(groupByLength([], 10)).toEqual([]);
  });
});

describe('scoreSequences', () => {
  it('gives the log-probabilities and entropies of each row run alone, within 1e-5, however it is grouped', async () => {
    for (const maxTokens of [1, 6, 1000]) {
      const scored = await scoreSequences(weights, ROWS, CONFIG, { maxTokens, table });
      ROWS.forEach(({ tokenIds, lossMask }, row) => {
        const logits = tf.tidy(() =>
          logitsOf(
            weights,
            forward(weights, tf.tensor2d([...tokenIds], [1, tokenIds.length], 'int32'), CONFIG, table),
            CONFIG,
          ).arraySync(),
        );
        const places = tokenIds.map((_, t) => t).filter((t) => t > 0 && lossMask[t] > 0);
        expect(scored[row].logProbs).toHaveLength(places.length);
        places.forEach((t, m) => {
          const total = Math.log(logits[t - 1].reduce((sum, x) => sum + Math.exp(x), 0));
          const logProbs = logits[t - 1].map((x) => x - total);
          const entropy = -logProbs.reduce((sum, x) => sum + x * Math.exp(x), 0);
          expect(scored[row].logProbs[m]).toBeCloseTo(logProbs[tokenIds[t]], 5);
          expect(scored[row].entropies[m]).toBeCloseTo(entropy, 4);
        });
      });
    }
  });

  it('gives empty lists for a row without a loss, and for no rows', async () => {
    const quiet = { tokenIds: [1, 2, 3], lossMask: [0, 0, 0] };
    expect(await sequenceLogProbs(weights, [quiet], CONFIG)).toEqual([[]]);
    expect(await sequenceLogProbs(weights, [], CONFIG)).toEqual([]);
    const [, mixed] = await sequenceLogProbs(weights, [quiet, ROWS[0]], CONFIG);
    expect(mixed).toHaveLength(1);
  });

  it('leaves no tensors behind', async () => {
    const before = tf.memory().numTensors;
    await sequenceLogProbs(weights, ROWS, CONFIG);
    expect(tf.memory().numTensors).toBe(before);
  });
});
