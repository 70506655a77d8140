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

/** Postings of all terms end to end: those of term t lie in [offsets[t], offsets[t + 1]). */
interface InvertedIndex {
  terms: Map<string, number>;
  offsets: Uint32Array;
  passageIndexes: Uint32Array;
  frequencies: Float32Array;
  lengths: Float64Array;
  meanLength: number;
}

type TermFrequencies = Map<string, number>;

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
  const index = buildIndex(passages.map(({ contents }) => termFrequencies(contents, titleWeight, words)));
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

function termFrequencies(
  contents: string,
  titleWeight: number,
  words: (text: string) => string[],
): TermFrequencies {
  const frequencies: TermFrequencies = new Map();
  const { title, text } = splitTitle(contents);
  const count = (word: string, weight: number) =>
    frequencies.set(word, (frequencies.get(word) ?? 0) + weight);
  if (titleWeight > 0) words(title).forEach((word) => count(word, titleWeight));
  words(text).forEach((word) => count(word, 1));
  return frequencies;
}

function buildIndex(passageTerms: readonly TermFrequencies[]): InvertedIndex {
  const terms = new Map<string, number>();
  const documentFrequencies: number[] = [];
  for (const frequencies of passageTerms) {
    for (const term of frequencies.keys()) {
      const id = terms.get(term) ?? terms.size;
      terms.set(term, id);
      documentFrequencies[id] = (documentFrequencies[id] ?? 0) + 1;
    }
  }
  const offsets = new Uint32Array(terms.size + 1);
  documentFrequencies.forEach((df, id) => (offsets[id + 1] = offsets[id] + df));
  const postings = fillPostings(passageTerms, terms, offsets);
  const total = postings.lengths.reduce((sum, length) => sum + length, 0);
  return { terms, offsets, ...postings, meanLength: total / Math.max(1, passageTerms.length) };
}

function fillPostings(
  passageTerms: readonly TermFrequencies[],
  terms: ReadonlyMap<string, number>,
  offsets: Uint32Array,
): Pick<InvertedIndex, 'passageIndexes' | 'frequencies' | 'lengths'> {
  const numPostings = offsets[terms.size];
  const passageIndexes = new Uint32Array(numPostings);
  const frequencies = new Float32Array(numPostings);
  const lengths = new Float64Array(passageTerms.length);
  const next = offsets.slice();
  passageTerms.forEach((passage, i) => {
    for (const [term, frequency] of passage) {
      const at = next[terms.get(term)!]++;
      passageIndexes[at] = i;
      frequencies[at] = frequency;
      lengths[i] += frequency;
    }
  });
  return { passageIndexes, frequencies, lengths };
}

/** Adds every query word's part to `scores` and returns the passages touched, each once. */
function addScores(
  index: InvertedIndex,
  queryWords: readonly string[],
  scores: Float64Array,
  { k1, b }: { k1: number; b: number },
): number[] {
  const touched: number[] = [];
  for (const word of queryWords) {
    const term = index.terms.get(word);
    if (term === undefined) continue;
    const [start, end] = [index.offsets[term], index.offsets[term + 1]];
    const idf = inverseDocumentFrequency(scores.length, end - start);
    for (let at = start; at < end; at++) {
      const passage = index.passageIndexes[at];
      const tf = index.frequencies[at];
      if (scores[passage] === 0) touched.push(passage);
      scores[passage] += (idf * tf) / (tf + k1 * (1 - b + (b * index.lengths[passage]) / index.meanLength));
    }
  }
  return touched;
}

/** Lucene's inverse document frequency, in nats; positive for every word. */
export function inverseDocumentFrequency(numPassages: number, documentFrequency: number): number {
  return Math.log(1 + (numPassages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
