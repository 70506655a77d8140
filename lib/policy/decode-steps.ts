/**
 * Generation token by token: what it computes for one token of each row, and what it
 * caches of it.
 *
 * Shape letters: B rows, L cached tokens, V vocabulary.
 */
import * as tf from '@tensorflow/tfjs-core';
import { canCapture, captureGraph, graphInput, overwrite, type Graph } from '../tensor/graph.js';
import { disposeBlock, type CacheBlock, type Piece } from './kv-cache.js';
import type { CachedInput, CachedTokens } from './transformer.js';

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
  /** What is cached of the rows; the caller disposes of it in the end. */
  readonly blocks: readonly CacheBlock[];
  /** Where the first tokens of a row lie in the blocks. */
  piecesOf: (row: number, numTokens: number) => Piece[];
  /** Gives back everything but the blocks. */
  dispose: () => void;
}

/** Logits and what is cached of tokens that follow those before. */
type Forward = (
  input: CachedInput,
  cached: CachedTokens,
) => { logits: tf.Tensor2D; block: CacheBlock };

/**
 * For backends whose tensors cannot be changed: a long block is left as it is, and a
 * short one made anew for every token, one longer.
 */
class GrowingSteps implements DecodeSteps {
  private tail: CacheBlock | null = null;

  /** @param lengths tokens that are cached of each row */
  constructor(
    private readonly past: CacheBlock,
    private readonly lengths: readonly number[],
    private readonly forward: Forward,
  ) {}

  get blocks(): CacheBlock[] {
    return this.tail ? [this.past, this.tail] : [this.past];
  }

  piecesOf(row: number, numTokens: number): Piece[] {
    const before = { block: 0, row, length: Math.min(numTokens, this.lengths[row]) };
    const length = numTokens - before.length;
    return length > 0 ? [before, { block: 1, row, length }] : [before];
  }

  next({ ids, positions, bias }: TokenInput): tf.Tensor2D {
    const column = (values: number[], dtype: 'int32' | 'float32') =>
      tf.tensor2d(values, [values.length, 1], dtype);
    const input = {
      ids: column(ids, 'int32'),
      positions: column(positions, 'int32'),
      bias: column(bias, 'float32'),
    };
    const { logits, block } = this.forward(input, { past: this.past, tail: this.tail });
    tf.dispose(input);
    disposeBlock(this.tail);
    this.tail = block;
    return logits;
  }

  dispose(): void {
    // Nothing is left but the blocks.
  }
}

/**
 * For the others: tokens are written into the block, so that all of them after the first
 * are the same computation again, a {@link Graph}.
 */
class CapturedSteps implements DecodeSteps {
  readonly blocks: readonly [CacheBlock];
  private readonly input: CachedInput;
  private graph: Graph<tf.Tensor2D> | null = null;

  /** @param room a block with columns for the tokens to come */
  constructor(
    room: CacheBlock,
    private readonly forward: Forward,
  ) {
    this.blocks = [room];
    const [rows] = room.bias.shape;
    this.input = {
      ids: graphInput([rows, 1], 'int32'),
      positions: graphInput([rows, 1], 'int32'),
      bias: graphInput([rows, 1], 'float32'),
    };
  }

  piecesOf(row: number, numTokens: number): Piece[] {
    return [{ block: 0, row, length: numTokens }];
  }

  next({ ids, positions, bias }: TokenInput): tf.Tensor2D {
    overwrite(this.input.ids, ids);
    overwrite(this.input.positions, positions);
    overwrite(this.input.bias, bias);
    if (this.graph) this.graph.run();
    else this.graph = captureGraph(() => this.compute());
    return this.graph.result.clone();
  }

  private compute(): tf.Tensor2D {
    const { logits, block } = this.forward(this.input, { room: this.blocks[0] });
    // Its tensors are other names for those of the room.
    disposeBlock(block);
    return logits;
  }

  dispose(): void {
    this.graph?.dispose();
    tf.dispose([this.graph?.result ?? [], Object.values(this.input)]);
  }
}

/** Columns that a block must have for tokens to come. */
export const roomFor = (numTokens: number): number => (canCapture() ? numTokens : 0);

/**
 * Steps of the rows of a block, which has {@link roomFor} the tokens to come.
 * @param lengths tokens that are cached of each row
 */
export const decodeSteps = (
  block: CacheBlock,
  lengths: readonly number[],
  forward: Forward,
): DecodeSteps =>
  canCapture() ? new CapturedSteps(block, forward) : new GrowingSteps(block, lengths, forward);
