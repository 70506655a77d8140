/**
 * Words of English text for lexical retrieval: compatibility-normalised, accents folded ("Amélie" = "amelie"),
 * lower-cased, possessive 's dropped, runs of Unicode letters and digits. Nothing is stemmed, because queries are mostly
 * proper names.
 */
export function splitWords(text: string): string[] {
  const folded = text.normalize('NFKD').replace(MARKS, '').toLowerCase();
  return folded.replace(POSSESSIVE, '').replace(INNER_APOSTROPHE, '').match(WORDS) ?? [];
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
