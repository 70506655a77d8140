import type { Random } from '../random.js';
import type { Tokenizer } from '../text/tokenizer.js';

export interface SampledToken {
  row: number;
  tokenId: number;
  /** Nats, as in {@link Generation}. */
  logProb: number;
}

export interface SamplingOptions {
  /** 0 is greedy. */
  temperature: number;
  /** Keeps the smallest set of tokens with at least this probability; 1 keeps all. */
  topP: number;
  maxNewTokens: number;
  /** A row stops after the token that completes one of these texts. */
  stop: readonly string[];
  /** One generator per row, so that a row's tokens do not depend on the other rows. */
  randoms: readonly Random[];
  /** Called with every token in turn, and awaited. */
  onToken?: (token: SampledToken) => void | Promise<void>;
  /** Aborts requests of a remote policy; the local one stops before its next token. */
  signal?: AbortSignal;
}

export interface Generation {
  tokenIds: number[];
  text: string;
  /** Log-probs (nats) at `temperature`, before the cut at `topP`, if known. */
  logProbs?: number[];
  /** `stop`: a stop text or the end token; `length`: `maxNewTokens` reached. */
  finish: 'stop' | 'length';
  /** Why a server's answer cannot be used; else absent. */
  refusal?: string;
}

/**
 * The longest answer (bytes) that a server can mean with so many new tokens, with
 * probabilities and, if it repeats them, the ids of the context.
 */
export const maxAnswerBytes = (maxNewTokens: number, numContextTokens = 0): number =>
  2 ** 16 + 2 ** 10 * maxNewTokens + 2 ** 4 * numContextTokens;

/** A language model that continues token ids: the local transformer, or a server. */
export interface Policy {
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** The longest context plus continuation (tokens). */
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
