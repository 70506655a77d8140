/** Splits texts of any language into words. */

/**
 * Accents and vowel points, which are optional in writing. In other scripts marks are
 * vowels or voicing and make another word.
 */
const OPTIONAL_MARKS =
  /(?<=(?:^|[^\p{L}\p{M}]|[\p{sc=Latin}\p{sc=Greek}\p{sc=Arabic}\p{sc=Hebrew}])\p{M}*)\p{M}|\p{VS}/gu;
/** Context that {@link OPTIONAL_MARKS} needs: its lookbehind is slow on long texts. */
const BEYOND_ASCII = /[^]?[\x80-\uffff]+/g;
const HAS_BEYOND_ASCII = /[\x80-\uffff]/;
const HAS_OTHERS = /['\x80-\uffff]/;
/** Soft hyphens, joiners, bidi marks, Arabic's stretching: they divide no word. */
const INVISIBLE = /(?!\u200b)\p{Cf}|\u0640/gu;
// A pattern that starts with a lookbehind would be tried at every character.
const POSSESSIVE = /['’]s(?<=\p{L}['’]s)(?![\p{L}\p{N}])/gu;
const INNER_APOSTROPHE = /['’](?<=\p{L}['’])(?=\p{L})/gu;
const ASCII_WORDS = /[a-z0-9]+/g;
const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*|\p{Emoji_Presentation}/gu;

/** Scripts without spaces: a word per character, per run, or by a dictionary. */
const [CHARACTERS, RUNS, DICTIONARY] = [
  '\\p{sc=Han}\\p{sc=Hiragana}',
  '\\p{sc=Katakana}',
  '\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\\p{sc=Tibetan}',
];
const UNSPACED = `${CHARACTERS}${RUNS}${DICTIONARY}`;
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
const IS_DICTIONARY = new RegExp(`^[${DICTIONARY}]`, 'u');
/** With what lengthens or voices them. */
const RUN = `[${RUNS}][${RUNS}ーｰﾞﾟ\\p{M}]*`;
const PARTS = new RegExp(`[${CHARACTERS}]\\p{M}*|${RUN}|[${DICTIONARY}]+|[^\\s${UNSPACED}]+`, 'gu');
const SEPARATED = new RegExp(`[${CHARACTERS}${DICTIONARY}]\\p{M}*|${RUN}`, 'gu');
const HAS_LETTER = /[\p{L}\p{N}]/u;

/** NFKC without case; Latin, Greek, Arabic and Hebrew lose their accents and points. */
export function foldText(text: string): string {
  if (!HAS_BEYOND_ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replace(BEYOND_ASCII, (run) => run.replace(OPTIONAL_MARKS, ''))
    .toLowerCase()
    .toUpperCase() // ß becomes SS, ı becomes I.
    .toLowerCase()
    .normalize('NFC');
}

/**
 * Folded runs of letters and digits, without possessive 's. Han and Hiragana characters,
 * runs of Katakana and emoji are words of their own, as in Lucene's StandardAnalyzer;
 * Thai, Lao, Khmer and Burmese are split by a dictionary, as in Lucene's ICU analyzer.
 */
export function splitWords(text: string): string[] {
  const folded = foldText(text);
  // The same, but faster.
  if (!HAS_OTHERS.test(folded)) return folded.match(ASCII_WORDS) ?? [];
  const words =
    folded
      .replace(INVISIBLE, '')
      .replace(POSSESSIVE, '')
      .replace(INNER_APOSTROPHE, '')
      .match(WORDS) ?? [];
  return HAS_UNSPACED.test(text)
    ? words.flatMap((word) => locateParts(word).map(({ text }) => text))
    : words;
}

/** The number of words between spaces; for other scripts see {@link splitWords}. */
export const countWords = (text: string): number => locateWords(text).length;

/** The first words of a text, joined by single spaces if it is cut or has others. */
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

/** Where the words of a text start; punctuation belongs to the word before it. */
export function locateWords(text: string): number[] {
  return Array.from(text.matchAll(/\S+/g)).flatMap(({ 0: run, index }) => {
    const starts = HAS_UNSPACED.test(run)
      ? locateParts(run).flatMap(({ text, start }) => (HAS_LETTER.test(text) ? [start] : []))
      : [0];
    return starts.map((start, i) => index + (i === 0 ? 0 : start));
  });
}

/**
 * Spaces around what could be a word in scripts without spaces, so that a word is found
 * inside a sentence, wherever a dictionary would divide it.
 */
export const spaceWords = (text: string): string =>
  HAS_UNSPACED.test(text) ? text.replace(SEPARATED, ' $& ').replace(/\s+/g, ' ').trim() : text;

let segmenter: Intl.Segmenter | undefined;

/** The parts of a run without spaces. */
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
