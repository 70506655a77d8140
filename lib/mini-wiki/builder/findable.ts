/** A minimal BM25 ranking, to leave out of the questions what a lexical search for the title does not bring up. */
import { normaliseName } from './names.js';

const K1 = 1.2;
const B = 0.75;

/** Builds a function that ranks documents (by index) for a query, best first, ties by index. */
export function lexicalRanker(documents: readonly string[]): (query: string, limit: number) => number[] {
  const postings = new Map<string, Map<number, number>>();
  const lengths = documents.map((document, index) => {
    const words = normaliseName(document).split(' ');
    for (const word of words) {
      const counts = postings.get(word) ?? new Map<number, number>();
      counts.set(index, (counts.get(index) ?? 0) + 1);
      postings.set(word, counts);
    }
    return words.length;
  });
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  return (query, limit) => {
    const scores = new Map<number, number>();
    for (const word of normaliseName(query).split(' ')) {
      const counts = postings.get(word);
      if (!counts) continue;
      const idf = Math.log(1 + (documents.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [index, count] of counts) {
        const saturated = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * lengths[index]) / meanLength));
        scores.set(index, (scores.get(index) ?? 0) + idf * saturated);
      }
    }
    return [...scores]
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, limit)
      .map(([index]) => index);
  };
}
