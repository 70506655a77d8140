/**
 * The key-value cache of generation: blocks of keys and values, whose rows are packed
 * into new ones as rows come and go.
 *
 * Shape letters: B rows, L cached tokens, K key-value heads, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';

/** Bias of a token that nothing may look at. */
export const MASKED = -1e9;

/** Keys and values of one layer, (B*K, L, D) each. */
export type KeyValue = { k: tf.Tensor3D; v: tf.Tensor3D };

/**
 * Keys and values of rows, with padding only at their ends. `bias` (B, L) is 0 for a real
 * token and very negative for padding.
 */
export type CacheBlock = { layers: KeyValue[]; bias: tf.Tensor2D };

export function disposeBlock(block: CacheBlock | null): void {
  block?.bias.dispose();
  for (const { k, v } of block?.layers ?? []) tf.dispose([k, v]);
}

/** The first `length` columns of a row of one of several blocks. */
export interface Piece {
  block: number;
  row: number;
  length: number;
}

/**
 * Where each column of new rows comes from, among all columns of the old blocks (R), and
 * the bias of the new rows (B, L).
 */
interface Packing {
  index: tf.Tensor1D;
  bias: tf.Tensor2D;
}

function packing(
  blocks: readonly CacheBlock[],
  rows: readonly (readonly Piece[])[],
  kvHeads: number,
  room: number,
): Packing {
  const lengths = rows.map((pieces) => sum(pieces, ({ length }) => length));
  const length = Math.max(...lengths) + room;
  const shapes = blocks.map(({ bias }) => bias.shape);
  const starts = shapes.map((_, b) =>
    sum(shapes.slice(0, b), ([numRows, width]) => numRows * kvHeads * width),
  );
  const indices = new Int32Array(rows.length * kvHeads * length);
  const bias = new Float32Array(rows.length * length).fill(MASKED);
  rows.forEach((pieces, i) => {
    bias.fill(0, i * length, i * length + lengths[i]);
    for (let head = 0; head < kvHeads; head++) {
      let to = (i * kvHeads + head) * length;
      for (const { block, row, length: numColumns } of pieces) {
        const from = starts[block] + (row * kvHeads + head) * shapes[block][1];
        for (let t = 0; t < numColumns; t++) indices[to++] = from + t;
      }
    }
  });
  return { index: tf.tensor1d(indices, 'int32'), bias: tf.tensor2d(bias, [rows.length, length]) };
}

/** Keys or values (B*K, L, D) of new rows, of those of the old blocks. */
const packed = (
  parts: readonly tf.Tensor3D[],
  { index, bias }: Packing,
  kvHeads: number,
): tf.Tensor3D =>
  tf.tidy(() => {
    const [rows, length] = bias.shape;
    const headDim = parts[0].shape[2];
    const flat = tf.concat(parts.map((part) => tf.reshape<tf.Rank.R2>(part, [-1, headDim])));
    return tf.reshape(tf.gather(flat, index), [rows * kvHeads, length, headDim]);
  });

/**
 * New rows, each of pieces of old ones side by side, as one block; the old blocks stay.
 * @param room columns for tokens to come
 */
export function packRows(
  blocks: readonly CacheBlock[],
  rows: readonly (readonly Piece[])[],
  kvHeads: number,
  room = 0,
): CacheBlock {
  const plan = packing(blocks, rows, kvHeads, room);
  const pack = (side: 'k' | 'v', layer: number): tf.Tensor3D =>
    packed(
      blocks.map(({ layers }) => layers[layer][side]),
      plan,
      kvHeads,
    );
  const layers = blocks[0].layers.map((_, i) => ({ k: pack('k', i), v: pack('v', i) }));
  plan.index.dispose();
  return { layers, bias: plan.bias };
}

/**
 * Several blocks of new rows; the old blocks are given back layer by layer, so that
 * nothing is twice in memory.
 */
export function moveRows(
  blocks: readonly CacheBlock[],
  groups: readonly { rows: readonly (readonly Piece[])[]; room: number }[],
  kvHeads: number,
): CacheBlock[] {
  const plans = groups.map(({ rows, room }) => packing(blocks, rows, kvHeads, room));
  const layers = blocks[0].layers.map((_, i) => {
    const [keys, values] = (['k', 'v'] as const).map((side) => {
      const parts = blocks.map((block) => block.layers[i][side]);
      const moved = plans.map((plan) => packed(parts, plan, kvHeads));
      tf.dispose(parts);
      return moved;
    });
    return plans.map((_, group) => ({ k: keys[group], v: values[group] }));
  });
  tf.dispose([blocks.map(({ bias }) => bias), plans.map(({ index }) => index)]);
  return plans.map(({ bias }, group) => ({ bias, layers: layers.map((of) => of[group]) }));
}
