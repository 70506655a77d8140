/** Turns texts into the words that BM25 indexes. */
import { stemmer } from 'stemmer';
import { createRegistry } from '../registry.js';
import { splitWords } from '../text/words.js';

/** Turns a text into words for BM25, like Lucene's analyzers. */
interface Analyzer {
  readonly name: string;
  readonly analyze: (text: string) => string[];
}

/** Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET, also used by bm25s. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be but by for if in into is it no not of on or such ' +
    'that the their then there these they this to was will with'
  ).split(' '),
);

/** Maximum number of cached stems, some 50 MB. */
const MAX_STEMS = 500_000;
const stems = new Map<string, string>();

/** Porter's stemmer (1980), with his own two changes as in Lucene. */
function stem(word: string): string {
  const cached = stems.get(word);
  if (cached !== undefined) return cached;
  const result = stemmer(word);
  if (stems.size < MAX_STEMS) stems.set(word, result);
  return result;
}

export const ANALYZERS = createRegistry<Analyzer>('analyzer', [
  // Suits queries that are proper names.
  { name: 'plain', analyze: splitWords },
  // Stemmed and without stop words, like Lucene's EnglishAnalyzer; suits whole sentences.
  {
    name: 'english',
    analyze: (text) =>
      splitWords(text).flatMap((word) => (STOP_WORDS.has(word) ? [] : [stem(word)])),
  },
]);
export const DEFAULT_ANALYZER = 'plain';
