import { sum } from 'd3-array';
import type { Passage } from '../data/question.js';
import { splitContents } from '../text/contents.js';
import { splitWords } from '../text/words.js';
import { perQuery, requireInteger, TopK, type Neighbour, type Retriever } from './retriever.js';

export interface Bm25Options {
  /** Saturation of the term frequency; Lucene's default 1.2. */
  k1?: number;
  /** Strength of the length normalisation, 0 to 1; Lucene's default 0.75. */
  b?: number;
  /** How often a word of the title counts, >= 0; default 1, as a word of the text. */
  titleWeight?: number;
  /** Splits passages and queries into words; default {@link splitWords}. */
  analyze?: (text: string) => string[];
}

/** BM25 as a retriever, and its synchronous search. */
export interface Bm25Retriever extends Retriever {
  readonly passages: readonly Passage[];
  /**
   * The best `topK` passages that share a word with the query, as indices into
   * `passages`.
   */
  search(query: string, topK: number): Neighbour[];
}

/**
 * Postings of all words: those of word w are at `starts[w]` to `starts[w + 1]`. What a
 * word adds to a passage's score is computed at indexing, as in bm25s (Lù 2024, arXiv
 * 2407.03618).
 */
interface InvertedIndex {
  words: ReadonlyMap<string, number>;
  starts: Uint32Array;
  passages: Uint32Array;
  scores: Float64Array;
}

/**
 * A BM25 retriever with Lucene's formula: `score = sum over query words of idf * tf / (tf
 * + k1 * (1 - b + b * length / meanLength))`, `idf = ln(1 + (N - df + 0.5) / (df +
 * 0.5))`. A word that the query repeats counts each time. Passages without any query word
 * are not returned; ties keep the order of `passages`. Unlike in Lucene, lengths are not
 * rounded to a byte. Source: Robertson and Zaragoza 2009; Lucene's BM25Similarity since
 * version 8 (no factor k1 + 1).
 */
export function createBm25Retriever(
  passages: readonly Passage[],
  options: Bm25Options = {},
): Bm25Retriever {
  const { k1 = 1.2, b = 0.75, titleWeight = 1, analyze = splitWords } = options;
  if (!(k1 >= 0)) throw new RangeError(`Expected k1 to be a number >= 0, but got ${k1}.`);
  if (!(b >= 0 && b <= 1))
    throw new RangeError(`Expected b to be a number from 0 to 1, but got ${b}.`);
  if (!(titleWeight >= 0))
    throw new RangeError(`Expected titleWeight to be a number >= 0, but got ${titleWeight}.`);
  const index = buildIndex(passages, { k1, b, titleWeight, analyze });
  const { words, starts } = index;
  const scores = new Float64Array(passages.length);
  const numPostings = (word: number): number => starts[word + 1] - starts[word];

  const search = (query: string, topK: number): Neighbour[] => {
    requireInteger('topK', topK);
    const queryWords = analyze(query).flatMap((word) => words.get(word) ?? []);
    for (const word of queryWords) addScores(index, word, scores);
    const top = new TopK(topK);
    // For frequent words, a scan of all passages is faster than one of the postings.
    if (sum(queryWords, numPostings) > passages.length) offerAll(top, scores);
    else for (const word of queryWords) offerPostings(top, index, word, scores);
    return top.best;
  };
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

function buildIndex(
  passages: readonly Passage[],
  { k1, b, titleWeight, analyze }: Required<Bm25Options>,
): InvertedIndex {
  const words = new Map<string, number>();
  // For each passage its distinct words and their frequencies.
  const [passageWords, frequencies]: [number[][], number[][]] = [[], []];
  const lengths = new Float64Array(passages.length);
  const documentFrequencies: number[] = [];
  passages.forEach(({ contents }, i) => {
    const counts = new Map<number, number>();
    const count = (text: string, weight: number): void => {
      if (weight === 0) return;
      for (const word of analyze(text)) {
        const id = words.get(word) ?? words.size;
        if (id === words.size) words.set(word, documentFrequencies.push(0) - 1);
        counts.set(id, (counts.get(id) ?? 0) + weight);
        lengths[i] += weight;
      }
    };
    const { title, text } = splitContents(contents);
    count(title, titleWeight);
    count(text, 1);
    for (const id of counts.keys()) documentFrequencies[id]++;
    passageWords.push([...counts.keys()]);
    frequencies.push([...counts.values()]);
  });
  const meanLength = sum(lengths) / Math.max(1, passages.length);

  const starts = new Uint32Array(words.size + 1);
  documentFrequencies.forEach((frequency, word) => (starts[word + 1] = starts[word] + frequency));
  const idf = documentFrequencies.map((frequency) =>
    inverseDocumentFrequency(passages.length, frequency),
  );
  const next = starts.slice();
  const postings = new Uint32Array(starts[words.size]);
  const scores = new Float64Array(starts[words.size]);
  for (const [i, ids] of passageWords.entries())
    for (const [j, word] of ids.entries()) {
      const tf = frequencies[i][j];
      const at = next[word]++;
      postings[at] = i;
      scores[at] = (idf[word] * tf) / (tf + k1 * (1 - b + (b * lengths[i]) / meanLength));
    }
  return { words, starts, passages: postings, scores };
}

// Nearly all of a search's time. V8 compiles plain loops in small functions well.

/** Adds a word's contribution to the scores of its passages. */
function addScores(
  { starts, passages, scores: contributions }: InvertedIndex,
  word: number,
  scores: Float64Array,
): void {
  const end = starts[word + 1];
  for (let at = starts[word]; at < end; at++) scores[passages[at]] += contributions[at];
}

/** Offers every passage with a score and resets the scores. */
function offerAll(top: TopK, scores: Float64Array): void {
  for (let passage = 0; passage < scores.length; passage++)
    if (scores[passage] > 0 && scores[passage] >= top.worst) top.offer(passage, scores[passage]);
  scores.fill(0);
}

/** Offers a word's passages, once each, and resets their scores. */
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

/** Lucene's inverse document frequency, in nats; always positive. */
function inverseDocumentFrequency(numPassages: number, documentFrequency: number): number {
  return Math.log(1 + (numPassages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
