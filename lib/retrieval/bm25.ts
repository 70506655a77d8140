import { sum } from 'd3-array';
import type { Passage } from '../data/question.js';
import { type Neighbour, type Retriever, TopK, perQuery, requireInteger } from './retriever.js';
import { splitTitle, splitWords } from './words.js';

export interface Bm25Options {
  /** Saturation of the term frequency; Lucene's default 1.2. */
  k1?: number;
  /** Strength of the length normalisation, 0 to 1; Lucene's default 0.75. */
  b?: number;
  /**
   * How often a word of the title counts, >= 0; 1 (default) treats the title as part of
   * the text.
   */
  titleWeight?: number;
  /**
   * Words of passages and queries; by default {@link splitWords}. Others are in
   * `analyzers.ts`.
   */
  analyze?: (text: string) => string[];
}

/** BM25 as a retriever, with its synchronous search. */
export interface Bm25Retriever extends Retriever {
  readonly passages: readonly Passage[];
  /**
   * The best `topK` passages that share a word with the query; `index` counts in
   * `passages`.
   */
  search(query: string, topK: number): Neighbour[];
}

/**
 * Postings of all words, one word after the other: those of word w are `starts[w]` up
 * to `starts[w + 1]`. As in bm25s (Lù 2024, arXiv 2407.03618), what a word adds to a
 * passage's score is computed once, when the index is built.
 */
interface InvertedIndex {
  words: ReadonlyMap<string, number>;
  starts: Uint32Array;
  passages: Uint32Array;
  scores: Float64Array;
}

/**
 * Builds a BM25 retriever with Lucene's formula: `score = sum over query words of idf *
 * tf / (tf + k1 * (1 - b + b * length / meanLength))`, `idf = ln(1 + (N - df + 0.5) / (df
 * + 0.5))`. A word that stands twice in the query counts twice. Passages without any word
 * of the query are not returned; equal scores keep the order of `passages`. Unlike
 * Lucene, lengths are exact, not rounded to a byte. Source: Robertson and Zaragoza 2009;
 * Lucene's BM25Similarity since version 8 (no factor k1 + 1).
 */
export function createBm25Retriever(
  passages: readonly Passage[],
  options: Bm25Options = {},
): Bm25Retriever {
  const { k1 = 1.2, b = 0.75, titleWeight = 1, analyze = splitWords } = options;
  checkOptions(k1, b, titleWeight);
  const index = buildIndex(passages, { k1, b, titleWeight, analyze });
  const { words, starts } = index;
  const scores = new Float64Array(passages.length);

  const search = (query: string, topK: number): Neighbour[] => {
    requireInteger('topK', topK);
    const asked = analyze(query).flatMap((word) => words.get(word) ?? []);
    for (const word of asked) addScores(index, word, scores);
    const top = new TopK(topK);
    // Where words are frequent, a look at every passage in turn is quicker than one at
    // their postings.
    if (sum(asked, numPostings) > passages.length) offerAll(top, scores);
    else for (const word of asked) offerPostings(top, index, word, scores);
    return top.best;
  };
  const numPostings = (word: number): number => starts[word + 1] - starts[word];
  return {
    name: 'bm25',
    passages,
    search,
    fullScore: (query) =>
      sum(analyze(query), (text) => {
        const word = words.get(text);
        return inverseDocumentFrequency(
          passages.length,
          word === undefined ? 0 : numPostings(word),
        );
      }),
    retrieve: (queries, { topK, signal }) =>
      perQuery(queries, signal, (query) =>
        search(query, topK).map(({ index: i, score }) => ({ passage: passages[i], score })),
      ),
  };
}

function checkOptions(k1: number, b: number, titleWeight: number): void {
  if (!(k1 >= 0)) throw new RangeError(`Expected k1 to be a number >= 0, but got ${k1}.`);
  if (!(b >= 0 && b <= 1))
    throw new RangeError(`Expected b to be a number from 0 to 1, but got ${b}.`);
  if (!(titleWeight >= 0))
    throw new RangeError(`Expected titleWeight to be a number >= 0, but got ${titleWeight}.`);
}

function buildIndex(
  passages: readonly Passage[],
  { k1, b, titleWeight, analyze }: Required<Bm25Options>,
): InvertedIndex {
  const words = new Map<string, number>();
  // Passage by passage: its distinct words, and how often each counts.
  const [wordsOf, frequencies]: [number[][], number[][]] = [[], []];
  const lengths = new Float64Array(passages.length);
  const documentFrequencies: number[] = [];
  passages.forEach(({ contents }, i) => {
    const counts = new Map<number, number>();
    const count = (text: string, weight: number): void => {
      if (weight === 0) return;
      for (const word of analyze(text)) {
        const number = words.get(word) ?? words.size;
        if (number === words.size) words.set(word, documentFrequencies.push(0) - 1);
        counts.set(number, (counts.get(number) ?? 0) + weight);
        lengths[i] += weight;
      }
    };
    const { title, text } = splitTitle(contents);
    count(title, titleWeight);
    count(text, 1);
    for (const number of counts.keys()) documentFrequencies[number]++;
    wordsOf.push([...counts.keys()]);
    frequencies.push([...counts.values()]);
  });
  const meanLength = sum(lengths) / Math.max(1, passages.length);

  const starts = new Uint32Array(words.size + 1);
  documentFrequencies.forEach((frequency, word) => (starts[word + 1] = starts[word] + frequency));
  const idf = documentFrequencies.map((frequency) =>
    inverseDocumentFrequency(passages.length, frequency),
  );
  const next = starts.slice();
  const index = {
    words,
    starts,
    passages: new Uint32Array(starts[words.size]),
    scores: new Float64Array(starts[words.size]),
  };
  for (const [i, numbers] of wordsOf.entries())
    for (const [j, word] of numbers.entries()) {
      const tf = frequencies[i][j];
      const at = next[word]++;
      index.passages[at] = i;
      index.scores[at] = (idf[word] * tf) / (tf + k1 * (1 - b + (b * lengths[i]) / meanLength));
    }
  return index;
}

// Plain loops in functions of their own, which V8 compiles well: they take nearly all of
// a search's time.

/** Adds a word's part to the scores of the passages that it stands in. */
function addScores(
  { starts, passages, scores: parts }: InvertedIndex,
  word: number,
  scores: Float64Array,
): void {
  const end = starts[word + 1];
  for (let at = starts[word]; at < end; at++) scores[passages[at]] += parts[at];
}

/** Offers every passage with a score, and takes the scores back. */
function offerAll(top: TopK, scores: Float64Array): void {
  for (let passage = 0; passage < scores.length; passage++)
    if (scores[passage] > 0 && scores[passage] >= top.worst) top.offer(passage, scores[passage]);
  scores.fill(0);
}

/** Offers the passages that a word stands in, once each, and takes their scores back. */
function offerPostings(
  top: TopK,
  { starts, passages }: InvertedIndex,
  word: number,
  scores: Float64Array,
): void {
  const end = starts[word + 1];
  for (let at = starts[word]; at < end; at++) {
    const passage = passages[at];
    if (scores[passage] > 0) top.offer(passage, scores[passage]);
    scores[passage] = 0;
  }
}

/** Lucene's inverse document frequency, in nats; positive for every word. */
export function inverseDocumentFrequency(numPassages: number, documentFrequency: number): number {
  return Math.log(1 + (numPassages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
