/**
 * A Llama-type decoder: embedding, pre-normalised blocks of rotary grouped-query
 * attention and SwiGLU, final norm, output head. `forward` takes whole sequences and is
 * differentiable; `forwardCached` continues from a key-value cache.
 *
 * Shape letters: B rows, T new tokens, N tokens computed, L cached tokens, C width, H
 * query heads, K key-value heads, D head width, V vocabulary. The caller disposes of
 * every result (or `tf.tidy` does).
 */
import * as tf from '@tensorflow/tfjs-core';
import {
  frozenLinear,
  gatherRows,
  linear,
  rmsNorm,
  rotary,
  swiglu,
  writeColumns,
} from '../../tensor/ops.js';
import {
  attendBlocks,
  attendCausally,
  biasPerHead,
  byHead,
  causalBlocks,
  isLong,
  joinHeads,
} from './cached-attention.js';
import type { ModelConfig } from './families.js';
import type { CacheBlock, KeyValue } from './kv-cache.js';
import type { PrefixTree } from './prefix-tree.js';
import { attendTree, treeAttention, type TreeAttention } from './tree-attention.js';
import type { Weights } from './weights.js';

/** Cosines and sines (positions, D), and "rotate half" as a matrix (D, D). */
export interface RotaryTable {
  cos: tf.Tensor2D;
  sin: tf.Tensor2D;
  rotation: tf.Tensor2D;
}

/** Rotation per position (D/2) in radians, as transformers' `ROPE_INIT_FUNCTIONS`. */
function rotaryFrequencies({ headDim, rope: { theta, scaling } }: ModelConfig): number[] {
  const frequencies = Array.from({ length: headDim / 2 }, (_, i) => theta ** (-i / (headDim / 2)));
  if (scaling.rope_type === 'default') return frequencies;
  if (scaling.rope_type === 'linear') return frequencies.map((f) => f / scaling.factor);
  const { factor, low_freq_factor: low, high_freq_factor: high } = scaling;
  return frequencies.map((frequency) => {
    const turns = (scaling.original_max_position_embeddings * frequency) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return (frequency / factor) * (1 - kept) + frequency * kept;
  });
}

/** The caller disposes of the three tensors. */
export function rotaryTable(c: ModelConfig, numPositions: number): RotaryTable {
  const half = c.headDim / 2;
  const frequencies = rotaryFrequencies(c);
  const angles = new Float32Array(numPositions * c.headDim);
  for (let p = 0; p < numPositions; p++)
    for (let i = 0; i < c.headDim; i++) angles[p * c.headDim + i] = p * frequencies[i % half];
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

/** The table's rows for each token and head to rotate: cos and sin (N*(H+K), D). */
function rotaryRows(table: RotaryTable, positions: tf.Tensor1D, c: ModelConfig): RotaryTable {
  const heads = c.numHeads + c.numKeyValueHeads;
  const rows = (t: tf.Tensor2D): tf.Tensor2D =>
    tf.reshape(tf.tile(tf.gather(t, positions), [1, heads]), [-1, c.headDim]);
  return { cos: rows(table.cos), sin: rows(table.sin), rotation: table.rotation };
}

/** Keeps the outputs of frozen projections, by the weight's key. */
export interface ProjectionStore {
  /** The output (N, O), computed or kept from an earlier pass. */
  getOutput: (key: string, compute: () => tf.Tensor2D) => tf.Tensor2D;
}

/**
 * Projects x (N, I) to (N, O) with the weight `key`, plus x A B if there is an adapter A
 * (I, R), B (R, O), plus the bias if there is one.
 * @param store keeps the output; the weight then gets no gradient
 */
function project(x: tf.Tensor2D, w: Weights, key: string, store?: ProjectionStore): tf.Tensor2D {
  const [weight, a, b, bias] = [key, `${key}.A`, `${key}.B`, `${key}Bias`].map(
    (name) => w[name] as tf.Tensor2D | undefined,
  );
  const update = a && { a, b: b! };
  const multiply = (): tf.Tensor2D => linear(x, weight!, update);
  const y = store
    ? frozenLinear(x, weight!, update, () => store.getOutput(key, multiply))
    : multiply();
  return bias ? tf.add(y, bias) : y;
}

/** Normalises heads (N*(H+K), D); each token's query heads precede its key heads. */
function normHeads(heads: tf.Tensor2D, w: Weights, i: number, c: ModelConfig): tf.Tensor2D {
  const gains = tf.concat([
    tf.tile(w[`${i}.qNorm`], [c.numHeads]),
    tf.tile(w[`${i}.kNorm`], [c.numKeyValueHeads]),
  ]); // ((H+K)*D)
  const normed = rmsNorm(heads, tf.ones([c.headDim]), c.rmsNormEps);
  return tf.reshape(tf.mul(tf.reshape(normed, [-1, gains.size]), gains), heads.shape);
}

/** Normalised x (N, C) -> rotated queries and keys (N, (H+K)*D), and values (N, K*D). */
function queryKeyValue(
  x: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  rope: RotaryTable,
  store?: ProjectionStore,
): [tf.Tensor2D, tf.Tensor2D] {
  const { numHeads: heads, numKeyValueHeads: kvHeads, headDim } = c;
  const qkv = project(x, w, `${i}.qkv`, store); // (N, (H+2K)*D)
  const sizes = [(heads + kvHeads) * headDim, kvHeads * headDim];
  const [qk, v] = tf.split<tf.Tensor2D>(qkv, sizes, 1);
  const perHead = tf.reshape<tf.Rank.R2>(qk, [-1, headDim]); // (N*(H+K), D)
  const normed = c.qkNorm ? normHeads(perHead, w, i, c) : perHead;
  const rotated = rotary(normed, rope.cos, rope.sin, rope.rotation);
  return [tf.reshape(rotated, qk.shape), v];
}

/** The rest of a layer: output projection, residual, SwiGLU, residual. (N, C) */
function afterAttention(
  x: tf.Tensor2D,
  attended: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  store?: ProjectionStore,
): tf.Tensor2D {
  const y = tf.add<tf.Tensor2D>(x, project(attended, w, `${i}.o`, store));
  const normed = rmsNorm(y, w[`${i}.postNorm`] as tf.Tensor1D, c.rmsNormEps);
  const hidden = swiglu(project(normed, w, `${i}.gateUp`, store));
  return tf.add(y, project(hidden, w, `${i}.down`, store));
}

interface LayerContext {
  attention: TreeAttention;
  rope: RotaryTable;
}

export const layerContext = (
  tree: PrefixTree,
  c: ModelConfig,
  table: RotaryTable,
): LayerContext => ({
  attention: treeAttention(tree, c),
  rope: rotaryRows(table, tf.tensor1d(tree.places, 'int32'), c),
});

/** Token ids (N) -> (N, C) */
export const embedTokens = (w: Weights, ids: readonly number[]): tf.Tensor2D =>
  gatherRows(w.embed as tf.Tensor2D, tf.tensor1d([...ids], 'int32'));

/** Layer i: (N, C) -> (N, C). Weights whose outputs a store keeps get no gradient. */
export function runLayer(
  x: tf.Tensor2D,
  w: Weights,
  i: number,
  c: ModelConfig,
  { attention, rope }: LayerContext,
  store?: ProjectionStore,
): tf.Tensor2D {
  const normed = rmsNorm(x, w[`${i}.inputNorm`] as tf.Tensor1D, c.rmsNormEps);
  const [rotated, values] = queryKeyValue(normed, w, i, c, rope, store);
  const sizes = [c.numHeads * c.headDim, c.numKeyValueHeads * c.headDim];
  const [queries, keys] = tf.split<tf.Tensor2D>(rotated, sizes, 1);
  const attended = attendTree([queries, keys, values], attention, c);
  return afterAttention(x, attended, w, i, c, store);
}

/** Layers `from` to `to` - 1: (N, C) -> (N, C). */
function runLayers(
  x: tf.Tensor2D,
  w: Weights,
  [from, to]: [number, number],
  c: ModelConfig,
  context: LayerContext,
): tf.Tensor2D {
  // Frees intermediate results layer by layer, unless a gradient needs them.
  for (let i = from; i < to; i++) x = tf.tidy(() => runLayer(x, w, i, c, context));
  return x;
}

export const finalNorm = (x: tf.Tensor2D, w: Weights, c: ModelConfig): tf.Tensor2D =>
  rmsNorm(x, w.norm as tf.Tensor1D, c.rmsNormEps);

/** Keeps the output of the frozen layers, below the lowest trained one. */
export interface FrozenLayerStore {
  count: number;
  /** Their output (N, C), computed or kept from an earlier pass. */
  getOutput: (tree: PrefixTree, compute: () => tf.Tensor2D) => tf.Tensor2D;
}

/** The input of the first layer that is not frozen: (N, C). */
export function layerInput(
  w: Weights,
  tree: PrefixTree,
  c: ModelConfig,
  context: LayerContext,
  frozen?: FrozenLayerStore,
): tf.Tensor2D {
  if (!frozen) return embedTokens(w, tree.ids);
  return frozen.getOutput(tree, () =>
    runLayers(embedTokens(w, tree.ids), w, [0, frozen.count], c, context),
  );
}

/** Final hidden states (N, C). Differentiable in the weights of trained layers. */
export function forward(
  w: Weights,
  tree: PrefixTree,
  c: ModelConfig,
  table: RotaryTable,
  frozen?: FrozenLayerStore,
): tf.Tensor2D {
  const context = layerContext(tree, c, table);
  const x = layerInput(w, tree, c, context, frozen);
  return finalNorm(runLayers(x, w, [frozen?.count ?? 0, c.numLayers], c, context), w, c);
}

/** Hidden states (M, C) -> logits (M, V) */
export const computeLogits = (w: Weights, hidden: tf.Tensor2D, c: ModelConfig): tf.Tensor2D =>
  tf.matMul(hidden, c.tieWordEmbeddings ? w.embed : w.head, false, c.tieWordEmbeddings);

/** Gradient of logits (M, V) -> gradient of hidden states (M, C) */
export const logitsBackward = (w: Weights, dLogits: tf.Tensor2D, c: ModelConfig): tf.Tensor2D =>
  tf.matMul(dLogits, c.tieWordEmbeddings ? w.embed : w.head, false, !c.tieWordEmbeddings);

/**
 * The tied embedding as (C, V) on wasm, which multiplies few rows by a transposed matrix
 * 10 times slower; null if no copy is needed.
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
 * The cached tokens. `past`: a block that all new tokens attend to. `tail`: a block after
 * it, to which a single new token is appended in a copy. `preallocated`: one block for
 * everything, into which a single new token is written at its position.
 */
export type CachedTokens =
  | { past: CacheBlock | null; tail: CacheBlock | null }
  | { preallocated: CacheBlock };

/** Adds a token (., 1, D) to each cached row, (B, L, D) or, by head, (B*K, L, D). */
type AddToken = (cached: tf.Tensor3D, token: tf.Tensor3D) => tf.Tensor3D;

const append: AddToken = (cached, token) => tf.concat([cached, token], 1);

/** Writes tokens at their positions (B, 1). */
function writeAt(positions: tf.Tensor2D, c: ModelConfig): AddToken {
  const byRow = tf.reshape<tf.Rank.R1>(positions, [-1]); // (B)
  const byHead = tf.reshape<tf.Rank.R1>(tf.tile(positions, [1, c.numKeyValueHeads]), [-1]); // (B*K)
  return (cached, token) =>
    writeColumns(cached, token, cached.shape[0] === byRow.size ? byRow : byHead);
}

/**
 * Final hidden states (B*T, C) of new tokens after cached ones, and a block with the new
 * tokens: alone, or after those of `tail` or `preallocated`. Not differentiable. The
 * cached blocks stay.
 */
export function forwardCached(
  w: Weights,
  input: CachedInput,
  cached: CachedTokens,
  c: ModelConfig,
  table: RotaryTable,
): { hidden: tf.Tensor2D; block: CacheBlock } {
  const [rows, tokens] = input.ids.shape;
  const { past, grown } =
    'preallocated' in cached
      ? { past: null, grown: cached.preallocated }
      : { past: cached.past, grown: cached.tail };
  if (grown && tokens > 1) throw new RangeError(`Expected one token per row, but got ${tokens}.`);
  const batch = { rows, tokens };
  return tf.tidy(() => {
    const rope = rotaryRows(table, tf.reshape(input.positions, [-1]), c);
    const addToken = 'preallocated' in cached ? writeAt(input.positions, c) : append;
    const bias = grown
      ? tf.squeeze<tf.Tensor2D>(
          addToken(tf.expandDims(grown.bias, 2), tf.expandDims(input.bias, 2)),
          [2],
        )
      : input.bias.clone();
    const numPast = past?.bias.shape[1] ?? 0;
    const causal = tokens > 1 && isLong(numPast + tokens) ? causalBlocks(tokens, c, numPast) : null;
    const pastBias = past && { bias: past.bias, perHead: biasPerHead(past.bias, c) };
    const newBias = { bias, perHead: biasPerHead(bias, c, causal ? 1 : tokens) };
    const layers: KeyValue[] = [];
    let x = tf.gather(w.embed as tf.Tensor2D, tf.reshape(input.ids, [-1])); // (B*T, C)
    for (let i = 0; i < c.numLayers; i++) {
      // Frees a layer's intermediate results before the next.
      const layer = tf.tidy(() => {
        const normed = rmsNorm(x, w[`${i}.inputNorm`] as tf.Tensor1D, c.rmsNormEps);
        const { q, k, v } = byHead(queryKeyValue(normed, w, i, c, rope), batch, c);
        const kv = grown
          ? { k: addToken(grown.layers[i].k, k), v: addToken(grown.layers[i].v, v) }
          : { k, v };
        const before = past && pastBias ? { ...past.layers[i], ...pastBias } : undefined;
        const attended = causal
          ? attendCausally({ q, ...kv }, causal, c, before)
          : attendBlocks(q, [...(before ? [before] : []), { ...kv, ...newBias }], c);
        return { ...kv, x: afterAttention(x, joinHeads(attended, batch, c), w, i, c) };
      });
      layers.push({ k: layer.k, v: layer.v });
      x = layer.x;
    }
    return { hidden: finalNorm(x, w, c), block: { layers, bias } };
  });
}
