import { sum } from 'd3-array';
import * as tf from '@tensorflow/tfjs-core';

//==== lib/policy/key-value-cache.ts
/**
 * The key-value cache of generation: blocks of keys and values, whose rows are packed
 * into new ones as rows come and go.
 *
 * Shape letters: B rows, L cached tokens, K key-value heads, D head width.
 */

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

//==== lib/policy/prefix-cache.ts
/**
 * What contexts of generation have in common: with each other, and with those of the call
 * before, which they extend.
 */

/** Token ids whose keys and values are cached, a list a context, and where those lie. */
export interface PrefixCache {
  contexts: number[][];
  blocks: CacheBlock[];
  /** Of each context, the pieces of blocks that hold it. */
  pieces: Piece[][];
}

/**
 * What is cached of contexts that each extend a cached one, in their order; null when
 * any extends none. The blocks stay those of the cache.
 */
export function extendedPrefix(
  cache: PrefixCache,
  contexts: readonly (readonly number[])[],
): PrefixCache | null {
  const count = cache.contexts.length;
  let next = 0;
  const matches = contexts.map((context) => {
    const isExtended = (cached: readonly number[]): boolean =>
      cached.length < context.length && cached.every((id, i) => context[i] === id);
    for (let tried = 0; tried < count; tried++) {
      const candidate = (next + tried) % count;
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

/** Of each item the index of the first that is equal. */
export function firstEqual(items: readonly (readonly number[])[]): number[] {
  const seen = new Map<string, number>();
  return items.map((item, i) => {
    const key = item.join();
    if (!seen.has(key)) seen.set(key, i);
    return seen.get(key)!;
  });
}

/** How many tokens all items begin with alike, short of the last of any. */
export function sharedLength(items: readonly (readonly number[])[]): number {
  const [first, ...others] = items;
  const most = Math.min(...items.map(({ length }) => length - 1));
  let length = 0;
  while (length < most && others.every((other) => other[length] === first[length])) length++;
  return length;
}
