/**
 * A Llama-type decoder: embedding, pre-normalised blocks of rotary grouped-query
 * attention and SwiGLU, a final norm. `forward` sees whole sequences and is
 * differentiable; `forwardCached` goes on from a key-value cache.
 *
 * Shape letters: B rows, T new tokens, N tokens that are computed, L cached tokens, C
 * width, H query heads, K key-value heads, G = H/K, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import {
  frozenProduct,
  gatherRows,
  product,
  rmsNorm,
  rotary,
  swiglu,
  writeColumns,
} from '../tensor/ops.js';
import {
  attendBlocks,
  attendCausally,
  biasPerHead,
  byHead,
  causalBlocks,
  isLong,
  joinHeads,
  type Batch,
  type QueryBlock,
} from './attention.js';
import type { CacheBlock, KeyValue } from './kv-cache.js';
import type { ModelConfig } from './families.js';
import type { PrefixTree } from './prefix-tree.js';
import type { Weights } from './weights.js';

/**
 * Cosines and sines of every position (positions, D), and the constant "rotate half"
 * matrix (D, D).
 */
export interface RotaryTable {
  cos: tf.Tensor2D;
  sin: tf.Tensor2D;
  rotation: tf.Tensor2D;
}

/**
 * Angle (radians) by which each position turns the pairs of a head, as transformers'
 * `ROPE_INIT_FUNCTIONS` have it: (D/2).
 */
export function rotaryFrequencies({ headDim, rope: { theta, scaling } }: ModelConfig): number[] {
  const frequencies = Array.from({ length: headDim / 2 }, (_, i) => theta ** (-i / (headDim / 2)));
  if (scaling.type === 'none') return frequencies;
  if (scaling.type === 'linear') return frequencies.map((frequency) => frequency / scaling.factor);
  const { factor, lowFreqFactor: low, highFreqFactor: high, originalLength } = scaling;
  return frequencies.map((frequency) => {
    const turns = (originalLength * frequency) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return (frequency / factor) * (1 - kept) + frequency * kept;
  });
}

/** The caller disposes of the three tensors. */
export function rotaryTable(c: ModelConfig, numPositions: number): RotaryTable {
  const half = c.headDim / 2;
  const frequencies = rotaryFrequencies(c);
  const angles = new Float32Array(numPositions * c.headDim);
  for (let p = 0; p < numPositions; p++) {
    for (let i = 0; i < c.headDim; i++) angles[p * c.headDim + i] = p * frequencies[i % half];
  }
  const rotation = new Float32Array(c.headDim * c.headDim);
  for (let i = 0; i < half; i++) {
    rotation[(i + half) * c.headDim + i] = -1;
    rotation[i * c.headDim + i + half] = 1;
  }
  return tf.tidy(() => {
    const table = tf.tensor2d(angles, [numPositions, c.headDim]);
    return {
      cos: tf.cos(table),
      sin: tf.sin(table),
      rotation: tf.tensor2d(rotation, [c.headDim, c.headDim]),
    };
  });
}

/** What weights and their adapters make of inputs, kept by the weight's name. */
export interface ProductStore {
  /** The product (N, O), as computed or as kept from before. */
  outputOf: (key: string, compute: () => tf.Tensor2D) => tf.Tensor2D;
}

/**
 * x (N, I) times the weight of this name, plus x A B where there is an adapter A (I, R)
 * and B (R, O) beside it, plus its bias where there is one.
 * @param store of products; the weight itself is not trained then
 */
function project(x: tf.Tensor2D, w: Weights, key: string, store?: ProductStore): tf.Tensor2D {
  const [weight, a, b, bias] = [key, `${key}.A`, `${key}.B`, `${key}Bias`].map(
    (name) => w[name] as tf.Tensor2D | undefined,
  );
  const update = a && { a, b: b! };
  const multiply = (): tf.Tensor2D => product(x, weight!, update);
  const y = store
    ? frozenProduct(x, weight!, update, () => store.outputOf(key, multiply))
    : multiply();
  return bias ? tf.add(y, bias) : y;
}

/**
 * Rows (N*(H+K), D), the query heads of each token before its key heads, normalised with
 * the gains of queries and of keys.
 */
function normedHeads(rows: tf.Tensor2D, w: Weights, i: number, c: ModelConfig): tf.Tensor2D {
  const gains = tf.concat([
    tf.tile(w[`${i}.qNorm`], [c.numHeads]),
    tf.tile(w[`${i}.kNorm`], [c.numKeyValueHeads]),
  ]);
  const normed = rmsNorm(rows, tf.ones([c.headDim]), c.rmsNormEps);
  return tf.reshape(tf.mul(tf.reshape(normed, [-1, gains.size]), gains), rows.shape);
}

/**
 * Queries and keys (N, (H+K)*D), turned by their positions, and values (N, K*D) of a
 * normalised input (N, C).
 */
function queryKeyValue(
  x: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  rope: RotaryRows,
  store?: ProductStore,
): [tf.Tensor2D, tf.Tensor2D] {
  const { numHeads: heads, numKeyValueHeads: kvHeads, headDim } = c;
  const qkv = project(x, w, `${i}.qkv`, store);
  const [toRotate, v] = tf.split<tf.Tensor2D>(
    qkv,
    [(heads + kvHeads) * headDim, kvHeads * headDim],
    1,
  );
  const perHead = tf.reshape<tf.Rank.R2>(toRotate, [-1, headDim]);
  const flat = c.qkNorm ? normedHeads(perHead, w, i, c) : perHead;
  const rotated = rotary(flat, rope.cos, rope.sin, rope.rotation);
  return [tf.reshape(rotated, toRotate.shape), v];
}

/** Rotary rows of each token and head to rotate: (N*(H+K), D). */
interface RotaryRows {
  cos: tf.Tensor2D;
  sin: tf.Tensor2D;
  rotation: tf.Tensor2D;
}

/** @param positions (N) position of each token */
function rotaryRows(table: RotaryTable, positions: tf.Tensor1D, c: ModelConfig): RotaryRows {
  const heads = c.numHeads + c.numKeyValueHeads;
  const rowsOf = (t: tf.Tensor2D): tf.Tensor2D =>
    tf.reshape(tf.tile(tf.gather(t, positions), [1, heads]), [-1, c.headDim]);
  return { cos: rowsOf(table.cos), sin: rowsOf(table.sin), rotation: table.rotation };
}

/** The half of a block after attention: output product, residual, SwiGLU, residual. */
function afterAttention(
  x: tf.Tensor2D,
  attended: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  store?: ProductStore,
): tf.Tensor2D {
  const y = tf.add<tf.Tensor2D>(x, project(attended, w, `${i}.o`, store));
  const normed = rmsNorm(y, w[`${i}.postNorm`] as tf.Tensor1D, c.rmsNormEps);
  const hidden = swiglu(project(normed, w, `${i}.gateUp`, store));
  return tf.add(y, project(hidden, w, `${i}.down`, store));
}

/** What every layer needs of the tokens that it computes. */
export interface LayerContext {
  /** The padded rows in which attention sees them. */
  batch: Batch;
  rope: RotaryRows;
  blocks: QueryBlock[];
  /** (B*T) the token in each cell of the rows, and (N) a cell of each token. */
  cells: tf.Tensor1D;
  firsts: tf.Tensor1D;
}

/**
 * A causal mask alone keeps padding, which is at the end of a row, out of every real
 * token's sight.
 */
export function layerContext(tree: PrefixTree, c: ModelConfig, table: RotaryTable): LayerContext {
  const [rows, tokens] = tree.shape;
  const [places, cells, firsts] = [tree.places, tree.cells, tree.firsts].map((indices) =>
    tf.tensor1d(indices, 'int32'),
  );
  return {
    batch: { rows, tokens },
    rope: rotaryRows(table, places, c),
    blocks: causalBlocks(tokens, c),
    cells,
    firsts,
  };
}

/** Embeddings (N, C) of token ids (N). */
export const embedTokens = (w: Weights, ids: readonly number[]): tf.Tensor2D =>
  gatherRows(w.embed as tf.Tensor2D, tf.tensor1d([...ids], 'int32'));

/**
 * One layer, (N, C) -> (N, C). Differentiable in x and the weights, but for those of
 * which a store keeps products.
 */
export function runLayer(
  x: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  { batch, rope, blocks, cells, firsts }: LayerContext,
  store?: ProductStore,
): tf.Tensor2D {
  const normed = rmsNorm(x, w[`${i}.inputNorm`] as tf.Tensor1D, c.rmsNormEps);
  const [rotated, values] = queryKeyValue(normed, w, i, c, rope, store);
  const heads = byHead([gatherRows(rotated, cells), gatherRows(values, cells)], batch, c);
  const attended = attendCausally(heads, blocks, c);
  return afterAttention(x, gatherRows(joinHeads(attended, batch, c), firsts), w, i, c, store);
}

export const finalNorm = (x: tf.Tensor2D, w: Weights, c: ModelConfig): tf.Tensor2D =>
  rmsNorm(x, w.norm as tf.Tensor1D, c.rmsNormEps);

/**
 * The layers from the first on of which outputs are kept, because nothing in them
 * changes.
 */
export interface FrozenLayerCache {
  count: number;
  /**
   * Hidden states (N, C) that come out of them, as computed or as kept from before; the
   * caller disposes of the result.
   */
  outputOf: (tree: PrefixTree, compute: () => tf.Tensor2D) => tf.Tensor2D;
}

/** What goes into the first layer that is not among the lower ones: (N, C). */
export function layerInput(
  w: Weights,
  tree: PrefixTree,
  c: ModelConfig,
  context: LayerContext,
  lower?: FrozenLayerCache,
): tf.Tensor2D {
  if (!lower) return embedTokens(w, tree.ids);
  return lower.outputOf(tree, () =>
    runLayers(embedTokens(w, tree.ids), w, [0, lower.count], c, context),
  );
}

/** Several layers, (N, C) -> (N, C), from the first of them to before the last. */
function runLayers(
  x: tf.Tensor2D,
  w: Weights,
  [from, to]: [number, number],
  c: ModelConfig,
  context: LayerContext,
): tf.Tensor2D {
  // What a layer computes on its way is given back before the next one begins, unless a
  // gradient needs it.
  for (let i = from; i < to; i++) x = tf.tidy(() => runLayer(x, w, i, c, context));
  return x;
}

/**
 * Final hidden states (N, C) of the tokens of rows. Differentiable in the weights, but
 * for those of the lower layers. The caller disposes of the result.
 */
export function forward(
  w: Weights,
  tree: PrefixTree,
  c: ModelConfig,
  table: RotaryTable,
  lower?: FrozenLayerCache,
): tf.Tensor2D {
  const context = layerContext(tree, c, table);
  const x = layerInput(w, tree, c, context, lower);
  return finalNorm(runLayers(x, w, [lower?.count ?? 0, c.numLayers], c, context), w, c);
}

/** Logits (M, V) of hidden states (M, C). */
export const logitsOf = (w: Weights, hidden: tf.Tensor2D, c: ModelConfig): tf.Tensor2D =>
  tf.matMul(hidden, c.tieWordEmbeddings ? w.embed : w.head, false, c.tieWordEmbeddings);

/** Gradient of logits (M, V) to that of hidden states (M, C). */
export const logitsBackward = (w: Weights, dLogits: tf.Tensor2D, c: ModelConfig): tf.Tensor2D =>
  tf.matMul(dLogits, c.tieWordEmbeddings ? w.embed : w.head, false, !c.tieWordEmbeddings);

/**
 * The tied embedding as (C, V), transposed once for many tokens on wasm, which
 * multiplies few rows 10 times slower with a transposed operand; null where the embedding
 * serves as it is. The caller disposes of it.
 */
export const transposedHead = (w: Weights, c: ModelConfig): tf.Tensor2D | null =>
  c.tieWordEmbeddings && tf.getBackend() === 'wasm' ? tf.transpose(w.embed as tf.Tensor2D) : null;

export interface CachedInput {
  /** (B, T) token ids, right-padded. */
  ids: tf.Tensor2D;
  /** (B, T) positions, int32. */
  positions: tf.Tensor2D;
  /** (B, T): 0 for a real token, very negative for padding. */
  bias: tf.Tensor2D;
}

/**
 * What is cached of the tokens before. `past`: a block that all new tokens see. `tail`:
 * one that follows it, for a single new token, which is put at its end in a copy. `room`:
 * a block with all that comes before a single new token, which is written into it at its
 * position.
 */
export type CachedTokens =
  { past: CacheBlock | null; tail: CacheBlock | null } | { room: CacheBlock };

/**
 * What is cached of some rows, (B, L, D) or, head by head, (B*K, L, D), with a new token
 * (., 1, D) of each.
 */
type WithToken = (cached: tf.Tensor3D, token: tf.Tensor3D) => tf.Tensor3D;

const atTheEnd: WithToken = (cached, token) => tf.concat([cached, token], 1);

/** @param positions (B, 1) of the tokens */
function atPositions(positions: tf.Tensor2D, c: ModelConfig): WithToken {
  const ofRows = tf.reshape<tf.Rank.R1>(positions, [-1]);
  const ofHeads = tf.reshape<tf.Rank.R1>(tf.tile(positions, [1, c.numKeyValueHeads]), [-1]);
  return (cached, token) =>
    writeColumns(cached, token, cached.shape[0] === ofRows.size ? ofRows : ofHeads);
}

/**
 * Final hidden states (N, C) of new tokens that follow cached ones, and a cache block
 * with the new tokens: they alone, or after what was in `tail` or `room`. Not
 * differentiated. The caller disposes of both results; what was cached stays.
 */
export function forwardCached(
  w: Weights,
  input: CachedInput,
  cached: CachedTokens,
  c: ModelConfig,
  table: RotaryTable,
): { hidden: tf.Tensor2D; block: CacheBlock } {
  const [rows, tokens] = input.ids.shape;
  const { past, own } =
    'room' in cached ? { past: null, own: cached.room } : { past: cached.past, own: cached.tail };
  if (own && tokens > 1)
    throw new RangeError(`Expected one token to follow others, but got ${tokens}.`);
  const batch = { rows, tokens };
  return tf.tidy(() => {
    const rope = rotaryRows(table, tf.reshape(input.positions, [-1]), c);
    const withToken = 'room' in cached ? atPositions(input.positions, c) : atTheEnd;
    const ownBias = own
      ? tf.squeeze<tf.Tensor2D>(
          withToken(tf.expandDims(own.bias, 2), tf.expandDims(input.bias, 2)),
          [2],
        )
      : input.bias.clone();
    const numPast = past?.bias.shape[1] ?? 0;
    const causal = tokens > 1 && isLong(numPast + tokens) ? causalBlocks(tokens, c, numPast) : null;
    const seen = past && { bias: past.bias, perHead: biasPerHead(past.bias, c) };
    const toSee = { bias: ownBias, perHead: biasPerHead(ownBias, c, causal ? 1 : tokens) };
    const layers: KeyValue[] = [];
    let x = tf.gather(w.embed as tf.Tensor2D, tf.reshape(input.ids, [-1]));
    for (let i = 0; i < c.numLayers; i++) {
      // What a layer computes on its way is given back before the next one begins.
      const layer = tf.tidy(() => {
        const normed = rmsNorm(x, w[`${i}.inputNorm`] as tf.Tensor1D, c.rmsNormEps);
        const { q, k, v } = byHead(queryKeyValue(normed, w, i, c, rope), batch, c);
        const kv = own
          ? { k: withToken(own.layers[i].k, k), v: withToken(own.layers[i].v, v) }
          : { k, v };
        const before = past && seen ? { ...past.layers[i], ...seen } : undefined;
        const attended = causal
          ? attendCausally({ q, ...kv }, causal, c, before)
          : attendBlocks(q, [...(before ? [before] : []), { ...kv, ...toSee }], c);
        return { ...kv, x: afterAttention(x, joinHeads(attended, batch, c), w, i, c) };
      });
      layers.push({ k: layer.k, v: layer.v });
      x = layer.x;
    }
    const hidden = finalNorm(x, w, c);
    return { hidden, block: { layers, bias: ownBias } };
  });
}
