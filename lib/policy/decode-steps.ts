/**
 * Generation token by token: what it computes for one token of each row, and what it caches of it.
 *
 * Shape letters: B rows, K key-value heads, L cached tokens, D head width, V vocabulary.
 */
import * as tf from '@tensorflow/tfjs-core';
import { canCapture, captureGraph, graphInput, overwrite, type Graph } from '../tensor/webgpu-graph.js';
import { disposeBlock, MASKED, type CacheBlock } from './key-value-cache.js';
import type { ModelConfig } from './model-config.js';
import type { CachedInput } from './transformer.js';

/** A token of each row. */
export interface TokenInput {
  ids: number[];
  positions: number[];
  /** 0, or very negative for a row that has finished. */
  bias: number[];
}

export interface DecodeSteps {
  /** Logits (B, V) after the next token of each row; the caller disposes of them. */
  next: (tokens: TokenInput) => tf.Tensor2D;
  /** What is cached of the tokens, in its first `length` columns; null before the first. The caller disposes of it. */
  readonly tail: CacheBlock | null;
  readonly length: number;
  /** Gives back everything but the tail. */
  dispose: () => void;
}

/** Logits and what is cached of tokens that follow those before. */
type Forward = (
  input: CachedInput,
  cached: { past: CacheBlock; tail: CacheBlock | null },
) => { logits: tf.Tensor2D; block: CacheBlock };

interface StepsOptions {
  forward: Forward;
  /** What comes before; stays the caller's. */
  past: CacheBlock;
  /** Most tokens of a row. */
  capacity: number;
  config: ModelConfig;
}

/** A tail that is made anew for every token, one longer. */
class GrowingSteps implements DecodeSteps {
  tail: CacheBlock | null = null;
  length = 0;

  constructor(private readonly options: StepsOptions) {}

  next({ ids, positions, bias }: TokenInput): tf.Tensor2D {
    const { forward, past } = this.options;
    const column = (values: number[], dtype: 'int32' | 'float32') =>
      tf.tensor2d(values, [values.length, 1], dtype);
    const input = {
      ids: column(ids, 'int32'),
      positions: column(positions, 'int32'),
      bias: column(bias, 'float32'),
    };
    const { logits, block } = forward(input, { past, tail: this.tail });
    tf.dispose(input);
    disposeBlock(this.tail);
    this.tail = block;
    this.length++;
    return logits;
  }

  dispose(): void {
    // Nothing is left but the tail.
  }
}

/** A tail (B, capacity) with nothing in it. */
function emptyTail(rows: number, capacity: number, config: ModelConfig): CacheBlock {
  const zeros = (): tf.Tensor3D =>
    tf.fill([rows * config.numKeyValueHeads, capacity, config.headDim], 0, 'float32');
  return {
    bias: tf.fill([rows, capacity], MASKED),
    layers: Array.from({ length: config.numLayers }, () => ({ k: zeros(), v: zeros() })),
  };
}

/** A tail with room for all tokens, written in place, so that all tokens after the first are the same computation again: a {@link Graph}. */
class CapturedSteps implements DecodeSteps {
  readonly tail: CacheBlock;
  length = 0;
  private readonly input: Required<CachedInput>;
  private graph: Graph<tf.Tensor2D> | null = null;

  constructor(
    private readonly options: StepsOptions,
    rows: number,
  ) {
    this.tail = emptyTail(rows, options.capacity, options.config);
    this.input = {
      ids: graphInput([rows, 1], 'int32'),
      positions: graphInput([rows, 1], 'int32'),
      bias: graphInput([rows, 1], 'float32'),
      slot: graphInput([1], 'int32'),
    };
  }

  next({ ids, positions, bias }: TokenInput): tf.Tensor2D {
    overwrite(this.input.ids, ids);
    overwrite(this.input.positions, positions);
    overwrite(this.input.bias, bias);
    overwrite(this.input.slot, [this.length]);
    if (this.graph) this.graph.run();
    else this.graph = captureGraph(() => this.compute());
    this.length++;
    return this.graph.result.clone();
  }

  private compute(): tf.Tensor2D {
    const { forward, past } = this.options;
    const { logits, block } = forward(this.input, { past, tail: this.tail });
    // Its tensors are other names for those of the tail.
    disposeBlock(block);
    return logits;
  }

  dispose(): void {
    this.graph?.dispose();
    tf.dispose([this.graph?.result ?? [], this.input]);
  }
}

/** Steps of so many rows: on the webgpu backend captured once and repeated, where each operation costs more to start than to do. */
export const decodeSteps = (rows: number, options: StepsOptions): DecodeSteps =>
  canCapture() ? new CapturedSteps(options, rows) : new GrowingSteps(options);
