/**
 * The key-value cache of generation: blocks whose rows are packed into new blocks as rows
 * come and go, and the prefixes that contexts share with each other and with the last
 * call.
 * Shape letters: B rows, L cached tokens, K key-value heads, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { runAsGraph } from '../../tensor/graph.js';
import { MASKED } from '../../tensor/ops.js';

/** Keys and values of one layer, (B*K, L, D) each. */
export type KeyValue = { k: tf.Tensor3D; v: tf.Tensor3D };

/** Right-padded rows: `bias` (B, L) is 0 for a token, {@link MASKED} for padding. */
export type CacheBlock = { layers: KeyValue[]; bias: tf.Tensor2D };

export function disposeBlock(block: CacheBlock | null): void {
  block?.bias.dispose();
  for (const { k, v } of block?.layers ?? []) tf.dispose([k, v]);
}

/**
 * The first `length` columns of a row of one of several blocks. New rows are made of
 * pieces: the prompt of a group is stored once, and each of its rows starts with it.
 *
 *     block 0        block 1          packed, spareColumns = 2
 *     row 0  PPPP    row 0  aa..      PPPPaa....
 *                    row 1  bbbb      PPPPbbbb..
 *
 *     rows = [[{ block: 0, row: 0, length: 4 }, { block: 1, row: 0, length: 2 }],
 *             [{ block: 0, row: 0, length: 4 }, { block: 1, row: 1, length: 4 }]]
 */
export interface CachePiece {
  block: number;
  row: number;
  length: number;
}

/** For each new column, its column among those of all old blocks; the new bias (B, L). */
interface Packing {
  index: tf.Tensor1D;
  bias: tf.Tensor2D;
}

function planPacking(
  blocks: readonly CacheBlock[],
  rows: readonly (readonly CachePiece[])[],
  kvHeads: number,
  spareColumns: number,
): Packing {
  const lengths = rows.map((pieces) => sum(pieces, ({ length }) => length));
  const length = Math.max(...lengths) + spareColumns;
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

/** Packs keys or values (B*K, L, D) of the new rows from those of the old blocks. */
const pack = (
  parts: readonly tf.Tensor3D[],
  { index, bias }: Packing,
  kvHeads: number,
): tf.Tensor3D =>
  tf.tidy(() => {
    const [rows, length] = bias.shape;
    const headDim = parts[0].shape[2];
    const columns = tf.concat(parts.map((part) => tf.reshape<tf.Rank.R2>(part, [-1, headDim])));
    return tf.reshape(tf.gather(columns, index), [rows * kvHeads, length, headDim]);
  });

/**
 * Packs a block whose rows consist of pieces of older rows. The caller disposes of it;
 * the old blocks stay.
 */
export function packRows(
  blocks: readonly CacheBlock[],
  rows: readonly (readonly CachePiece[])[],
  kvHeads: number,
  spareColumns = 0,
): CacheBlock {
  const plan = planPacking(blocks, rows, kvHeads, spareColumns);
  const packSide = (side: 'k' | 'v', layer: number): tf.Tensor3D => {
    const parts = blocks.map(({ layers }) => layers[layer][side]);
    return pack(parts, plan, kvHeads);
  };
  const layers = runAsGraph(() =>
    blocks[0].layers.map((_, i) => ({ k: packSide('k', i), v: packSide('v', i) })),
  );
  plan.index.dispose();
  return { layers, bias: plan.bias };
}

/**
 * Packs several blocks of new rows. Disposes of the old blocks layer by layer, so that
 * memory never holds both; the caller disposes of the new ones.
 */
export function moveRows(
  blocks: readonly CacheBlock[],
  groups: readonly { rows: readonly (readonly CachePiece[])[]; spareColumns: number }[],
  kvHeads: number,
): CacheBlock[] {
  const plans = groups.map(({ rows, spareColumns }) =>
    planPacking(blocks, rows, kvHeads, spareColumns),
  );
  const layers = blocks[0].layers.map((_, i) => {
    const [keys, values] = (['k', 'v'] as const).map((side) => {
      const parts = blocks.map((block) => block.layers[i][side]);
      const moved = plans.map((plan) => pack(parts, plan, kvHeads));
      tf.dispose(parts);
      return moved;
    });
    return plans.map((_, group) => ({ k: keys[group], v: values[group] }));
  });
  tf.dispose([blocks.map(({ bias }) => bias), plans.map(({ index }) => index)]);
  return plans.map(({ bias }, group) => ({ bias, layers: layers.map((moved) => moved[group]) }));
}

export interface PrefixCache {
  contexts: number[][];
  blocks: CacheBlock[];
  pieces: CachePiece[][];
}

/** The cached prefix of each context, with its blocks; null unless all have one. */
export function extendedPrefix(
  cache: PrefixCache,
  contexts: readonly (readonly number[])[],
): PrefixCache | null {
  const count = cache.contexts.length;
  let next = 0;
  const matches = contexts.map((context) => {
    const isExtended = (cached: readonly number[]): boolean =>
      cached.length < context.length && cached.every((id, i) => context[i] === id);
    for (let offset = 0; offset < count; offset++) {
      const candidate = (next + offset) % count;
      if (isExtended(cache.contexts[candidate])) {
        next = candidate + 1;
        return candidate;
      }
    }
    return -1;
  });
  if (matches.includes(-1)) return null;
  return {
    contexts: matches.map((match) => cache.contexts[match]),
    blocks: cache.blocks,
    pieces: matches.map((match) => cache.pieces[match]),
  };
}

/** For each list, the index of the first one equal to it. */
export function firstEqual(lists: readonly (readonly number[])[]): number[] {
  const firsts = new Map<string, number>();
  return lists.map((list, i) => {
    const key = list.join();
    if (!firsts.has(key)) firsts.set(key, i);
    return firsts.get(key)!;
  });
}

/** Length of the longest common prefix of all lists, at least one short of each. */
export function sharedLength(lists: readonly (readonly number[])[]): number {
  const [first, ...others] = lists;
  const most = Math.min(...lists.map(({ length }) => length - 1));
  let length = 0;
  while (length < most && others.every((other) => other[length] === first[length])) length++;
  return length;
}
