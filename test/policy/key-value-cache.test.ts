import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  copyBlockRows,
  disposeBlock,
  expandBlockRows,
  joinBlocks,
  MASKED,
  packBlockRows,
  type CacheBlock,
} from '../../lib/policy/key-value-cache.js';
import { useBackend } from '../../lib/tensor/backend.js';

const KV_HEADS = 2;
const HEAD_WIDTH = 3;
const NUM_LAYERS = 2;

/** A cached token: a number that all its keys and values are made of, or null for padding. */
type Token = number | null;

/** The block of some rows (B, L); padding holds numbers too, which nobody may read. */
function blockOf(rows: readonly (readonly Token[])[]): CacheBlock {
  const [numRows, length] = [rows.length, rows[0].length];
  const tensor = (layer: number, side: number): tf.Tensor3D => {
    const values = rows.flatMap((row) =>
      Array.from({ length: KV_HEADS }, (_, head) =>
        row.flatMap((token) =>
          Array.from({ length: HEAD_WIDTH }, (_, d) => valueOf(token ?? 0.5, { layer, side, head, d })),
        ),
      ).flat(),
    );
    return tf.tensor3d(values, [numRows * KV_HEADS, length, HEAD_WIDTH]);
  };
  const bias = rows.flatMap((row) => row.map((token) => (token === null ? MASKED : 0)));
  return {
    bias: tf.tensor2d(bias, [numRows, length]),
    layers: Array.from({ length: NUM_LAYERS }, (_, i) => ({ k: tensor(i, 0), v: tensor(i, 1) })),
  };
}

const valueOf = (token: number, { layer, side, head, d }: Record<string, number>): number =>
  1000 * token + 100 * layer + 10 * side + 3 * head + d;

/** The tokens of a block, row by row, once every key and value of each has been found to be its own. */
function tokensOf({ bias, layers }: CacheBlock): Token[][] {
  const biases = bias.arraySync();
  return biases.map((row, r) =>
    row.map((value, at) => {
      if (value !== 0) {
        expect(value).toBeCloseTo(MASKED, -3);
        return null;
      }
      const token = Math.floor((layers[0].k.arraySync()[r * KV_HEADS][at][0] + 0.5) / 1000);
      layers.forEach(({ k, v }, layer) =>
        [k, v].forEach((tensor, side) => {
          const heads = tensor.arraySync().slice(r * KV_HEADS, (r + 1) * KV_HEADS);
          heads.forEach((head, h) =>
            head[at].forEach((x, d) => expect(x).toBe(valueOf(token, { layer, side, head: h, d }))),
          );
        }),
      );
      return token;
    }),
  );
}

/** Runs on new blocks and expects all their tensors to be given back. */
function withoutLeak(run: () => void): void {
  const before = tf.memory().numTensors;
  run();
  expect(tf.memory().numTensors).toBe(before);
}

const token = fc.option(fc.integer({ min: 1, max: 99 }), { nil: null });
const rowsOf = (numRows: number, length: number): fc.Arbitrary<Token[][]> =>
  fc.array(fc.array(token, { minLength: length, maxLength: length }), {
    minLength: numRows,
    maxLength: numRows,
  });
const block = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }))
  .chain(([numRows, length]) => rowsOf(numRows, length));
const RUNS = { numRuns: 25 };

beforeAll(() => useBackend('wasm'));

describe('the key-value cache', () => {
  it('joins blocks column by column and takes both over', () => {
    const pair = fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }))
      .chain(([numRows, a, b]) => fc.tuple(rowsOf(numRows, a), rowsOf(numRows, b)));
    fc.assert(
      fc.property(pair, ([first, second]) =>
        withoutLeak(() => {
          const joined = joinBlocks(blockOf(first), blockOf(second));
          expect(tokensOf(joined)).toEqual(first.map((row, r) => [...row, ...second[r]]));
          disposeBlock(joined);
        }),
      ),
      RUNS,
    );
    withoutLeak(() => {
      const only = blockOf([[1, 2]]);
      expect(joinBlocks(null, only)).toBe(only);
      disposeBlock(only);
      disposeBlock(null);
    });
  });

  it('copies rows of blocks that follow each other, in any order, and leaves the old ones', () => {
    const chosen = block.chain((rows) =>
      fc.tuple(fc.constant(rows), fc.array(fc.nat(rows.length - 1), { minLength: 1, maxLength: 5 })),
    );
    fc.assert(
      fc.property(chosen, ([rows, places]) =>
        withoutLeak(() => {
          const blocks = [blockOf(rows), blockOf(rows.map(() => [7]))];
          const copy = copyBlockRows(blocks, places, KV_HEADS);
          expect(tokensOf(copy)).toEqual(places.map((place) => [...rows[place], 7]));
          expect(tokensOf(blocks[0])).toEqual(rows);
          [copy, ...blocks].forEach(disposeBlock);
        }),
      ),
      RUNS,
    );
  });

  it('packs the tokens of rows to the left, with padding at the ends only', () => {
    fc.assert(
      fc.property(block, (rows) => {
        fc.pre(rows.some((row) => row.some((some) => some !== null)));
        withoutLeak(() => {
          const old = blockOf(rows);
          const chosen = rows
            .map((row, r) => ({
              row: r,
              columns: row.flatMap((some, column) => (some === null ? [] : [column])),
            }))
            .reverse();
          const packed = packBlockRows(old, chosen, KV_HEADS);
          const length = Math.max(...chosen.map(({ columns }) => columns.length));
          const expected = chosen.map(({ row, columns }): Token[] => [
            ...columns.map((column) => rows[row][column]),
            ...Array<null>(length - columns.length).fill(null),
          ]);
          expect(tokensOf(packed)).toEqual(expected);
          [packed, old].forEach(disposeBlock);
        });
      }),
      RUNS,
    );
  });

  it('spreads some rows over all, the others padding, and takes the old block over', () => {
    const spread = block.chain((rows) =>
      fc.tuple(
        fc.constant(rows),
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: rows.length, maxLength: rows.length }),
      ),
    );
    fc.assert(
      fc.property(spread, ([rows, places]) =>
        withoutLeak(() => {
          const expanded = expandBlockRows(blockOf(rows), places, 6, KV_HEADS);
          const expected = Array.from({ length: 6 }, (_, r) =>
            places.includes(r) ? rows[places.indexOf(r)] : rows[0].map(() => null),
          );
          expect(tokensOf(expanded)).toEqual(expected);
          disposeBlock(expanded);
        }),
      ),
      RUNS,
    );
  });
});
