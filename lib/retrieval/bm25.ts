import { sum } from 'd3-array';
import type { Passage } from '../data/passage.js';
import { splitWords } from '../text/words.js';
import {
  Bm25Indexer,
  largestGain,
  startPositions,
  WordCounter,
  type Bm25Options,
  type Postings,
  type Weights,
} from './bm25-index.js';
import { perQuery, requireInteger, TopK, type Neighbour, type Retriever } from './retriever.js';

export interface Bm25Search {
  /** The positions of the best `topK` passages that share a word with the query. */
  search(query: string, topK: number): Neighbour[];
  /** See {@link Retriever.fullScore}. */
  fullScore(query: string): number;
}

export type Bm25Retriever = Retriever & Bm25Search & { readonly passages: readonly Passage[] };

/** An inverted index in memory or on disk. Words are numbered. */
interface Bm25Index extends Weights {
  findWord(text: string): number | undefined;
  documentFrequency(word: number): number;
  /** See {@link largestGain}. */
  largestGain(word: number): number;
  postings(word: number): Postings;
}

/** Passages counted at a time. */
const BATCH_SIZE = 256;

/**
 * A BM25 retriever with Lucene's formula: `score = sum over query words of idf * tf / (tf
 * + k1 * (1 - b + b * length / meanLength))`, `idf = ln(1 + (N - df + 0.5) / (df +
 * 0.5))`. A word repeated in the query counts each time. Passages without any query word
 * are not returned; ties keep the order of `passages`. Unlike in Lucene, lengths are not
 * rounded to a byte. Source: Robertson and Zaragoza 2009; Lucene's BM25Similarity since
 * version 8 (no factor k1 + 1).
 */
export function createBm25Retriever(
  passages: readonly Passage[],
  options: Bm25Options = {},
): Bm25Retriever {
  const indexer = new Bm25Indexer(options);
  const counter = new WordCounter(indexer.vocabulary, options);
  for (let i = 0; i < passages.length; i += BATCH_SIZE) {
    const batch = passages.slice(i, i + BATCH_SIZE);
    indexer.add(counter.count(batch.map(({ contents }) => contents)));
  }
  const bm25 = createBm25Search(indexInMemory(indexer), options);
  return { ...retrieverFrom(bm25, (i) => passages[i]), passages };
}

/** Makes a retriever from a search that returns positions of passages. */
export const retrieverFrom = (
  bm25: Bm25Search,
  readPassage: (index: number) => Passage,
): Retriever & Bm25Search => ({
  ...bm25,
  name: 'bm25',
  isLocal: true,
  retrieve: (queries, { topK, signal }) =>
    perQuery(queries, signal, (query) =>
      bm25.search(query, topK).map(({ index, score }) => ({ passage: readPassage(index), score })),
    ),
});

function indexInMemory(indexer: Bm25Indexer): Bm25Index {
  const { vocabulary } = indexer;
  const { counts, passages, codes } = indexer.takeShard();
  const weights = indexer.weights();
  const starts = startPositions(counts);
  const postings = (word: number): Postings => ({
    passages: passages.subarray(starts[word], starts[word + 1]),
    codes: codes.subarray(starts[word], starts[word + 1]),
  });
  const gains = Float64Array.from(counts, (_, word) => largestGain(postings(word), weights));
  return {
    ...weights,
    findWord: (text) => vocabulary.find(text),
    documentFrequency: (word) => counts[word],
    largestGain: (word) => gains[word],
    postings,
  };
}

interface Term extends Postings {
  idf: number;
  /** How often the query contains the word. */
  repeats: number;
  /** The largest amount it adds to a score. */
  bound: number;
}

/** Looking up one passage takes as long as scanning this many postings. */
const SCANNED = 64;

/** Bound on the relative error of single-precision sums in any order. */
const ROUNDING = 1e-5;

/**
 * Search with MaxScore (Turtle and Flood 1995), word by word. The words that can add most
 * come first. Once the rest cannot lift a new passage into the best, they are only looked
 * up for the passages they can still lift. The scores of those are then summed in the
 * query's order, so that they equal the full sum.
 * Why not precomputed scores, as in bm25s? Adding up every posting takes 20 ms for a
 * million passages, nearly all of it for words such as "the", which hardly change a
 * score; and a frequency and a norm take half the space of the float64 score that they
 * determine. Why not block-max WAND? Bounds per block pay off if postings are decoded
 * from disk; in typed arrays, one bound per word leaves little to skip.
 */
export function createBm25Search(
  index: Bm25Index,
  { analyze = splitWords }: Pick<Bm25Options, 'analyze'>,
): Bm25Search {
  const numPassages = index.norms.length;
  const sums = new PartialScores(index);
  const idf = (word: number | undefined): number =>
    inverseDocumentFrequency(numPassages, word === undefined ? 0 : index.documentFrequency(word));

  const search = (query: string, topK: number): Neighbour[] => {
    requireInteger('topK', topK);
    const words = analyze(query).flatMap((word) => index.findWord(word) ?? []);
    const terms = new Map<number, Term>();
    for (const word of words) {
      const { passages, codes } = index.postings(word);
      const term = terms.get(word) ?? { passages, codes, idf: idf(word), repeats: 0, bound: 0 };
      term.repeats++;
      term.bound += term.idf * index.largestGain(word);
      terms.set(word, term);
    }
    const top = new TopK(topK);
    const offered = new Set<number>();
    /** Scores a passage by all words, once. Returns the `topK`-th best score so far. */
    const offer = (passage: number): number => {
      if (!offered.has(passage))
        top.offer(
          passage,
          sum(words, (word) => sums.gain(terms.get(word)!, passage)),
        );
      offered.add(passage);
      return top.worst;
    };
    sums.offerCandidates([...terms.values()], topK, offer);
    return top.best;
  };
  return { search, fullScore: (query) => sum(analyze(query), (word) => idf(index.findWord(word))) };
}

/** Nearly all of a search's time. V8 compiles plain loops in small functions well. */
class PartialScores {
  /** Single precision halves the cache needed. */
  private readonly scores: Float32Array;
  private readonly touched: Uint32Array;
  private numTouched = 0;

  constructor(private readonly weights: Weights) {
    this.scores = new Float32Array(weights.norms.length);
    this.touched = new Uint32Array(weights.norms.length);
  }

  /** Offers all passages that can be among the best, and few others. */
  offerCandidates(terms: readonly Term[], topK: number, offer: (passage: number) => number): void {
    const { scores, touched } = this;
    const sorted = terms.toSorted((a, b) => b.bound - a.bound);
    // The largest amount the terms from the i-th on can add.
    const bounds = [...sorted, 0].map((_, i) => sum(sorted.slice(i), ({ bound }) => bound));
    let [i, least] = [0, 0];
    const offerBest = (passages: ArrayLike<number>): void => {
      for (const passage of this.findBest(passages, topK))
        least = Math.max(least, offer(passage) * (1 - ROUNDING));
    };
    while (i < sorted.length && bounds[i] >= least) {
      this.add(sorted[i++]);
      offerBest(touched.subarray(0, this.numTouched));
    }
    let candidates = this.keep(touched.subarray(0, this.numTouched), least - bounds[i]);
    for (; i < sorted.length; i++) {
      if (sorted[i].passages.length < SCANNED * candidates.length) this.addToScored(sorted[i]);
      else
        for (const passage of candidates)
          scores[passage] += sorted[i].repeats * this.gain(sorted[i], passage);
      offerBest(candidates);
      candidates = this.keep(candidates, least - bounds[i + 1]);
    }
    candidates.forEach(offer);
    for (let j = 0; j < this.numTouched; j++) scores[touched[j]] = 0;
    this.numTouched = 0;
  }

  private add({ passages, codes, idf, repeats }: Term): void {
    const { scores, touched } = this;
    const { frequencies, norms } = this.weights;
    const weight = repeats * idf;
    let { numTouched } = this;
    for (let at = 0; at < passages.length; at++) {
      const passage = passages[at];
      const frequency = frequencies[codes[at]];
      if (scores[passage] === 0) touched[numTouched++] = passage;
      scores[passage] += (weight * frequency) / (frequency + norms[passage]);
    }
    this.numTouched = numTouched;
  }

  private addToScored({ passages, codes, idf, repeats }: Term): void {
    const { scores } = this;
    const { frequencies, norms } = this.weights;
    const weight = repeats * idf;
    for (let at = 0; at < passages.length; at++) {
      const passage = passages[at];
      if (scores[passage] === 0) continue;
      const frequency = frequencies[codes[at]];
      scores[passage] += (weight * frequency) / (frequency + norms[passage]);
    }
  }

  private findBest(passages: ArrayLike<number>, topK: number): number[] {
    const { scores } = this;
    const top = new TopK(topK);
    for (let j = 0; j < passages.length; j++)
      if (scores[passages[j]] > top.worst) top.offer(passages[j], scores[passages[j]]);
    return top.best.map(({ index }) => index);
  }

  private keep(passages: ArrayLike<number>, least: number): number[] {
    const kept: number[] = [];
    for (let j = 0; j < passages.length; j++)
      if (this.scores[passages[j]] >= least) kept.push(passages[j]);
    return kept;
  }

  /** What a term adds to a passage's score for each occurrence in the query. */
  gain({ passages, codes, idf }: Term, passage: number): number {
    let [low, high] = [0, passages.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (passages[middle] < passage) low = middle + 1;
      else high = middle;
    }
    if (passages[low] !== passage) return 0;
    const frequency = this.weights.frequencies[codes[low]];
    return (idf * frequency) / (frequency + this.weights.norms[passage]);
  }
}

/** Lucene's inverse document frequency, in nats; always positive. */
function inverseDocumentFrequency(numPassages: number, documentFrequency: number): number {
  return Math.log(1 + (numPassages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
