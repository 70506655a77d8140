/**
 * Grouped-query attention: of tokens over those before them in their rows, which is
 * differentiable, and over what is cached besides.
 *
 * Shape letters: B rows, T new tokens, L cached tokens, H query heads, K key-value heads,
 * G = H/K, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { attendCached } from '../tensor/ops.js';
import { MASKED, type KeyValue } from './kv-cache.js';
import type { ModelConfig } from './families.js';

export interface Batch {
  rows: number;
  tokens: number;
}

/**
 * Queries (B*K, G*T, D), not scaled, with the keys and values (B*K, T, D) of the same
 * tokens.
 */
type QueryKeyValue = KeyValue & { q: tf.Tensor3D };

/**
 * Keys and values (B*K, L, D) that lie in the cache, and the bias of their columns: (B,
 * L), and that which is added to scores.
 */
export type CachedKeys = KeyValue & { bias: tf.Tensor2D; perHead: tf.Tensor3D };

/** (B*T, heads*D) -> (B*heads, T, D) */
function splitHeads(
  x: tf.Tensor2D,
  { rows, tokens }: Batch,
  heads: number,
  headDim: number,
): tf.Tensor3D {
  // A single token needs no transpose: the heads lie in order already.
  if (tokens === 1) return tf.reshape(x, [rows * heads, 1, headDim]);
  const byHead = tf.transpose(tf.reshape(x, [rows, tokens, heads, headDim]), [0, 2, 1, 3]);
  return tf.reshape(byHead, [rows * heads, tokens, headDim]);
}

/**
 * Head by head, the queries and keys (B*T, (H+K)*D) and the values (B*T, K*D) of the
 * tokens of a batch, row by row.
 */
export function byHead(
  [rotated, values]: [tf.Tensor2D, tf.Tensor2D],
  batch: Batch,
  c: ModelConfig,
): QueryKeyValue {
  const { numHeads: heads, numKeyValueHeads: kvHeads, headDim } = c;
  const [q, k] = tf.split<tf.Tensor2D>(rotated, [heads * headDim, kvHeads * headDim], 1);
  const queries = splitHeads(q, batch, heads, headDim);
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
  const byHead = tf.reshape(x, [rows, c.numHeads, tokens, c.headDim]);
  return tf.reshape(tf.transpose(byHead, [0, 2, 1, 3]), [rows * tokens, c.numHeads * c.headDim]);
}

const scaledQueries = (q: tf.Tensor3D, { headDim }: ModelConfig): tf.Tensor3D =>
  tf.mul(q, 1 / Math.sqrt(headDim));

/**
 * Queries of the places from `start` to `end` of each row of new tokens, which look at
 * what is cached and at the tokens before `end`.
 */
export interface QueryBlock {
  start: number;
  end: number;
  /**
   * (G*(end-start), L+end): 0 where a query may look, a large negative number where it
   * may not.
   */
  bias: tf.Tensor2D;
}

/** The bias of a {@link QueryBlock} whose queries follow some cached tokens. */
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

/**
 * Keys of a row up to which its queries are taken at once; of longer rows as many at a
 * time.
 */
const [SHORT_ROW, QUERIES_AT_ONCE] = [512, 128];

/**
 * Whether queries are taken in several blocks. On a GPU they are not: there an
 * operation's start costs more.
 */
export const isLong = (numKeys: number): boolean =>
  numKeys > SHORT_ROW && tf.getBackend() !== 'webgpu';

/**
 * The queries of rows of new tokens that follow cached ones. Those of long rows come in
 * several blocks, so that few scores are computed of keys that come later, and a block's
 * scores fit into a processor's cache.
 */
export function causalBlocks(tokens: number, c: ModelConfig, cached = 0): QueryBlock[] {
  const size = isLong(cached + tokens) ? QUERIES_AT_ONCE : tokens;
  return range(0, tokens, size).map((start) => {
    const end = Math.min(tokens, start + size);
    return { start, end, bias: causalBias({ start, end }, c, cached) };
  });
}

/** A tensor's columns along an axis, and no copy of it where they are all. */
function part<T extends tf.Tensor>(x: T, axis: number, start: number, size: number): T {
  if (size === x.shape[axis]) return x;
  const begin = x.shape.map((_, i) => (i === axis ? start : 0));
  return tf.slice(
    x,
    begin,
    x.shape.map((length, i) => (i === axis ? size : length)),
  );
}

/**
 * Attention (B*K, G*T, D) of each new token over what is cached, itself and the tokens
 * before it. Differentiable. That padding is at the end of a row keeps it out of every
 * real token's sight.
 * @param cached what all of them see
 */
export function attendCausally(
  { q, k, v }: QueryKeyValue,
  blocks: readonly QueryBlock[],
  c: ModelConfig,
  cached?: CachedKeys,
): tf.Tensor3D {
  const [rows, tokens, width] = k.shape;
  const groups = c.numHeads / c.numKeyValueHeads;
  const queries = tf.reshape<tf.Rank.R4>(scaledQueries(q, c), [rows, groups, tokens, width]);
  const keys = cached ? tf.concat<tf.Tensor3D>([cached.k, k], 1) : k;
  const values = cached ? tf.concat<tf.Tensor3D>([cached.v, v], 1) : v;
  const padding =
    cached && tf.concat<tf.Tensor3D>([cached.perHead, tf.zeros([rows, 1, tokens])], 2);
  const parts = blocks.map(({ start, end, bias }) =>
    tf.tidy(() => {
      const [size, length] = [end - start, bias.shape[1]];
      const some = part(queries, 2, start, size);
      const flat = tf.reshape<tf.Rank.R3>(some, [rows, groups * size, width]);
      const scores = tf.add<tf.Tensor3D>(
        tf.matMul(flat, part(keys, 1, 0, length), false, true),
        bias,
      );
      const seen = padding ? tf.add<tf.Tensor3D>(scores, part(padding, 2, 0, length)) : scores;
      const attended = tf.matMul(tf.softmax(seen), part(values, 1, 0, length));
      return tf.reshape<tf.Rank.R4>(attended, [rows, groups, size, width]);
    }),
  );
  return tf.reshape(parts.length === 1 ? parts[0] : tf.concat(parts, 2), q.shape);
}

/**
 * Bias of (B, L) key columns for each head, to be added to scores: (B*K, 1, L), and
 * (B*K, G*T, L) for queries of several new tokens, of which each sees those before it.
 * @param tokens T, where the keys are those of new tokens
 */
export function biasPerHead(bias: tf.Tensor2D, c: ModelConfig, tokens = 1): tf.Tensor3D {
  const [rows, length] = bias.shape;
  const tiled = tf.tile(tf.reshape(bias, [rows, 1, length]), [1, c.numKeyValueHeads, 1]);
  const perHead = tf.reshape<tf.Rank.R3>(tiled, [rows * c.numKeyValueHeads, 1, length]);
  return tokens === 1 ? perHead : tf.add(causalBias({ start: 0, end: tokens }, c), perHead);
}

/**
 * Attention (B*K, G*T, D) of new tokens over one or two blocks of keys, with one softmax
 * over all of them. Not differentiated.
 */
export function attendBlocks(
  q: tf.Tensor3D,
  blocks: readonly CachedKeys[],
  c: ModelConfig,
): tf.Tensor3D {
  const options = { kvHeads: c.numKeyValueHeads, scale: 1 / Math.sqrt(c.headDim) };
  const isToken = blocks.length === 1 && q.shape[1] === c.numHeads / c.numKeyValueHeads;
  const whole = isToken ? attendCached(q, blocks[0], options) : null;
  if (whole) return whole;
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
