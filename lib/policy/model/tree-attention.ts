/**
 * Differentiable grouped-query attention for training passes, whose rows share prefixes;
 * generation uses `cached-attention.ts`. A token's query is computed for the first of the
 * rows that share it. Queries are computed in blocks, each with the
 * keys up to its end and only the rows that have queries there: this skips most of the
 * masked scores, and a block of a long row fits into the processor's cache.
 *
 * Shape letters: N tokens of the tree, R rows of a block, Q its queries per row, L its
 * keys per row, H query heads, K key-value heads, G = H/K, D head width. The caller
 * disposes of every result (or `tf.tidy` does).
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { attend, gatherRows, MASKED } from '../../tensor/ops.js';
import { BLOCK_SIZE, SHORT_ROW } from './cached-attention.js';
import type { ModelConfig } from './families.js';
import type { PrefixTree } from './prefix-tree.js';

interface TreeBlock {
  rows: number;
  size: number;
  length: number;
  /** The queries' tokens, counted through all heads. (K*R*Q) */
  queries: tf.Tensor1D;
  /** The keys' tokens, counted likewise. (K*R*L) */
  keys: tf.Tensor1D;
  /** (Q*G, L): 0 where a query may attend, else {@link MASKED}. */
  bias: tf.Tensor2D;
}

export interface TreeAttention {
  blocks: TreeBlock[];
  /** Where each token is among the blocks' queries. (K*N) */
  places: tf.Tensor1D;
}

/** Blocks of a short row; more would skip more scores, but each costs operations. */
const FEW_BLOCKS = 3;
/** Passes with fewer scores are not worth splitting. */
const FEW_SCORES = 2 ** 16;

function blockSize([rows, tokens]: PrefixTree['shape']): number {
  // On a GPU, the number of operations costs most.
  if (tf.getBackend() === 'webgpu' || rows * tokens ** 2 < FEW_SCORES) return tokens;
  return tokens > SHORT_ROW ? BLOCK_SIZE : Math.ceil(tokens / FEW_BLOCKS);
}

function treeBias(start: number, end: number, groups: number): tf.Tensor2D {
  const bias = new Float32Array((end - start) * groups * end);
  for (let t = start; t < end; t++)
    for (let group = 0; group < groups; group++) {
      const row = ((t - start) * groups + group) * end;
      bias.fill(MASKED, row + t + 1, row + end);
    }
  return tf.tensor2d(bias, [(end - start) * groups, end]);
}

export function treeAttention(tree: PrefixTree, c: ModelConfig): TreeAttention {
  const { shape, ids, cells, firsts } = tree;
  const [, tokens] = shape;
  const heads = range(c.numKeyValueHeads);
  const perHead = (some: readonly number[]): tf.Tensor1D =>
    tf.tensor1d(
      heads.flatMap((head) => some.map((token) => head * ids.length + token)),
      'int32',
    );
  const places = new Array<number>(heads.length * ids.length);
  let numQueries = 0;
  const size = blockSize(shape);
  const blocks = range(0, tokens, size).map((start): TreeBlock => {
    const end = Math.min(tokens, start + size);
    const own = firsts.flatMap((cell, token) => {
      const [row, t] = [Math.floor(cell / tokens), cell % tokens];
      return start <= t && t < end ? [{ token, row, t }] : [];
    });
    const rows = [...new Set(own.map(({ row }) => row))];
    for (const head of heads)
      for (const { token, row, t } of own) {
        const place = (head * rows.length + rows.indexOf(row)) * (end - start) + t - start;
        places[head * ids.length + token] = numQueries + place;
      }
    numQueries += heads.length * rows.length * (end - start);
    const tokensFrom = (from: number): number[] =>
      rows.flatMap((row) => cells.slice(row * tokens + from, row * tokens + end));
    return {
      rows: rows.length,
      size: end - start,
      length: end,
      queries: perHead(tokensFrom(start)),
      keys: perHead(tokensFrom(0)),
      bias: treeBias(start, end, c.numHeads / heads.length),
    };
  });
  return { blocks, places: tf.tensor1d(places, 'int32') };
}

/** Queries (N, H*D), keys and values (N, K*D) -> (N, H*D) */
export function attendTree(
  [q, k, v]: readonly [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D],
  { blocks, places }: TreeAttention,
  { numKeyValueHeads: heads, headDim }: ModelConfig,
): tf.Tensor2D {
  const [numTokens, width] = q.shape;
  /** (N, K*W) -> (K*N, W) */
  const headByHead = (x: tf.Tensor2D): tf.Tensor2D => {
    const split = tf.reshape(x, [numTokens, heads, -1]);
    return tf.reshape(tf.transpose(split, [1, 0, 2]), [heads * numTokens, -1]);
  };
  const queries = headByHead(tf.mul(q, 1 / Math.sqrt(headDim))); // (K*N, G*D)
  const [keys, values] = [k, v].map(headByHead); // (K*N, D)
  const attended = blocks.map(({ rows, bias, ...block }) =>
    tf.tidy(() => {
      const byRow = (x: tf.Tensor2D, indices: tf.Tensor1D): tf.Tensor3D =>
        tf.reshape(gatherRows(x, indices), [heads * rows, -1, headDim]);
      const [bk, bv] = [keys, values].map((x) => byRow(x, block.keys)); // (K*R, L, D)
      const y = attend(byRow(queries, block.queries), bk, bv, bias); // (K*R, Q*G, D)
      return tf.reshape<tf.Rank.R2>(y, [heads * rows * block.size, -1]);
    }),
  );
  const joined = gatherRows(tf.concat(attended), places); // (K*N, G*D)
  const byToken = tf.transpose(tf.reshape(joined, [heads, numTokens, -1]), [1, 0, 2]);
  return tf.reshape(byToken, [numTokens, width]);
}
