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
