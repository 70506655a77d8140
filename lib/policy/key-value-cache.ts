/**
 * The key-value cache of generation: blocks of keys and values, whose rows are packed into new ones as rows come and go.
 *
 * Shape letters: B rows, L cached tokens, K key-value heads, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';

/** Bias of a token that nothing may look at. */
export const MASKED = -1e9;

/** Keys and values of one layer, (B*K, L, D) each. */
export type KeyValue = {
  k: tf.Tensor3D;
  v: tf.Tensor3D;
};

/**
 * Keys and values in two parts, because tensors are immutable: a long `past` that is copied once a turn, and a short
 * `tail` that grows by a token a step. `bias` (B, L) is 0 for a real token and very negative for padding.
 */
export type CacheBlock = {
  layers: KeyValue[];
  bias: tf.Tensor2D;
};

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

/** New rows, each of pieces of old ones side by side, as one block with padding only at the ends; the old blocks stay. */
export function packRows(
  blocks: readonly CacheBlock[],
  rows: readonly (readonly Piece[])[],
  kvHeads: number,
): CacheBlock {
  const lengths = rows.map((pieces) => sum(pieces, ({ length }) => length));
  const length = Math.max(...lengths);
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
  return tf.tidy(() => {
    const index = tf.tensor1d(indices, 'int32');
    const pack = (parts: tf.Tensor3D[]): tf.Tensor3D =>
      tf.tidy(() => {
        const headDim = parts[0].shape[2];
        const flat = tf.concat(parts.map((part) => tf.reshape<tf.Rank.R2>(part, [-1, headDim])));
        return tf.reshape(tf.gather(flat, index), [rows.length * kvHeads, length, headDim]);
      });
    return {
      bias: tf.tensor2d(bias, [rows.length, length]),
      layers: blocks[0].layers.map((_, i) => ({
        k: pack(blocks.map(({ layers }) => layers[i].k)),
        v: pack(blocks.map(({ layers }) => layers[i].v)),
      })),
    };
  });
}
