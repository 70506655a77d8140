/**
 * Decodes one new token per row and step, and keeps the cache.
 * Shape letters: B rows, L cached tokens, V vocabulary.
 */
import * as tf from '@tensorflow/tfjs-core';
import { canCapture, captureGraph, graphInput, overwrite, type Graph } from '../../tensor/graph.js';
import { disposeBlock, type CacheBlock, type CachePiece } from './kv-cache.js';
import type { CachedInput, CachedTokens } from './transformer.js';

interface TokenInput {
  ids: number[];
  positions: number[];
  /** 0, or very negative for a row that has finished. */
  bias: number[];
}

export interface DecodeSteps {
  /** Runs each row's token; returns logits (B, V), of which the caller disposes. */
  next: (tokens: TokenInput) => tf.Tensor2D;
  /** The rows' cache; the caller disposes of it at the end. */
  readonly blocks: readonly CacheBlock[];
  /** The pieces of the blocks that hold a row's first tokens. */
  pieces: (row: number, numTokens: number) => CachePiece[];
  /** Frees everything but the blocks. */
  dispose: () => void;
}

/** Computes logits and a cache block for new tokens after cached ones. */
type Forward = (
  input: CachedInput,
  cached: CachedTokens,
) => { logits: tf.Tensor2D; block: CacheBlock };

/** For backends with immutable tensors: each token makes a new tail, one longer. */
function growTail(past: CacheBlock, lengths: readonly number[], forward: Forward): DecodeSteps {
  let tail: CacheBlock | null = null;
  return {
    get blocks() {
      return tail ? [past, tail] : [past];
    },
    pieces: (row, numTokens) => {
      const before = { block: 0, row, length: Math.min(numTokens, lengths[row]) };
      const length = numTokens - before.length;
      return length > 0 ? [before, { block: 1, row, length }] : [before];
    },
    next: ({ ids, positions, bias }) => {
      const column = (values: number[], dtype: 'int32' | 'float32') =>
        tf.tensor2d(values, [values.length, 1], dtype);
      const input = {
        ids: column(ids, 'int32'),
        positions: column(positions, 'int32'),
        bias: column(bias, 'float32'),
      };
      const { logits, block } = forward(input, { past, tail });
      tf.dispose(input);
      disposeBlock(tail);
      tail = block;
      return logits;
    },
    dispose: () => {},
  };
}

/**
 * For backends that can overwrite tensors: writes tokens into a block that has room for
 * them, so that every step after the first repeats the same {@link Graph}.
 */
function repeatGraph(preallocated: CacheBlock, forward: Forward): DecodeSteps {
  const [rows] = preallocated.bias.shape;
  const input: CachedInput = {
    ids: graphInput([rows, 1], 'int32'),
    positions: graphInput([rows, 1], 'int32'),
    bias: graphInput([rows, 1], 'float32'),
  };
  let graph: Graph<tf.Tensor2D> | null = null;
  const compute = (): tf.Tensor2D => {
    const { logits, block } = forward(input, { preallocated });
    // Its tensors share the memory of `preallocated`.
    disposeBlock(block);
    return logits;
  };
  return {
    blocks: [preallocated],
    pieces: (row, numTokens) => [{ block: 0, row, length: numTokens }],
    next: ({ ids, positions, bias }) => {
      overwrite(input.ids, ids);
      overwrite(input.positions, positions);
      overwrite(input.bias, bias);
      if (graph) graph.run();
      else graph = captureGraph(compute);
      return graph.result.clone();
    },
    dispose: () => {
      graph?.dispose();
      tf.dispose([graph?.result ?? [], Object.values(input)]);
    },
  };
}

/** Number of spare columns that a block needs for the tokens to come. */
export const spareColumnsFor = (numTokens: number): number => (canCapture() ? numTokens : 0);

/** Decodes from a block that has {@link spareColumnsFor} the tokens to come. */
export const decodeSteps = (
  block: CacheBlock,
  lengths: readonly number[],
  forward: Forward,
): DecodeSteps => (canCapture() ? repeatGraph(block, forward) : growTail(block, lengths, forward));
