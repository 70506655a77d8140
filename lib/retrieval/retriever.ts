import { bisector } from 'd3-array';
import type { Passage } from '../data/question.js';

//==== lib/retrieval/retriever.ts
/**
 * A passage with the score its retriever gave it; scores of different retrievers are not
 * comparable.
 */
export interface RetrievedPassage {
  passage: Passage;
  score: number;
}

export interface RetrieveOptions {
  /** Passages wanted for each query. */
  topK: number;
  /** Aborts the search; the returned promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Finds passages for a batch of queries: result i belongs to query i, best passage first.
 */
export interface Retriever {
  readonly name: string;
  /**
   * What a passage would score that is about nothing but all words of a query, also those
   * that none has; absent where unknown.
   */
  fullScore?(query: string): number;
  retrieve(queries: readonly string[], options: RetrieveOptions): Promise<RetrievedPassage[][]>;
}

//==== lib/retrieval/top-k.ts
/** A position in an index with its score. */
export interface Neighbour {
  index: number;
  score: number;
}

const byRank = bisector((a: Neighbour, b: Neighbour) => b.score - a.score || a.index - b.index);

/**
 * The best `topK` of the neighbours offered to it, best first; equal scores go by the
 * lower index.
 */
export class TopK {
  readonly best: Neighbour[] = [];
  /** A lower score is not among the best, whatever its index. */
  worst = -Infinity;

  constructor(private readonly topK: number) {}

  offer(index: number, score: number): void {
    if (score < this.worst) return;
    const { best, topK } = this;
    best.splice(byRank.left(best, { index, score }), 0, { index, score });
    if (best.length > topK) best.pop();
    if (best.length === topK) this.worst = best[topK - 1].score;
  }
}

/** Throws unless `value` is an integer of at least `least`. */
export function requireInteger(name: string, value: number, least = 1): void {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`Expected ${name} to be an integer >= ${least}, but got ${value}.`);
  }
}

//==== lib/retrieval/per-query.ts
const SLICE_MS = 25;

/**
 * Maps queries one after another on this thread, and lets other work (timers, an abort)
 * run every 25 ms. Rejects with the signal's reason once it is aborted.
 */
export async function perQuery<Q, R>(
  queries: readonly Q[],
  signal: AbortSignal | undefined,
  answer: (query: Q) => R,
): Promise<R[]> {
  const answers: R[] = [];
  let sliceStart = performance.now();
  for (const query of queries) {
    if (performance.now() - sliceStart > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume, 0));
      sliceStart = performance.now();
    }
    signal?.throwIfAborted();
    answers.push(answer(query));
  }
  return answers;
}
