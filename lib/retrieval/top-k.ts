import { bisector } from 'd3-array';

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
