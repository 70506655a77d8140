import { stemmer } from 'stemmer';
import { createRegistry } from '../registry.js';

//==== lib/retrieval/words.ts
/** Compatibility-normalised, accents folded ("Amélie" = "amelie"), lower-cased. */
export const foldText = (text: string): string =>
  text.normalize('NFKD').replace(MARKS, '').toLowerCase();

/**
 * Words of English text for lexical retrieval: folded, possessive 's dropped, runs of
 * Unicode letters and digits. Nothing is stemmed, because queries are mostly proper
 * names.
 */
export function splitWords(text: string): string[] {
  return foldText(text).replace(POSSESSIVE, '').replace(INNER_APOSTROPHE, '').match(WORDS) ?? [];
}

const MARKS = /\p{M}/gu;
const POSSESSIVE = /(?<=\p{L})['’]s(?![\p{L}\p{N}])/gu;
const INNER_APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;
const WORDS = /[\p{L}\p{N}]+/gu;

/** The first line of a passage's contents and the rest. */
export function splitTitle(contents: string): { title: string; text: string } {
  const end = contents.indexOf('\n');
  return end < 0
    ? { title: contents, text: '' }
    : { title: contents.slice(0, end), text: contents.slice(end + 1) };
}

//==== lib/retrieval/analyzers.ts
/**
 * Ways to make words of a text for BM25, by name, as Lucene's analyzers. A new one is its
 * line here.
 */

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
