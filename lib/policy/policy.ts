import type { Random } from '../random.js';
import type { Tokenizer } from '../text/tokenizer.js';

/** A token as soon as it is sampled. */
export interface SampledToken {
  /** The context that it continues, counted from 0. */
  row: number;
  tokenId: number;
  /** Nats, as in {@link Generation}. */
  logProb: number;
}

export interface SamplingOptions {
  /** 0 is greedy. */
  temperature: number;
  /**
   * Nucleus sampling keeps the smallest set of tokens of at least this probability; 1
   * keeps all.
   */
  topP: number;
  /** Most new tokens in a row. */
  maxNewTokens: number;
  /** A row stops after the token that completes one of these. */
  stop: readonly string[];
  /** One generator a row, so that a row's tokens do not depend on its neighbours. */
  randoms: readonly Random[];
  /** Called with every token in turn; the next one waits for what it returns. */
  onToken?: (token: SampledToken) => void | Promise<void>;
  /** Stops a policy elsewhere; one that computes here finishes what it is at. */
  signal?: AbortSignal;
}

export interface Generation {
  tokenIds: number[];
  text: string;
  /**
   * Log-probability (nats) of each token under the distribution at `temperature`, before
   * top-p cuts it; absent where nobody tells it.
   */
  logProbs?: number[];
  /** `stop`: a stop text or the end token came; `length`: maxNewTokens were reached. */
  finish: 'stop' | 'length';
}

/**
 * A language model that continues token ids. Implementations: the local transformer, a
 * remote server.
 */
export interface Policy {
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** The longest context plus continuation (tokens). */
  readonly maxLength: number;
  /** A line for people: where it is, and what it lacks. */
  readonly note?: string;
  /**
   * Whether calls may overlap, each answered as soon as it is done: so with a server that
   * batches by itself.
   */
  readonly overlaps?: boolean;
  /**
   * Continues each context; result i belongs to context i. Extending an earlier call's
   * contexts is cheap.
   */
  generate(
    contexts: readonly (readonly number[])[],
    options: SamplingOptions,
  ): Promise<Generation[]>;
  /**
   * Frees what is kept between calls, such as cached keys and values, once contexts are
   * not extended any more.
   */
  release?(): void;
  /** Frees all that it holds; it is of no use afterwards. */
  dispose?(): void;
}
