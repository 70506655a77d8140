/**
 * Grouped-query attention for generation: over new tokens, cached tokens, or both. Not
 * differentiable; passes of training use `tree-attention.ts`.
 * Shape letters: B rows, T new tokens, L cached tokens, H query heads, K key-value heads,
 * G = H/K, D head width. The caller disposes of every result (or `tf.tidy` does).
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { attendCached, MASKED } from '../../tensor/ops.js';
import type { ModelConfig } from './families.js';
import type { KeyValue } from './kv-cache.js';

interface Batch {
  rows: number;
  tokens: number;
}

/** Unscaled queries (B*K, G*T, D), with keys and values (B*K, T, D). */
type QueryKeyValue = KeyValue & { q: tf.Tensor3D };

/** Cached keys and values (B*K, L, D), and the bias by column (B, L) and for scores. */
export type CachedKeys = KeyValue & { bias: tf.Tensor2D; perHead: tf.Tensor3D };

/** (B*T, heads*D) -> (B*heads, T, D) */
function splitHeads(
  x: tf.Tensor2D,
  { rows, tokens }: Batch,
  heads: number,
  headDim: number,
): tf.Tensor3D {
  // A single token needs no transpose.
  if (tokens === 1) return tf.reshape(x, [rows * heads, 1, headDim]);
  const split = tf.transpose(tf.reshape(x, [rows, tokens, heads, headDim]), [0, 2, 1, 3]); // (B, heads, T, D)
  return tf.reshape(split, [rows * heads, tokens, headDim]);
}

/** Rotated queries and keys (B*T, (H+K)*D) and values (B*T, K*D), split into heads. */
export function byHead(
  [rotated, values]: [tf.Tensor2D, tf.Tensor2D],
  batch: Batch,
  c: ModelConfig,
): QueryKeyValue {
  const { numHeads: heads, numKeyValueHeads: kvHeads, headDim } = c;
  const [q, k] = tf.split<tf.Tensor2D>(rotated, [heads * headDim, kvHeads * headDim], 1);
  const queries = splitHeads(q, batch, heads, headDim); // (B*H, T, D)
  const groups = heads / kvHeads;
  return {
    q: tf.reshape<tf.Rank.R3>(queries, [batch.rows * kvHeads, groups * batch.tokens, headDim]),
    k: splitHeads(k, batch, kvHeads, headDim),
    v: splitHeads(values, batch, kvHeads, headDim),
  };
}

/** (B*K, G*T, D) -> (B*T, H*D) */
export function joinHeads(x: tf.Tensor3D, { rows, tokens }: Batch, c: ModelConfig): tf.Tensor2D {
  if (tokens === 1) return tf.reshape(x, [rows, c.numHeads * c.headDim]);
  const heads = tf.reshape(x, [rows, c.numHeads, tokens, c.headDim]); // (B, H, T, D)
  return tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [rows * tokens, c.numHeads * c.headDim]);
}

const scaledQueries = (q: tf.Tensor3D, { headDim }: ModelConfig): tf.Tensor3D =>
  tf.mul(q, 1 / Math.sqrt(headDim));

/** New tokens from `start` to `end` of each row, whose queries are computed together. */
interface QueryBlock {
  start: number;
  end: number;
  /** (G*(end-start), L+end): 0 where a query may attend, else {@link MASKED}. */
  bias: tf.Tensor2D;
}

/** The bias of a {@link QueryBlock} after some cached tokens. */
function causalBias(
  { start, end }: { start: number; end: number },
  c: ModelConfig,
  cached = 0,
): tf.Tensor2D {
  const [size, length] = [end - start, cached + end];
  const bias = new Float32Array(size * length);
  for (let i = 0; i < size; i++)
    bias.fill(MASKED, i * length + cached + start + i + 1, (i + 1) * length);
  return tf.tile(tf.tensor2d(bias, [size, length]), [c.numHeads / c.numKeyValueHeads, 1]);
}

/** Rows of up to this many keys are short: their queries need no blocks of fixed size. */
export const SHORT_ROW = 512;
/** Number of queries in a block of a longer row. */
export const BLOCK_SIZE = 128;

/** Whether to split queries into blocks. Not on a GPU, where each operation costs. */
export const isLong = (numKeys: number): boolean =>
  numKeys > SHORT_ROW && tf.getBackend() !== 'webgpu';

/**
 * Splits the queries of new tokens into blocks. Blocks skip most scores of later keys,
 * and a block's scores fit into the processor's cache.
 */
export function causalBlocks(tokens: number, c: ModelConfig, cached = 0): QueryBlock[] {
  const size = isLong(cached + tokens) ? BLOCK_SIZE : tokens;
  return range(0, tokens, size).map((start) => {
    const end = Math.min(tokens, start + size);
    return { start, end, bias: causalBias({ start, end }, c, cached) };
  });
}

function sliceAxis<T extends tf.Tensor>(x: T, axis: number, start: number, size: number): T {
  if (size === x.shape[axis]) return x;
  const begin = x.shape.map((_, i) => (i === axis ? start : 0));
  return tf.slice(
    x,
    begin,
    x.shape.map((length, i) => (i === axis ? size : length)),
  );
}

/**
 * Attention (B*K, G*T, D) of each new token over the cached tokens, itself and the new
 * tokens before it. Padding at the end of a row needs no mask: no real token attends to
 * it.
 */
export function attendCausally(
  { q, k, v }: QueryKeyValue,
  blocks: readonly QueryBlock[],
  c: ModelConfig,
  cached?: CachedKeys,
): tf.Tensor3D {
  const [rows, tokens, width] = k.shape; // (B*K, T, D)
  const groups = c.numHeads / c.numKeyValueHeads;
  const queries = tf.reshape<tf.Rank.R4>(scaledQueries(q, c), [rows, groups, tokens, width]);
  const keys = cached ? tf.concat<tf.Tensor3D>([cached.k, k], 1) : k; // (B*K, L+T, D)
  const values = cached ? tf.concat<tf.Tensor3D>([cached.v, v], 1) : v;
  const padding =
    cached && tf.concat<tf.Tensor3D>([cached.perHead, tf.zeros([rows, 1, tokens])], 2); // (B*K, 1, L+T)
  const attended = blocks.map(({ start, end, bias }) =>
    tf.tidy(() => {
      const [size, length] = [end - start, bias.shape[1]];
      const block = sliceAxis(queries, 2, start, size); // (B*K, G, size, D)
      const flat = tf.reshape<tf.Rank.R3>(block, [rows, groups * size, width]);
      const products = tf.matMul(flat, sliceAxis(keys, 1, 0, length), false, true);
      const causal = tf.add<tf.Tensor3D>(products, bias); // (B*K, G*size, length)
      const scores = padding ? tf.add(causal, sliceAxis(padding, 2, 0, length)) : causal;
      const y = tf.matMul(tf.softmax(scores as tf.Tensor3D), sliceAxis(values, 1, 0, length));
      return tf.reshape<tf.Rank.R4>(y, [rows, groups, size, width]);
    }),
  );
  return tf.reshape(attended.length === 1 ? attended[0] : tf.concat(attended, 2), q.shape);
}

/**
 * Expands a bias of key columns (B, L) to scores: (B*K, 1, L) or, for several new tokens
 * that attend to each other causally, (B*K, G*T, T).
 * @param tokens T, if the keys are those of the new tokens
 */
export function biasPerHead(bias: tf.Tensor2D, c: ModelConfig, tokens = 1): tf.Tensor3D {
  const [rows, length] = bias.shape;
  const tiled = tf.tile(tf.reshape(bias, [rows, 1, length]), [1, c.numKeyValueHeads, 1]);
  const perHead = tf.reshape<tf.Rank.R3>(tiled, [rows * c.numKeyValueHeads, 1, length]);
  return tokens === 1 ? perHead : tf.add(causalBias({ start: 0, end: tokens }, c), perHead);
}

/** Attention (B*K, G*T, D) over one or two blocks of keys, with one softmax over both. */
export function attendBlocks(
  q: tf.Tensor3D,
  blocks: readonly CachedKeys[],
  c: ModelConfig,
): tf.Tensor3D {
  const options = { kvHeads: c.numKeyValueHeads, scale: 1 / Math.sqrt(c.headDim) };
  const isOneToken = q.shape[1] === c.numHeads / c.numKeyValueHeads;
  const fused = blocks.length === 1 && isOneToken ? attendCached(q, blocks[0], options) : null;
  if (fused) return fused;
  return tf.tidy(() => {
    const scaled = scaledQueries(q, c);
    const scores = blocks.map(({ k, perHead }) =>
      tf.add<tf.Tensor3D>(tf.matMul(scaled, k, false, true), perHead),
    );
    if (blocks.length === 1) return tf.matMul(tf.softmax(scores[0]), blocks[0].v);
    const weights = tf.softmax(tf.concat(scores, 2));
    const lengths = blocks.map(({ k }) => k.shape[1]);
    const parts = tf.split<tf.Tensor3D>(weights, lengths, 2);
    return parts
      .map((part, i) => tf.matMul(part, blocks[i].v))
      .reduce((a, b) => tf.add(a, b)) as tf.Tensor3D;
  });
}
