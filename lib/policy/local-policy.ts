import * as tf from '@tensorflow/tfjs-core';
import type { Tokenizer } from '../text/tokenizer.js';
import { decodeSteps, roomFor, type DecodeSteps } from './decode-steps.js';
import { type ModelConfig, isLarge } from './families.js';
import { groupByLength } from './group-by-length.js';
import {
  type CacheBlock,
  MASKED,
  type Piece,
  type PrefixCache,
  disposeBlock,
  extendedPrefix,
  firstEqual,
  moveRows,
  packRows,
  sharedLength,
} from './kv-cache.js';
import type { Generation, Policy, SamplingOptions } from './policy.js';
import { sampleToken } from './sampling.js';
import {
  forwardCached,
  logitsOf,
  rotaryTable,
  transposedHead,
  type CachedInput,
  type CachedTokens,
  type RotaryTable,
} from './transformer.js';
import type { Weights } from './weights.js';

interface Row {
  generated: number[];
  logProbs: number[];
  /** Position of the next token. */
  position: number;
  finish: Generation['finish'] | null;
}

/** What is cached of some rows: blocks, and the pieces of them that hold each row. */
interface CachedRows {
  rows: number[];
  blocks: readonly CacheBlock[];
  pieces: Piece[][];
}

/**
 * Most padded tokens of contexts in one pass: more are no faster, and attention's memory
 * grows with them. On a GPU each pass costs its operations' start.
 */
const maxTokensPerPass = (): number => (tf.getBackend() === 'webgpu' ? 8192 : 2048);

/**
 * The transformer of this project behind the {@link Policy} interface, with automatic
 * prefix caching between calls.
 */
export class LocalPolicy implements Policy {
  readonly maxLength: number;
  private readonly rope: RotaryTable;
  private cache: PrefixCache | null = null;
  private head: tf.Tensor2D | null = null;

  /** @param weights stay the caller's: dispose of them after {@link dispose} */
  constructor(
    readonly name: string,
    private weights: Weights,
    readonly config: ModelConfig,
    readonly tokenizer: Tokenizer,
  ) {
    this.maxLength = config.maxPositionEmbeddings;
    this.rope = rotaryTable(config, this.maxLength);
  }

  /** New weights of the same shape; what was cached under the old ones is dropped. */
  setWeights(weights: Weights): void {
    this.weights = weights;
    this.release();
    this.dropHead();
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

  async generate(
    contexts: readonly (readonly number[])[],
    options: SamplingOptions,
  ): Promise<Generation[]> {
    if (contexts.length === 0) return [];
    const longest = Math.max(...contexts.map((c) => c.length));
    if (longest >= this.maxLength || contexts.some((c) => c.length === 0)) {
      throw new RangeError(
        `Expected contexts of 1 to ${this.maxLength - 1} tokens, but got lengths up to ${longest}. Lower topK or the turns, or raise max_position_embeddings.`,
      );
    }
    const isStop = this.stopTest(options.stop);
    const maxNewTokens = Math.min(options.maxNewTokens, this.maxLength - longest);
    const rows: Row[] = contexts.map((c) => ({
      generated: [],
      logProbs: [],
      position: c.length,
      finish: null,
    }));
    this.head ??= transposedHead(this.weights, this.config);
    const { logits, past } = this.prefill(contexts, this.takePrefix(contexts), maxNewTokens);
    const cached = await this.decode(rows, logits, past, { ...options, maxNewTokens }, isStop);
    this.keepPrefix(contexts, rows, cached);
    return rows.map((r) => ({
      tokenIds: r.generated,
      text: this.tokenizer.decode(r.generated),
      logProbs: r.logProbs,
      finish: r.finish ?? 'length',
    }));
  }

  /** What is cached of the contexts; the cache is theirs then. */
  private takePrefix(contexts: readonly (readonly number[])[]): PrefixCache {
    const found = this.cache && extendedPrefix(this.cache, contexts);
    if (!found) this.release();
    this.cache = null;
    return found ?? this.sharedPrefix(contexts);
  }

  /**
   * What contexts begin with alike, as prompts do, run once. Not of a small model, whose
   * passes cost little and whose recorded bits stay as they are.
   */
  private sharedPrefix(contexts: readonly (readonly number[])[]): PrefixCache {
    const distinct = new Set(firstEqual(contexts)).size;
    const length = isLarge(this.config) && distinct > 1 ? sharedLength(contexts) : 0;
    const shared = contexts[0].slice(0, length);
    const blocks: CacheBlock[] = [];
    if (length > 0) {
      const { logits, block } = this.runChunks([shared], { past: null, starts: [0] });
      logits.dispose();
      blocks.push(block);
    }
    const pieces = blocks.map((_, block): Piece => ({ block, row: 0, length }));
    return { contexts: contexts.map(() => shared), blocks, pieces: contexts.map(() => pieces) };
  }

  /**
   * Runs what is not cached of each context, equal contexts once, and long ones apart
   * from short ones. Logits (B, V) after the last token of each, and what is cached of
   * all of them, with room for new tokens. Disposes of the prefix.
   */
  private prefill(
    contexts: readonly (readonly number[])[],
    prefix: PrefixCache,
    maxNewTokens: number,
  ): { logits: tf.Tensor2D; past: CacheBlock } {
    const chunks = contexts.map((context, i) => context.slice(prefix.contexts[i].length));
    const firsts = firstEqual(contexts);
    const distinct = [...new Set(firsts)];
    const lengths = distinct.map((i) => chunks[i].length);
    const passes = groupByLength(lengths, maxTokensPerPass()).map((pass) =>
      pass.map((d) => distinct[d]),
    );
    const { numKeyValueHeads } = this.config;
    const blocks = [...prefix.blocks];
    const pieces = [...prefix.pieces];
    const logits = passes.map((pass) => {
      const own = pass.map((i) => prefix.pieces[i]);
      const past = prefix.blocks.length > 0 ? packRows(prefix.blocks, own, numKeyValueHeads) : null;
      const starts = pass.map((i) => prefix.contexts[i].length);
      const run = this.runChunks(
        pass.map((i) => chunks[i]),
        { past, starts },
      );
      disposeBlock(past);
      pass.forEach((i, row) => {
        pieces[i] = [...pieces[i], { block: blocks.length, row, length: chunks[i].length }];
      });
      blocks.push(run.block);
      return run.logits;
    });
    const order = passes.flat();
    const last = tf.tidy(() => {
      const places = firsts.map((first) => order.indexOf(first));
      return tf.gather(tf.concat(logits), tf.tensor1d(places, 'int32'));
    });
    const past = packRows(
      blocks,
      firsts.map((first) => pieces[first]),
      numKeyValueHeads,
      roomFor(maxNewTokens),
    );
    tf.dispose(logits);
    blocks.forEach(disposeBlock);
    return { logits: last, past };
  }

  /**
   * Logits (B, V) after the last token of each chunk, and what is to be cached of the
   * chunks.
   */
  private runChunks(
    chunks: readonly (readonly number[])[],
    { past, starts }: { past: CacheBlock | null; starts: readonly number[] },
  ): { logits: tf.Tensor2D; block: CacheBlock } {
    const tokens = Math.max(...chunks.map((chunk) => chunk.length));
    const pad = (values: readonly number[], filler: number): number[] => [
      ...values,
      ...new Array<number>(tokens - values.length).fill(filler),
    ];
    const ids = chunks.flatMap((chunk) => pad(chunk, 0));
    const positions = chunks.flatMap((chunk, i) =>
      Array.from({ length: tokens }, (_, t) => starts[i] + Math.min(t, chunk.length - 1)),
    );
    const bias = chunks.flatMap((chunk) =>
      pad(
        chunk.map(() => 0),
        MASKED,
      ),
    );
    const last = chunks.map((chunk, i) => i * tokens + chunk.length - 1);
    const shape: [number, number] = [chunks.length, tokens];
    return tf.tidy(() => {
      const input = {
        ids: tf.tensor2d(ids, shape, 'int32'),
        positions: tf.tensor2d(positions, shape, 'int32'),
        bias: tf.tensor2d(bias, shape),
      };
      return this.run(input, { past, tail: null }, tf.tensor1d(last, 'int32'));
    });
  }

  /**
   * Samples token after token until every row has finished. Finished rows ride along,
   * masked, until half of the rows have; then the others go on by themselves. Returns
   * what is cached of all rows but of their last tokens; takes what was cached before.
   */
  private async decode(
    rows: Row[],
    firstLogits: tf.Tensor2D,
    past: CacheBlock,
    options: SamplingOptions,
    isStop: (generated: readonly number[]) => boolean,
  ): Promise<CachedRows[]> {
    const { maxNewTokens } = options;
    const finished: CachedRows[] = [];
    let active = rows.map((_, i) => i);
    let logits = firstLogits;
    /** Tokens of a row that are cached: the newest has not been run. */
    const numCached = (i: number): number => rows[i].position - 1;
    const stepsOf = (block: CacheBlock, lengths: readonly number[]): DecodeSteps =>
      decodeSteps(block, lengths, (input, cached) => this.run(input, cached));
    let steps = stepsOf(
      past,
      rows.map(({ position }) => position),
    );
    const piecesOf = (i: number): Piece[] => steps.piecesOf(active.indexOf(i), numCached(i));
    try {
      for (let step = 1; ; step++) {
        await this.sampleStep(rows, active, logits, options, isStop);
        const unfinished = active.filter((i) => !rows[i].finish);
        if (unfinished.length === 0 || step >= maxNewTokens) break;
        if (unfinished.length <= active.length / 2) {
          const done = active.filter((i) => rows[i].finish);
          const groups = [
            { rows: done.map(piecesOf), room: 0 },
            { rows: unfinished.map(piecesOf), room: roomFor(maxNewTokens - step) },
          ];
          steps.dispose();
          const [left, taken] = moveRows(steps.blocks, groups, this.config.numKeyValueHeads);
          const pieces = done.map((i, row) => [{ block: 0, row, length: numCached(i) }]);
          finished.push({ rows: done, blocks: [left], pieces });
          active = unfinished;
          steps = stepsOf(taken, active.map(numCached));
        }
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
    return [...finished, { rows: active, blocks: steps.blocks, pieces: active.map(piecesOf) }];
  }

  /**
   * Logits (N, V) of new tokens, or of those that are wanted, and what is to be cached of
   * them.
   */
  private run(
    input: CachedInput,
    cached: CachedTokens,
    wanted?: tf.Tensor1D,
  ): { logits: tf.Tensor2D; block: CacheBlock } {
    return tf.tidy(() => {
      const { hidden, block } = forwardCached(this.weights, input, cached, this.config, this.rope);
      const picked = wanted ? tf.gather(hidden, wanted) : hidden;
      const logits = this.head
        ? tf.matMul<tf.Tensor2D>(picked, this.head)
        : logitsOf(this.weights, picked, this.config);
      return { logits, block };
    });
  }

  /** Samples the next token of every unfinished row and disposes of the logits. */
  private async sampleStep(
    rows: Row[],
    active: readonly number[],
    logits: tf.Tensor2D,
    options: SamplingOptions,
    isStop: (generated: readonly number[]) => boolean,
  ): Promise<void> {
    const { temperature, topP } = options;
    const isGreedy = temperature === 0;
    const softmax = tf.tidy(() => tf.softmax(isGreedy ? logits : tf.div(logits, temperature)));
    const values = (await softmax.data()) as Float32Array;
    tf.dispose([logits, softmax]);
    const vocabularySize = this.config.vocabSize;
    for (const [place, i] of active.entries()) {
      const row = rows[i];
      if (row.finish) continue;
      const probabilities = values.subarray(place * vocabularySize, (place + 1) * vocabularySize);
      const { tokenId, logProb } = sampleToken(
        probabilities,
        { isGreedy, topP },
        options.randoms[i],
      );
      row.generated.push(tokenId);
      row.logProbs.push(logProb);
      row.position++;
      if (isStop(row.generated)) row.finish = 'stop';
      await options.onToken?.({ row: i, tokenId, logProb });
    }
  }

  /** Tells whether the last token completes a stop text or ends the sequence. */
  private stopTest(stop: readonly string[]): (generated: readonly number[]) => boolean {
    const encoded = stop.map((text) => this.tokenizer.encode(text));
    const single = new Set(encoded.filter((ids) => ids.length === 1).map((ids) => ids[0]));
    for (const id of this.config.eosTokenIds) single.add(id);
    const several = stop.filter((_, i) => encoded[i].length > 1);
    const window = 4 * Math.max(0, ...several.map((text) => text.length));
    return (generated) => {
      if (single.has(generated[generated.length - 1])) return true;
      if (several.length === 0) return false;
      const text = this.tokenizer.decode(generated.slice(-window));
      const before = this.tokenizer.decode(generated.slice(-window, -1));
      return several.some((s) => text.includes(s) && !before.includes(s));
    };
  }

  /**
   * Remembers the keys and values of all tokens but each row's last, which has not been
   * run.
   */
  private keepPrefix(
    contexts: readonly (readonly number[])[],
    rows: readonly Row[],
    cached: readonly CachedRows[],
  ): void {
    const pieces: Piece[][] = [];
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
