/** SQuAD's answer normalisation, exact match and F1, used by Eq. 3 and all reports. */

import { spaceWords } from './words.js';

/** Python's `string.punctuation`: ASCII only, as in SQuAD's script. */
const PUNCTUATION = /[!-/:-@[-`{-~]/g;
/** Has Python's word boundaries, which treat letters of all scripts as letters. */
const ARTICLES = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** What Python's `split` treats as white space, including ASCII's four separators. */
const WHITE = new RegExp(`[\\t-\\r\\x85\\p{Z}${String.fromCharCode(28, 29, 30, 31)}]+`, 'gu');

/** Lower-cases, removes punctuation and articles, and collapses white space. */
export function normalizeAnswer(text: string): string {
  return text
    .toLowerCase()
    .replace(PUNCTUATION, '')
    .replace(ARTICLES, ' ')
    .replace(WHITE, ' ')
    .replace(/^ | $/g, '');
}

/** The words of the normalised text; {@link spaceWords} splits scripts without spaces. */
export const normalizedWords = (text: string): string[] =>
  spaceWords(normalizeAnswer(text)).split(' ');

/** Apostrophes and hyphens, dropped like those of ASCII. */
const INNER_PUNCTUATION = /[‘’\u2010\u2011]/g;
/** Quotes, dashes and other punctuation beyond ASCII, which SQuAD's script keeps. */
const OTHER_PUNCTUATION = /(?![!-~])\p{P}/gu;

/**
 * Pads the normalised words with spaces, so that `includes` matches whole words only, in
 * any punctuation and whether accents are composed or not (as DPR's `has_answer`).
 */
export function paddedWords(text: string): string {
  const plain = text
    .normalize('NFC')
    .replace(INNER_PUNCTUATION, '')
    .replace(OTHER_PUNCTUATION, ' ');
  return ` ${normalizedWords(plain).join(' ')} `;
}

/** 1 if the normalised answer equals a normalised gold answer; null gives 0. */
export function exactMatch(answer: string | null, goldenAnswers: readonly string[]): 0 | 1 {
  if (answer === null) return 0;
  const normalized = normalizeAnswer(answer);
  return goldenAnswers.some((golden) => normalizeAnswer(golden) === normalized) ? 1 : 0;
}

/** These get no partial credit. */
const CLOSED_ANSWERS = new Set(['yes', 'no', 'noanswer']);

/** The answers that a passage can state, padded: not yes or no, nor without letters. */
export const statableAnswers = (answers: readonly string[]): string[] =>
  answers
    .filter((answer) => !['', ...CLOSED_ANSWERS].includes(normalizeAnswer(answer)))
    .map(paddedWords);

function pairF1(answer: string, golden: string): number {
  if (answer !== golden && (CLOSED_ANSWERS.has(answer) || CLOSED_ANSWERS.has(golden))) return 0;
  const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
  const [answerWords, goldenWords] = [words(answer), words(golden)];
  const left = new Map<string, number>();
  for (const word of goldenWords) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of answerWords) {
    const count = left.get(word) ?? 0;
    if (count > 0) common++;
    left.set(word, count - 1);
  }
  if (common === 0) return 0;
  const [precision, recall] = [common / answerWords.length, common / goldenWords.length];
  return (2 * precision * recall) / (precision + recall);
}

/**
 * The highest word-overlap F1 with a gold answer, in [0, 1]. As in HotpotQA's script,
 * `yes`, `no` and `noanswer` get no partial credit.
 */
export function tokenF1(answer: string | null, goldenAnswers: readonly string[]): number {
  if (answer === null) return 0;
  const normalized = normalizeAnswer(answer);
  return Math.max(0, ...goldenAnswers.map((golden) => pairF1(normalized, normalizeAnswer(golden))));
}
