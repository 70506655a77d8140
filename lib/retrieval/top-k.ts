/** A position in an index with its score. */
export interface Neighbour {
  index: number;
  score: number;
}

/** Collects the best `topK` of the neighbours offered to it, best first; equal scores go by the lower index. */
export function createTopK(topK: number): { offer(index: number, score: number): void; take(): Neighbour[] } {
  const best: Neighbour[] = [];
  const ranksBefore = (other: Neighbour, index: number, score: number): boolean =>
    other.score > score || (other.score === score && other.index < index);
  return {
    offer: (index, score) => {
      if (best.length >= topK && ranksBefore(best[best.length - 1], index, score)) return;
      let low = 0;
      let high = best.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (ranksBefore(best[middle], index, score)) low = middle + 1;
        else high = middle;
      }
      best.splice(low, 0, { index, score });
      if (best.length > topK) best.pop();
    },
    take: () => best,
  };
}

/** Throws unless `value` is an integer of at least `least`. */
export function requireInteger(name: string, value: number, least = 1): void {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`Expected ${name} to be an integer >= ${least}, but got ${value}.`);
  }
}
