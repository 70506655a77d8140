import * as tf from '@tensorflow/tfjs-core';
import { createBreather, type Breather } from '../interrupt.js';
import { runAsGraph } from '../tensor/graph.js';
import { groupByLength, MASKED } from '../tensor/ops.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';
import { decodeSteps, spareColumnsFor, type DecodeSteps } from './model/decode-steps.js';
import { isLarge, type ModelConfig } from './model/families.js';
import {
  disposeBlock,
  extendedPrefix,
  firstEqual,
  moveRows,
  packRows,
  sharedLength,
  type CacheBlock,
  type CachePiece,
  type PrefixCache,
} from './model/kv-cache.js';
import { sampleToken } from './model/sampling.js';
import {
  computeLogits,
  forwardCached,
  rotaryTable,
  transposedHead,
  type CachedInput,
  type CachedTokens,
  type RotaryTable,
} from './model/transformer.js';
import type { Weights } from './model/weights.js';
import type { Generation, Policy, SamplingOptions } from './policy.js';

type Contexts = readonly (readonly number[])[];

interface Row {
  generated: number[];
  logProbs: number[];
  position: number;
  finish: Generation['finish'] | null;
}

/** The cache of some rows, and the pieces of its blocks that hold each row. */
interface CachedRows {
  rows: number[];
  blocks: readonly CacheBlock[];
  pieces: CachePiece[][];
}

type StopTest = (generated: readonly number[]) => boolean;

/** Padded tokens per pass. Larger passes gain nothing, except on WebGPU. */
const maxTokensPerPass = (): number => (tf.getBackend() === 'webgpu' ? 8192 : 2048);

/**
 * This project's transformer as a {@link Policy}, with prefix caching between calls.
 *
 * Shape letters: B rows, T tokens, V vocabulary.
 */
export class LocalPolicy implements Policy {
  readonly maxLength: number;
  /** Settings of the model that are ignored. */
  note?: string;
  private readonly rope: RotaryTable;
  private cache: PrefixCache | null = null;
  private head: tf.Tensor2D | null = null;

  /** @param weights remain the caller's: dispose of them after {@link dispose} */
  constructor(
    readonly name: string,
    private weights: Weights,
    readonly config: ModelConfig,
    readonly tokenizer: Tokenizer,
  ) {
    this.maxLength = config.maxPositionEmbeddings;
    this.rope = rotaryTable(config, this.maxLength);
  }

  /** Sets new weights of the same shapes, and drops what was cached with the old ones. */
  setWeights(weights: Weights): void {
    this.weights = weights;
    this.release();
    this.dropHead();
  }

  /** Replaces the cache, so that row batches can take turns; returns the old one. */
  swapCache(cache: PrefixCache | null): PrefixCache | null {
    const previous = this.cache;
    this.cache = cache;
    return previous;
  }

  release(): void {
    this.cache?.blocks.forEach(disposeBlock);
    this.cache = null;
  }

  dispose(): void {
    this.release();
    this.dropHead();
    tf.dispose([this.rope.cos, this.rope.sin, this.rope.rotation]);
  }

  private dropHead(): void {
    this.head?.dispose();
    this.head = null;
  }

  async generate(contexts: Contexts, options: SamplingOptions): Promise<Generation[]> {
    if (contexts.length === 0) return [];
    const longest = Math.max(...contexts.map((c) => c.length));
    if (longest >= this.maxLength || contexts.some((c) => c.length === 0))
      throw new RangeError(
        `Expected contexts of 1 to ${this.maxLength - 1} tokens, but got lengths up to ${longest}. Lower topK or the turns, or raise max_position_embeddings.`,
      );
    const isStop = this.stopTest(options.stop);
    const maxNewTokens = Math.min(options.maxNewTokens, this.maxLength - longest);
    const rows: Row[] = contexts.map((context) => ({
      generated: [],
      logProbs: [],
      position: context.length,
      finish: null,
    }));
    this.head ??= transposedHead(this.weights, this.config);
    const breathe = createBreather(options.signal);
    const prefix = this.takePrefix(contexts);
    const { logits, past } = await this.prefill(contexts, prefix, { maxNewTokens, breathe });
    const decoding = { ...options, maxNewTokens, breathe };
    const cached = await this.decode(rows, logits, past, decoding, isStop);
    this.keepPrefix(contexts, rows, cached);
    return rows.map(({ generated, logProbs, finish }) => ({
      tokenIds: generated,
      text: this.tokenizer.decode(generated),
      logProbs,
      finish: finish ?? 'length',
    }));
  }

  /** The cached prefixes of the contexts; the caller takes over the blocks. */
  private takePrefix(contexts: Contexts): PrefixCache {
    const prefix = this.cache && extendedPrefix(this.cache, contexts);
    if (!prefix) this.release();
    this.cache = null;
    return prefix ?? this.sharedPrefix(contexts);
  }

  /**
   * Runs the common prefix of the contexts (their prompt) once. Not for small models: a
   * pass costs them little, and it would change the last bits of recorded answers.
   */
  private sharedPrefix(contexts: Contexts): PrefixCache {
    const numDistinct = new Set(firstEqual(contexts)).size;
    const length = isLarge(this.config) && numDistinct > 1 ? sharedLength(contexts) : 0;
    const shared = contexts[0].slice(0, length);
    const blocks: CacheBlock[] = [];
    if (length > 0) {
      const { logits, block } = this.runChunks([shared], { past: null, starts: [0] });
      logits.dispose();
      blocks.push(block);
    }
    const pieces = blocks.map((_, block): CachePiece => ({ block, row: 0, length }));
    return { contexts: contexts.map(() => shared), blocks, pieces: contexts.map(() => pieces) };
  }

  /**
   * Runs the uncached rest of each context (equal contexts once) in passes of similar
   * length. Returns the logits (B, V) after each last token, and the cache of all rows
   * with spare columns for new tokens; the caller disposes of both. Disposes of the
   * prefix.
   */
  private async prefill(
    contexts: Contexts,
    prefix: PrefixCache,
    { maxNewTokens, breathe }: { maxNewTokens: number; breathe: Breather },
  ): Promise<{ logits: tf.Tensor2D; past: CacheBlock }> {
    const { numKeyValueHeads } = this.config;
    const chunks = contexts.map((context, i) => context.slice(prefix.contexts[i].length));
    const firsts = firstEqual(contexts);
    const distinct = [...new Set(firsts)];
    const lengths = distinct.map((i) => chunks[i].length);
    const passes = groupByLength(lengths, maxTokensPerPass()).map((pass) =>
      pass.map((d) => distinct[d]),
    );
    const blocks = [...prefix.blocks];
    const pieces = [...prefix.pieces];
    const logits: tf.Tensor2D[] = [];
    for (const pass of passes) {
      try {
        await breathe();
      } catch (error) {
        tf.dispose(logits);
        blocks.forEach(disposeBlock);
        throw error;
      }
      const prefixes = pass.map((i) => prefix.pieces[i]);
      const past =
        prefix.blocks.length > 0 ? packRows(prefix.blocks, prefixes, numKeyValueHeads) : null;
      const starts = pass.map((i) => prefix.contexts[i].length);
      const output = this.runChunks(
        pass.map((i) => chunks[i]),
        { past, starts },
      );
      disposeBlock(past);
      pass.forEach((i, row) => {
        pieces[i] = [...pieces[i], { block: blocks.length, row, length: chunks[i].length }];
      });
      blocks.push(output.block);
      logits.push(output.logits);
    }
    const order = passes.flat();
    const last = tf.tidy(() => {
      const places = firsts.map((first) => order.indexOf(first));
      return tf.gather(tf.concat(logits), tf.tensor1d(places, 'int32'));
    });
    const past = packRows(
      blocks,
      firsts.map((first) => pieces[first]),
      numKeyValueHeads,
      spareColumnsFor(maxNewTokens),
    );
    tf.dispose(logits);
    blocks.forEach(disposeBlock);
    return { logits: last, past };
  }

  /** The logits (B, V) after each chunk's last token, and the chunks' cache block. */
  private runChunks(
    chunks: Contexts,
    { past, starts }: { past: CacheBlock | null; starts: readonly number[] },
  ): { logits: tf.Tensor2D; block: CacheBlock } {
    const tokens = Math.max(...chunks.map((chunk) => chunk.length));
    const padded = <T>(compute: (chunk: readonly number[], t: number, i: number) => T): T[] =>
      chunks.flatMap((chunk, i) => Array.from({ length: tokens }, (_, t) => compute(chunk, t, i)));
    const ids = padded((chunk, t) => chunk[t] ?? 0);
    const positions = padded((chunk, t, i) => starts[i] + Math.min(t, chunk.length - 1));
    const bias = padded((chunk, t) => (t < chunk.length ? 0 : MASKED));
    const last = chunks.map((chunk, i) => i * tokens + chunk.length - 1);
    const shape: [number, number] = [chunks.length, tokens];
    const compute = () =>
      tf.tidy(() => {
        const input = {
          ids: tf.tensor2d(ids, shape, 'int32'),
          positions: tf.tensor2d(positions, shape, 'int32'),
          bias: tf.tensor2d(bias, shape),
        };
        return this.run(input, { past, tail: null }, tf.tensor1d(last, 'int32'));
      });
    // A large model's graphs differ by attention blocks, and gain less.
    return isLarge(this.config) ? compute() : runAsGraph(compute);
  }

  /** Logits (M, V) of all new tokens or of those at `places`, and the new cache block. */
  private run(
    input: CachedInput,
    cached: CachedTokens,
    places?: tf.Tensor1D,
  ): { logits: tf.Tensor2D; block: CacheBlock } {
    return tf.tidy(() => {
      const { hidden, block } = forwardCached(this.weights, input, cached, this.config, this.rope);
      const x = places ? tf.gather(hidden, places) : hidden;
      const logits = this.head
        ? tf.matMul<tf.Tensor2D>(x, this.head)
        : computeLogits(this.weights, x, this.config);
      return { logits, block };
    });
  }

  /**
   * Samples token after token until every row has finished. Finished rows stay, masked,
   * until they are half of the rows; then the others continue alone. Takes over `past`,
   * and returns the cache of all rows except their last tokens.
   */
  private async decode(
    rows: Row[],
    firstLogits: tf.Tensor2D,
    past: CacheBlock,
    options: SamplingOptions & { breathe: Breather },
    isStop: StopTest,
  ): Promise<CachedRows[]> {
    const { maxNewTokens } = options;
    const finished: CachedRows[] = [];
    let active = rows.map((_, i) => i);
    let logits = firstLogits;
    /** The number of cached tokens of a row: all but the newest. */
    const numCached = (i: number): number => rows[i].position - 1;
    const startSteps = (block: CacheBlock, lengths: readonly number[]): DecodeSteps =>
      decodeSteps(block, lengths, (input, cached) => this.run(input, cached));
    let steps = startSteps(
      past,
      rows.map(({ position }) => position),
    );
    const pieces = (i: number): CachePiece[] => steps.pieces(active.indexOf(i), numCached(i));
    try {
      for (let step = 1; ; step++) {
        await this.sampleStep(rows, active, logits, options, isStop);
        const unfinished = active.filter((i) => !rows[i].finish);
        if (unfinished.length === 0 || step >= maxNewTokens) break;
        if (unfinished.length <= active.length / 2) {
          const done = active.filter((i) => rows[i].finish);
          const groups = [
            { rows: done.map(pieces), spareColumns: 0 },
            { rows: unfinished.map(pieces), spareColumns: spareColumnsFor(maxNewTokens - step) },
          ];
          steps.dispose();
          const [doneBlock, activeBlock] = moveRows(
            steps.blocks,
            groups,
            this.config.numKeyValueHeads,
          );
          finished.push({
            rows: done,
            blocks: [doneBlock],
            pieces: done.map((i, row) => [{ block: 0, row, length: numCached(i) }]),
          });
          active = unfinished;
          steps = startSteps(activeBlock, active.map(numCached));
        }
        await options.breathe();
        logits = steps.next({
          ids: active.map((i) => rows[i].generated[rows[i].generated.length - 1]),
          positions: active.map((i) => rows[i].position - 1),
          bias: active.map((i) => (rows[i].finish ? MASKED : 0)),
        });
      }
    } catch (error) {
      steps.dispose();
      [...steps.blocks, ...finished.flatMap(({ blocks }) => blocks)].forEach(disposeBlock);
      throw error;
    }
    steps.dispose();
    return [...finished, { rows: active, blocks: steps.blocks, pieces: active.map(pieces) }];
  }

  /** Samples the next token of every unfinished row and disposes of the logits (B, V). */
  private async sampleStep(
    rows: Row[],
    active: readonly number[],
    logits: tf.Tensor2D,
    { temperature, topP, randoms, onToken }: SamplingOptions,
    isStop: StopTest,
  ): Promise<void> {
    const isGreedy = temperature === 0;
    const softmax = tf.tidy(() => tf.softmax(isGreedy ? logits : tf.div(logits, temperature)));
    const values = (await softmax.data()) as Float32Array;
    tf.dispose([logits, softmax]);
    const { vocabSize } = this.config;
    for (const [place, i] of active.entries()) {
      const row = rows[i];
      if (row.finish) continue;
      const probabilities = values.subarray(place * vocabSize, (place + 1) * vocabSize);
      const { tokenId, logProb } = sampleToken(probabilities, { isGreedy, topP }, randoms[i]);
      row.generated.push(tokenId);
      row.logProbs.push(logProb);
      row.position++;
      if (isStop(row.generated)) row.finish = 'stop';
      await onToken?.({ row: i, tokenId, logProb });
    }
  }

  /** Tests whether the last token completes a stop string or ends the sequence. */
  private stopTest(stop: readonly string[]): StopTest {
    const encoded = stop.map((text) => this.tokenizer.encode(text));
    const single = new Set(encoded.filter((ids) => ids.length === 1).map((ids) => ids[0]));
    for (const id of this.config.eosTokenIds) single.add(id);
    const window = 4 * Math.max(0, ...stop.map((text) => text.length));
    // Most tokens lack the last character of a stop string, and need no decoding of the
    // window. U+FFFD: part of a character.
    const lastCharacters = ['\ufffd', ...stop.map((text) => text.slice(-1))];
    return (generated) => {
      const last = generated[generated.length - 1];
      if (single.has(last)) return true;
      const written = this.tokenizer.decode([last]);
      if (!lastCharacters.some((character) => written.includes(character))) return false;
      // A stop string that is one token can also be written in pieces.
      const text = this.tokenizer.decode(generated.slice(-window));
      const before = this.tokenizer.decode(generated.slice(-window, -1));
      return stop.some((s) => text.includes(s) && !before.includes(s));
    };
  }

  /** Keeps the cache of all tokens but each row's last, which has not been run. */
  private keepPrefix(
    contexts: Contexts,
    rows: readonly Row[],
    cached: readonly CachedRows[],
  ): void {
    const pieces: CachePiece[][] = [];
    const blocks: CacheBlock[] = [];
    for (const part of cached) {
      part.rows.forEach((i, at) => {
        pieces[i] = part.pieces[at].map((piece) => ({
          ...piece,
          block: blocks.length + piece.block,
        }));
      });
      blocks.push(...part.blocks);
    }
    this.cache = {
      contexts: contexts.map((context, i) => [...context, ...rows[i].generated.slice(0, -1)]),
      blocks,
      pieces,
    };
  }
}
