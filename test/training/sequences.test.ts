import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { prefixTree } from '../../lib/policy/model/prefix-tree.js';
import { forward, computeLogits, rotaryTable } from '../../lib/policy/model/transformer.js';
import type { Weights } from '../../lib/policy/model/weights.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  encodePieces,
  packSequences,
  splitIntoPasses,
  sequenceLogProbs,
  totalWeight,
  type PassOptions,
  type Sequence,
} from '../../lib/training/sequences.js';
import { CONFIG, TOKENIZER, tinyModel } from './tiny.js';

const ROWS: Sequence[] = [
  { tokenIds: [5, 9, 31], lossMask: [1, 0, 1] },
  { tokenIds: [8, 250, 3, 77, 40], lossMask: [0, 1, 0, 1, 0], lossWeights: [0.5, 1, 3, 2, 1] },
  // Starts like the previous one.
  { tokenIds: [8, 250, 3, 12], lossMask: [0, 1, 0, 1] },
];

let weights: Weights;
let passes: PassOptions;
beforeAll(async () => {
  await useBackend('wasm');
  ({ weights } = tinyModel());
  const table = rotaryTable(CONFIG, CONFIG.maxPositionEmbeddings);
  passes = { config: CONFIG, table, maxTokensPerPass: 1000 };
});

describe('packSequences', () => {
  it('points at the token before each trained token', () => {
    const { tree, ...others } = packSequences(ROWS);
    expect(tree.ids).toEqual([5, 9, 31, 8, 250, 3, 77, 40, 12]);
    expect(others).toEqual({
      // The first token of a row has no prediction, whatever its mask.
      positions: [1, 3, 5, 3, 5],
      targets: [31, 250, 77, 250, 12],
      // Weights only count where the mask is 1.
      lossWeights: [1, 1, 2, 1, 1],
      rows: [0, 1, 1, 2, 2],
    });
  });

  it('never trains padding, even if a real token has the padding id', () => {
    const { targets, rows } = packSequences([
      { tokenIds: [4, 0, 0], lossMask: [0, 1, 1] },
      { tokenIds: [4], lossMask: [1] },
    ]);
    expect([targets, rows]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('splitIntoPasses', () => {
  it('drops everything after the last trained token', () => {
    const [{ batch }] = splitIntoPasses(
      [{ tokenIds: [5, 9, 31, 7, 7, 7], lossMask: [0, 0, 1, 0, 0, 0] }],
      100,
    );
    expect(batch.tree.ids).toEqual([5, 9, 31]);
    expect(splitIntoPasses([{ tokenIds: [5, 9], lossMask: [0, 0] }], 100)).toEqual([]);
  });

  it('groups rows with common prefixes, up to the maximum number of padded tokens', () => {
    const rows = [
      [1, 2, 3],
      [7, 7],
      [1, 2, 4, 4],
      [7, 8, 9, 9, 9],
      [1, 2, 3, 5],
    ];
    const passes = splitIntoPasses(
      rows.map((tokenIds) => ({ tokenIds, lossMask: tokenIds.map(() => 1) })),
      12,
    );
    expect(passes.map(({ indices }) => indices)).toEqual([
      [0, 4, 2],
      [1, 3],
    ]);
    expect(passes[0].batch.tree.ids).toEqual([1, 2, 3, 5, 4, 4]);
  });
});

describe('sequenceLogProbs', () => {
  it.each([
    [1, 1],
    [6, 1],
    [1000, 2],
  ])(
    'equals each row run alone within 1e-5, in passes of %d at temperature %d',
    async (maxTokensPerPass, temperature) => {
      const before = tf.memory().numTensors;
      const scored = await sequenceLogProbs(weights, ROWS, {
        ...passes,
        maxTokensPerPass,
        temperature,
      });
      expect(tf.memory().numTensors).toBe(before);
      for (const [row, { tokenIds, lossMask }] of ROWS.entries()) {
        const logProbs = tf.tidy(() => {
          const tree = prefixTree([tokenIds]);
          const logits = computeLogits(
            weights,
            forward(weights, tree, CONFIG, passes.table),
            CONFIG,
          );
          return tf.logSoftmax(tf.div<tf.Tensor2D>(logits, temperature)).arraySync();
        });
        const places = tokenIds.map((_, t) => t).filter((t) => t > 0 && lossMask[t] > 0);
        expect(scored[row]).toEqual(
          places.map((t) => expect.closeTo(logProbs[t - 1][tokenIds[t]], 5) as number),
        );
      }
    },
  );

  it('gives empty lists for a row without trained tokens, and for no rows', async () => {
    const quiet = { tokenIds: [1, 2, 3], lossMask: [0, 0, 0] };
    expect(await sequenceLogProbs(weights, [quiet], passes)).toEqual([[]]);
    expect(await sequenceLogProbs(weights, [], passes)).toEqual([]);
    const [, mixed] = await sequenceLogProbs(weights, [quiet, ROWS[0]], passes);
    expect(mixed).toHaveLength(1);
  });
});

it('encodePieces tokenises each piece separately and gives its tokens its weight', () => {
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

it('encodePieces treats a piece as a token only if marked', () => {
  const eos = { text: '<eos>', weight: 1 };
  expect(encodePieces([{ ...eos, isToken: true }], TOKENIZER).tokenIds).toEqual(CONFIG.eosTokenIds);
  expect(encodePieces([eos], TOKENIZER).tokenIds).not.toContain(CONFIG.eosTokenIds[0]);
});

it('totalWeight sums the weights of all tokens with a prediction', () => {
  const weighted = { tokenIds: [1, 2, 3, 4], lossMask: [1, 1, 1, 0], lossWeights: [9, 1, 0.5, 7] };
  const plain = { tokenIds: [1, 2, 3, 4], lossMask: [0, 1, 1, 0] };
  expect(totalWeight([weighted, plain])).toBe(3.5);
});
