/**
 * The key-value cache of generation: blocks of keys and values that are joined, packed and spread as rows come and go.
 *
 * Shape letters: B rows, L cached tokens, K key-value heads, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';

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

/** Two blocks one after the other; disposes of both. */
export function joinBlocks(first: CacheBlock | null, second: CacheBlock): CacheBlock {
  if (!first) return second;
  const joined = {
    bias: tf.concat([first.bias, second.bias], 1),
    layers: first.layers.map(({ k, v }, i) => ({
      k: tf.concat([k, second.layers[i].k], 1),
      v: tf.concat([v, second.layers[i].v], 1),
    })),
  };
  disposeBlock(first);
  disposeBlock(second);
  return joined;
}

/** A row index for every head: row r of K heads is rows r*K.. of keys and values. */
const headRows = (rows: readonly number[], kvHeads: number): number[] =>
  rows.flatMap((r) => Array.from({ length: kvHeads }, (_, h) => r * kvHeads + h));

/** The given rows of blocks that follow each other, as one new block; the old ones stay. */
export function copyBlockRows(
  blocks: readonly CacheBlock[],
  rows: readonly number[],
  kvHeads: number,
): CacheBlock {
  return tf.tidy(() => {
    const rowIndex = tf.tensor1d(rows as number[], 'int32');
    const headIndex = tf.tensor1d(headRows(rows, kvHeads), 'int32');
    const join = (parts: tf.Tensor[], index: tf.Tensor1D): tf.Tensor =>
      tf.concat(
        parts.map((part) => tf.gather(part, index)),
        1,
      );
    return {
      bias: join(
        blocks.map(({ bias }) => bias),
        rowIndex,
      ) as tf.Tensor2D,
      layers: blocks[0].layers.map((_, i) => ({
        k: join(
          blocks.map(({ layers }) => layers[i].k),
          headIndex,
        ) as tf.Tensor3D,
        v: join(
          blocks.map(({ layers }) => layers[i].v),
          headIndex,
        ) as tf.Tensor3D,
      })),
    };
  });
}

/** Which cached row a new one takes, and which of its columns. */
export interface RowColumns {
  row: number;
  columns: readonly number[];
}

/** Chosen columns of chosen rows side by side, as a new block with padding only at the ends; the old one stays. */
export function packBlockRows(block: CacheBlock, chosen: readonly RowColumns[], kvHeads: number): CacheBlock {
  const length = Math.max(...chosen.map(({ columns }) => columns.length));
  const oldLength = block.bias.shape[1];
  const indices = new Int32Array(chosen.length * kvHeads * length);
  const bias = new Float32Array(chosen.length * length).fill(MASKED);
  chosen.forEach(({ row, columns }, i) => {
    bias.fill(0, i * length, i * length + columns.length);
    for (let head = 0; head < kvHeads; head++) {
      const from = (row * kvHeads + head) * oldLength;
      const to = (i * kvHeads + head) * length;
      columns.forEach((column, t) => (indices[to + t] = from + column));
    }
  });
  return tf.tidy(() => {
    const index = tf.tensor1d(indices, 'int32');
    const pack = (x: tf.Tensor3D): tf.Tensor3D => {
      const headDim = x.shape[2];
      const picked = tf.gather(tf.reshape(x, [-1, headDim]), index);
      return tf.reshape(picked, [chosen.length * kvHeads, length, headDim]);
    };
    return {
      bias: tf.tensor2d(bias, [chosen.length, length]),
      layers: block.layers.map(({ k, v }) => ({ k: pack(k), v: pack(v) })),
    };
  });
}

/** A block of some rows spread over `numRows` rows, the others padding; disposes of the old one. */
export function expandBlockRows(
  block: CacheBlock,
  rows: readonly number[],
  numRows: number,
  kvHeads: number,
): CacheBlock {
  if (rows.length === numRows) return block;
  // One more row at the end stands for all that are missing.
  const places = Array.from({ length: numRows }, (_, r) =>
    rows.includes(r) ? rows.indexOf(r) : rows.length,
  );
  const expanded = tf.tidy(() => {
    const headIndex = tf.tensor1d(headRows(places, kvHeads), 'int32');
    const spread = (x: tf.Tensor3D): tf.Tensor3D =>
      tf.gather(tf.concat([x, tf.zeros<tf.Rank.R3>([kvHeads, x.shape[1], x.shape[2]])], 0), headIndex);
    const missing = tf.fill<tf.Rank.R2>([1, block.bias.shape[1]], MASKED);
    return {
      bias: tf.gather(tf.concat([block.bias, missing], 0), tf.tensor1d(places, 'int32')),
      layers: block.layers.map(({ k, v }) => ({ k: spread(k), v: spread(v) })),
    };
  });
  disposeBlock(block);
  return expanded;
}
