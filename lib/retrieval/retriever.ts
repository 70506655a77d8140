import type { Passage } from '../data/question.js';

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
