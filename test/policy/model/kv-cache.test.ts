import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  disposeBlock,
  moveRows,
  packRows,
  type CacheBlock,
} from '../../../lib/policy/model/kv-cache.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { MASKED } from '../../../lib/tensor/ops.js';

const KV_HEADS = 2;
const HEAD_WIDTH = 3;
const NUM_LAYERS = 2;

/** A cached token: a number that determines its keys and values; null for padding. */
type Token = number | null;

/** A block of rows (B, L); padding holds numbers that must not be read. */
function blockOf(rows: readonly (readonly Token[])[]): CacheBlock {
  const [numRows, length] = [rows.length, rows[0].length];
  const tensor = (layer: number, side: number): tf.Tensor3D => {
    const values = rows.flatMap((row) =>
      range(KV_HEADS).flatMap((head) =>
        row.flatMap((token) =>
          range(HEAD_WIDTH).map((d) => valueOf(token ?? 0.5, { layer, side, head, d })),
        ),
      ),
    );
    return tf.tensor3d(values, [numRows * KV_HEADS, length, HEAD_WIDTH]);
  };
  const bias = rows.flatMap((row) => row.map((token) => (token === null ? MASKED : 0)));
  return {
    bias: tf.tensor2d(bias, [numRows, length]),
    layers: range(NUM_LAYERS).map((i) => ({ k: tensor(i, 0), v: tensor(i, 1) })),
  };
}

const valueOf = (token: number, { layer, side, head, d }: Record<string, number>): number =>
  1000 * token + 100 * layer + 10 * side + 3 * head + d;

/** The tokens of a block by row, after checking their keys and values. */
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

/** Runs on new blocks and expects all their tensors to be disposed of. */
function withoutLeak(run: () => void): void {
  const before = tf.memory().numTensors;
  run();
  expect(tf.memory().numTensors).toBe(before);
}

const token = fc.integer({ min: 1, max: 99 });
const exactly = <T>(count: number, item: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: count, maxLength: count });
const some = <T>(item: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: 1, maxLength });
const rowsOf = (numRows: number, length: number): fc.Arbitrary<Token[][]> =>
  exactly(numRows, exactly(length, token));
const upTo = (max: number) => fc.integer({ min: 1, max });
const block = fc.tuple(upTo(3), upTo(4)).chain((shape) => rowsOf(...shape));
/** Blocks of different shapes, and new rows made of pieces of them. */
const packing = some(block, 3).chain((blocks) => {
  const piece = fc
    .nat(blocks.length - 1)
    .chain((at) =>
      fc.record({
        block: fc.constant(at),
        row: fc.nat(blocks[at].length - 1),
        length: upTo(blocks[at][0].length),
      }),
    );
  return fc.tuple(fc.constant(blocks), some(some(piece, 3), 4));
});

await useBackend('wasm');

/** The tokens of pieces, padded to the longest row, with spare columns after it. */
function rowsAsPacked(
  old: readonly Token[][][],
  rows: readonly { block: number; row: number; length: number }[][],
  spare: number,
): Token[][] {
  const tokens = rows.map((pieces) =>
    pieces.flatMap(({ block, row, length }) => old[block][row].slice(0, length)),
  );
  const width = spare + Math.max(...tokens.map(({ length }) => length));
  return tokens.map((row) => [...row, ...Array<null>(width - row.length).fill(null)]);
}

describe('the key-value cache', () => {
  it('packs pieces of old rows into right-padded new ones and keeps the old', () => {
    fc.assert(
      fc.property(packing, fc.nat(3), ([old, rows], spare) =>
        withoutLeak(() => {
          const blocks = old.map(blockOf);
          const packed = packRows(blocks, rows, KV_HEADS, spare);
          expect(tokensOf(packed)).toEqual(rowsAsPacked(old, rows, spare));
          blocks.forEach((block, b) => expect(tokensOf(block)).toEqual(old[b]));
          [packed, ...blocks, null].forEach(disposeBlock);
        }),
      ),
      { numRuns: 60 },
    );
  });

  it('moves rows into several blocks with spare columns and frees the old ones', () => {
    fc.assert(
      fc.property(packing, fc.nat(3), ([old, rows], spare) =>
        withoutLeak(() => {
          const parts = [rows.slice(0, 1), rows];
          const groups = parts.map((part, i) => ({ rows: part, spareColumns: i * spare }));
          const moved = moveRows(old.map(blockOf), groups, KV_HEADS);
          expect(moved.map(tokensOf)).toEqual(
            parts.map((part, i) => rowsAsPacked(old, part, i * spare)),
          );
          moved.forEach(disposeBlock);
        }),
      ),
      { numRuns: 60 },
    );
  });
});
