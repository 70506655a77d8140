/** Splits texts of any language into words. */

/**
 * Accents and vowel points, which are optional in these scripts, as is the dot of Hindi's
 * loanwords. In others, marks are vowels or voicing and make another word.
 */
const OPTIONAL_MARKS =
  /(?<=(?:^|[^\p{L}\p{M}]|[\p{sc=Latin}\p{sc=Greek}\p{sc=Arabic}\p{sc=Hebrew}])\p{M}*)\p{M}|[\p{VS}\u093c]/gu;
/** {@link OPTIONAL_MARKS} with its context: on whole texts, its lookbehind is slow. */
const BEYOND_ASCII = /[^]?[\x80-\uffff]+/g;
const HAS_BEYOND_ASCII = /[\x80-\uffff]/;
const HAS_OTHERS = /['\x80-\uffff]/;
/** Spellings that NFKC keeps apart; Latin letters as in Lucene's ASCIIFolding. */
const FOLDED: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ə: 'a',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ł: 'l',
  ŧ: 't',
  þ: 'th',
  ŋ: 'n',
  ɓ: 'b',
  ɗ: 'd',
  ƙ: 'k',
  ɛ: 'e',
  ɔ: 'o',
  ё: 'е', // Russian texts mostly leave the dots out
  ی: 'ي', // Persian, as in Lucene
  ک: 'ك',
  ى: 'ي', // written for each other in Arabic, as in Lucene
  ة: 'ه',
  ہ: 'ه', // Urdu
  '\u0901': '\u0902', // Hindi's nasal vowels
  '\u0e4d\u0e32': '\u0e33', // Thai and Lao am, which NFKD takes apart
  '\u0ecd\u0eb2': '\u0eb3',
};
/** Persian, which NFKD takes apart into another letter and a mark. */
const HEH_WITH_YEH = /\u06c0|\u06d5\u0654/g;
/** Hindi's nasals before consonants of their place, also written as anusvara. */
const NASALS = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/g;
const FOLDED_LETTERS = new RegExp(Object.keys(FOLDED).join('|'), 'g');
const DIGIT = /\p{Nd}/u;
const FOREIGN_DIGITS = /(?![0-9])\p{Nd}/gu;
/**
 * Soft hyphens, joiners, bidi marks, Arabic's tatweel and transliteration's apostrophes
 * (Hawaiʻi, Qurʾan), which do not separate words.
 */
const INVISIBLE = /(?!\u200b)\p{Cf}|[\u0640\u02b9-\u02bf]/gu;
// Lookbehinds come second: a pattern that starts with one is tried at every character.
const POSSESSIVE = /['’]s(?<=\p{L}['’]s)(?![\p{L}\p{N}])/gu;
const INNER_APOSTROPHE = /['‘’׳](?<=\p{L}['‘’׳])(?=\p{L})/gu;
const ASCII_WORDS = /[a-z0-9]+/g;
const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*|\p{Emoji_Presentation}/gu;

/** Scripts without spaces, split per character, per run, or by a dictionary. */
const [CHARACTERS, RUNS, DICTIONARY] = [
  '\\p{sc=Han}\\p{sc=Hiragana}',
  '\\p{sc=Katakana}',
  '\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\\p{sc=Tibetan}',
];
const UNSPACED = `${CHARACTERS}${RUNS}${DICTIONARY}`;
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
const IS_DICTIONARY = new RegExp(`^[${DICTIONARY}]`, 'u');
/** Katakana with length and voicing marks. */
const RUN = `[${RUNS}][${RUNS}ーｰﾞﾟ\\p{M}]*`;
const PARTS = new RegExp(`[${CHARACTERS}]\\p{M}*|${RUN}|[${DICTIONARY}]+|[^\\s${UNSPACED}]+`, 'gu');
const SEPARATED = new RegExp(`[${CHARACTERS}${DICTIONARY}]\\p{M}*|${RUN}`, 'gu');
const HAS_LETTER = /[\p{L}\p{N}]/u;

/**
 * NFKC without case; Latin, Greek, Arabic and Hebrew lose accents and points, and the
 * digits of every script become ASCII, as in Lucene's DecimalDigitFilter.
 */
export function foldText(text: string): string {
  if (!HAS_BEYOND_ASCII.test(text)) return text.toLowerCase();
  return text
    .replace(HEH_WITH_YEH, 'ه')
    .normalize('NFKD')
    .replace(BEYOND_ASCII, (run) => run.replace(OPTIONAL_MARKS, ''))
    .toLowerCase()
    .toUpperCase() // ß becomes SS, ı becomes I
    .toLowerCase()
    .normalize('NFC')
    .replace(NASALS, '\u0902')
    .replace(FOLDED_LETTERS, (letter) => FOLDED[letter])
    .replace(FOREIGN_DIGITS, toAsciiDigit);
}

/** Each script's ten digits are consecutive in Unicode; some runs adjoin others. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let numBefore = 0;
  while (DIGIT.test(String.fromCodePoint(code - numBefore - 1))) numBefore++;
  return String(numBefore % 10);
}

/**
 * Splits into folded runs of letters and digits, without possessive 's. Han and Hiragana
 * characters, runs of Katakana, and emoji are words, as in Lucene's StandardAnalyzer;
 * Thai, Lao, Khmer and Burmese are split by a dictionary, as in Lucene's ICU analyzer.
 */
export function splitWords(text: string): string[] {
  const folded = foldText(text);
  // A fast path with the same result.
  if (!HAS_OTHERS.test(folded)) return folded.match(ASCII_WORDS) ?? [];
  const words =
    folded
      .replace(INVISIBLE, '')
      .replace(POSSESSIVE, '')
      .replace(INNER_APOSTROPHE, '')
      .match(WORDS) ?? [];
  return HAS_UNSPACED.test(folded)
    ? words.flatMap((word) => locateParts(word).map(({ text }) => text))
    : words;
}

/** Counts the words between spaces; in other scripts, as {@link splitWords} does. */
export const countWords = (text: string): number => locateWords(text).length;

/** The first `maxWords` words, with single spaces; `Infinity` returns the text as is. */
export function cutWords(text: string, maxWords: number): string {
  if (maxWords === Infinity) return text;
  const kept: string[] = [];
  let numLeft = maxWords;
  for (const run of text.trim().split(/\s+/)) {
    if (numLeft <= 0) break;
    const starts = locateWords(run);
    kept.push(run.slice(0, starts[numLeft]));
    numLeft -= starts.length;
  }
  return kept.join(' ');
}

/** Where each word of a text starts; punctuation belongs to the word before it. */
export function locateWords(text: string): number[] {
  return Array.from(text.matchAll(/\S+/g)).flatMap(({ 0: run, index }) => {
    const starts = HAS_UNSPACED.test(run)
      ? locateParts(run).flatMap(({ text, start }) => (HAS_LETTER.test(text) ? [start] : []))
      : [0];
    return starts.map((start, i) => index + (i === 0 ? 0 : start));
  });
}

/**
 * Puts spaces around possible words in scripts without spaces, so that a word is found
 * inside a sentence wherever a dictionary would split it.
 */
export const spaceWords = (text: string): string =>
  HAS_UNSPACED.test(text) ? text.replace(SEPARATED, ' $& ').replace(/\s+/g, ' ').trim() : text;

let segmenter: Intl.Segmenter | undefined;

/** Splits a run of characters between spaces into words and their positions. */
function locateParts(run: string): { text: string; start: number }[] {
  return Array.from(run.matchAll(PARTS)).flatMap(({ 0: text, index }) => {
    if (!IS_DICTIONARY.test(text)) return [{ text, start: index }];
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
    return Array.from(segmenter.segment(text), (part) => ({
      text: part.segment,
      start: index + part.index,
    }));
  });
}
