import { sum } from 'd3-array';
import type { Passage } from '../data/question.js';
import { perQuery } from './per-query.js';
import type { Retriever } from './retriever.js';
import { createTopK, requireInteger, type Neighbour } from './top-k.js';
import { splitTitle, splitWords } from './words.js';

export interface Bm25Options {
  /** Saturation of the term frequency; Lucene's default 1.2. */
  k1?: number;
  /** Strength of the length normalisation, 0 to 1; Lucene's default 0.75. */
  b?: number;
  /** How often a word of the title counts, >= 0; 1 (default) treats the title as part of the text. */
  titleWeight?: number;
  /** Words left out of passages and queries; none by default. */
  stopWords?: ReadonlySet<string>;
}

/** BM25 as a retriever, with its synchronous search. */
export interface Bm25Retriever extends Retriever {
  readonly passages: readonly Passage[];
  /** The best `topK` passages that share a word with the query; `index` counts in `passages`. */
  search(query: string, topK: number): Neighbour[];
}

/** Where a word stands: passages in order, and how often it counts in each. */
interface Postings {
  passages: number[];
  frequencies: number[];
}

interface InvertedIndex {
  postings: Map<string, Postings>;
  /** Words of each passage, those of titles by their weight. */
  lengths: Float64Array;
  meanLength: number;
}

/**
 * Builds a BM25 retriever with Lucene's formula:
 * `score = sum over query words of idf * tf / (tf + k1 * (1 - b + b * length / meanLength))`,
 * `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. A word that stands twice in the query counts twice. Passages without any word of
 * the query are not returned; equal scores keep the order of `passages`. Unlike Lucene, lengths are exact, not rounded to a byte.
 * Source: Robertson and Zaragoza 2009; Lucene's BM25Similarity since version 8 (no factor k1 + 1).
 */
export function createBm25Retriever(passages: readonly Passage[], options: Bm25Options = {}): Bm25Retriever {
  const { k1 = 1.2, b = 0.75, titleWeight = 1, stopWords } = options;
  checkOptions(k1, b, titleWeight);
  const words = (text: string): string[] => {
    const all = splitWords(text);
    return stopWords ? all.filter((word) => !stopWords.has(word)) : all;
  };
  const index = buildIndex(passages, titleWeight, words);
  const scores = new Float64Array(passages.length);

  const search = (query: string, topK: number): Neighbour[] => {
    requireInteger('topK', topK);
    const touched = addScores(index, words(query), scores, { k1, b });
    const best = createTopK(topK);
    for (const passage of touched) {
      best.offer(passage, scores[passage]);
      scores[passage] = 0;
    }
    return best.take();
  };
  return {
    name: 'bm25',
    passages,
    search,
    fullScore: (query) =>
      sum(words(query), (word) =>
        inverseDocumentFrequency(passages.length, index.postings.get(word)?.passages.length ?? 0),
      ),
    retrieve: (queries, { topK, signal }) =>
      perQuery(queries, signal, (query) =>
        search(query, topK).map(({ index: i, score }) => ({ passage: passages[i], score })),
      ),
  };
}

function checkOptions(k1: number, b: number, titleWeight: number): void {
  if (!(k1 >= 0)) throw new RangeError(`Expected k1 to be a number >= 0, but got ${k1}.`);
  if (!(b >= 0 && b <= 1)) throw new RangeError(`Expected b to be a number from 0 to 1, but got ${b}.`);
  if (!(titleWeight >= 0))
    throw new RangeError(`Expected titleWeight to be a number >= 0, but got ${titleWeight}.`);
}

function buildIndex(
  passages: readonly Passage[],
  titleWeight: number,
  words: (text: string) => string[],
): InvertedIndex {
  const postings = new Map<string, Postings>();
  const lengths = new Float64Array(passages.length);
  const count = (word: string, passage: number, weight: number): void => {
    const known = postings.get(word) ?? { passages: [], frequencies: [] };
    postings.set(word, known);
    if (known.passages.at(-1) !== passage) known.frequencies[known.passages.push(passage) - 1] = 0;
    known.frequencies[known.frequencies.length - 1] += weight;
    lengths[passage] += weight;
  };
  passages.forEach(({ contents }, i) => {
    const { title, text } = splitTitle(contents);
    if (titleWeight > 0) words(title).forEach((word) => count(word, i, titleWeight));
    words(text).forEach((word) => count(word, i, 1));
  });
  return { postings, lengths, meanLength: sum(lengths) / Math.max(1, passages.length) };
}

/** Adds every query word's part to `scores` and returns the passages touched, each once. */
function addScores(
  index: InvertedIndex,
  queryWords: readonly string[],
  scores: Float64Array,
  { k1, b }: { k1: number; b: number },
): number[] {
  const { postings, lengths, meanLength } = index;
  const touched: number[] = [];
  for (const word of queryWords) {
    const { passages, frequencies } = postings.get(word) ?? { passages: [], frequencies: [] };
    const idf = inverseDocumentFrequency(scores.length, passages.length);
    passages.forEach((passage, at) => {
      const tf = frequencies[at];
      if (scores[passage] === 0) touched.push(passage);
      scores[passage] += (idf * tf) / (tf + k1 * (1 - b + (b * lengths[passage]) / meanLength));
    });
  }
  return touched;
}

/** Lucene's inverse document frequency, in nats; positive for every word. */
export function inverseDocumentFrequency(numPassages: number, documentFrequency: number): number {
  return Math.log(1 + (numPassages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
