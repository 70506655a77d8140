import type { Random } from '../random.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';

export interface SampledToken {
  row: number;
  tokenId: number;
  /** In nats, as in {@link Generation}. */
  logProb: number;
}

export interface SamplingOptions {
  /** 0 means greedy. */
  temperature: number;
  /** Samples from the smallest set of tokens that has this probability; 1 keeps all. */
  topP: number;
  maxNewTokens: number;
  /** A row stops after the token that completes one of these strings. */
  stop: readonly string[];
  /** One generator per row, so that a row's tokens do not depend on other rows. */
  randoms: readonly Random[];
  /** Called with every token, in order, and awaited. */
  onToken?: (token: SampledToken) => void | Promise<void>;
  /** Aborts requests of a remote policy; a local one stops before its next token. */
  signal?: AbortSignal;
}

export interface Generation {
  tokenIds: number[];
  text: string;
  /** Log-probs (nats) at `temperature`, before the cut at `topP`, if known. */
  logProbs?: number[];
  /** `stop`: a stop string or the end token; `length`: `maxNewTokens` reached. */
  finish: 'stop' | 'length';
  /** Set if a server's answer is unusable: the reason. */
  refusal?: string;
}

/**
 * Upper bound on a server's answer (bytes) with this many new tokens, including log-probs
 * and possibly the ids of the context.
 */
export const maxAnswerBytes = (maxNewTokens: number, numContextTokens = 0): number =>
  2 ** 16 + 2 ** 10 * maxNewTokens + 2 ** 4 * numContextTokens;

/** A language model that continues token ids: the local transformer, or a server. */
export interface Policy {
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** Maximum length of context plus continuation (tokens). */
  readonly maxLength: number;
  /** One-line description for the log: where the policy is, and its limitations. */
  readonly note?: string;
  /** Whether calls may overlap, as with a server that batches by itself. */
  readonly isConcurrent?: boolean;
  /** Continues each context, in order. Extending the last call's contexts is cheap. */
  generate(
    contexts: readonly (readonly number[])[],
    options: SamplingOptions,
  ): Promise<Generation[]>;
  release?(): void;
  /** Frees everything; the policy is unusable afterwards. */
  dispose?(): void;
}
