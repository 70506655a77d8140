/**
 * Ways to make words of a text for BM25, by name, as Lucene's analyzers. A new one is its
 * line here.
 */
import { stemmer } from 'stemmer';
import { createRegistry } from '../registry.js';
import { splitWords } from './words.js';

export interface Analyzer {
  /** On the command line and in configurations. */
  readonly name: string;
  readonly analyze: (text: string) => string[];
}

/** Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET, which bm25s has as well. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be but by for if in into is it no not of on or such ' +
    'that the their then there these they this to was will with'
  ).split(' '),
);

/** Texts repeat their words: each is stemmed once. */
const stems = new Map<string, string>();
/** Kept at most, some 50 MB. */
const MOST_STEMS = 500_000;

/**
 * Porter's stemmer (1980) with the two departures of his own implementation, as Lucene
 * has it.
 */
function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = stemmer(word);
  if (stems.size < MOST_STEMS) stems.set(word, stem);
  return stem;
}

export const ANALYZERS = createRegistry<Analyzer>('analyzer', [
  { name: 'plain', analyze: splitWords },
  {
    /**
     * Without stop words, stemmed, as Lucene's EnglishAnalyzer and Pyserini's indexes of
     * English Wikipedia.
     */
    name: 'english',
    analyze: (text) =>
      splitWords(text).flatMap((word) => (STOP_WORDS.has(word) ? [] : [stemOf(word)])),
  },
]);

/**
 * The words of each passage as they stand, which suits proper names; stemming gains where
 * questions are in whole sentences.
 */
export const DEFAULT_ANALYZER = 'plain';
