/** What the page and the workers that compute for it say to each other. */
import type { AnswerEvent, AskOptions } from './answer.js';

/** The bytes of an adapter's two files. */
export interface AdapterFiles {
  config: unknown;
  weights: Uint8Array;
}

/** What a policy is made of. */
export interface PolicyFiles {
  name: string;
  config: unknown;
  tokenizer: object;
  weights: Uint8Array;
  adapter: AdapterFiles | null;
}

/**
 * What a worker is told; it does one thing after the other, except that `stop` ends the answer of its run at once, or keeps
 * it from beginning.
 */
export type WorkerRequest =
  | { kind: 'world'; wasm: Uint8Array<ArrayBuffer>; passages: string; titleWeight: number }
  | { kind: 'policy'; load: number; files: PolicyFiles }
  | { kind: 'ask'; run: number; question: string; options: Omit<AskOptions, 'signal'> }
  | { kind: 'stop'; run: number };

/** What a worker says; `load` and `run` are the numbers that policy and question came with. */
export type WorkerMessage =
  /** It has a policy and waits for questions. */
  | { kind: 'ready'; load: number; backend: string }
  | { kind: 'event'; run: number; event: AnswerEvent }
  | { kind: 'failed'; reason: string };
