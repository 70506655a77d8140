/** The interface of retrievers, and what local ones share. */
import { bisector } from 'd3-array';
import type { Passage } from '../data/passage.js';
import { createBreather } from '../interrupt.js';

/** A passage and its score, which is not comparable between retrievers. */
export interface RetrievedPassage {
  passage: Passage;
  score: number;
}

interface RetrieveOptions {
  topK: number;
  /** Aborts the search: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface Retriever {
  readonly name: string;
  /** Set if it computes in this process: a call may be slow but cannot hang. */
  readonly isLocal?: true;
  /** Score of a passage of exactly the query's words, unknown ones included, if known. */
  fullScore?(query: string): number;
  /** Passages for each query: result i belongs to query i, best passage first. */
  retrieve(queries: readonly string[], options: RetrieveOptions): Promise<RetrievedPassage[][]>;
}

/** @throws RangeError unless `value` is an integer of at least `least` */
export function requireInteger(name: string, value: number, least = 1): void {
  if (!Number.isInteger(value) || value < least)
    throw new RangeError(`Expected ${name} to be an integer >= ${least}, but got ${value}.`);
}

export interface Neighbour {
  index: number;
  score: number;
}

const byRank = bisector((a: Neighbour, b: Neighbour) => b.score - a.score || a.index - b.index);

/** Keeps the best `topK` neighbours, best first; ties go to the lower index. */
export class TopK {
  readonly best: Neighbour[] = [];
  /** A score below this cannot be among the best. */
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

/**
 * Answers queries one by one, but lets timers and aborts run every 25 ms. Rejects with
 * the signal's reason once it aborts.
 */
export async function perQuery<Q, R>(
  queries: readonly Q[],
  signal: AbortSignal | undefined,
  answer: (query: Q) => R,
): Promise<R[]> {
  const answers: R[] = [];
  const breathe = createBreather(signal, 25);
  for (const query of queries) {
    await breathe();
    answers.push(answer(query));
  }
  return answers;
}
