/** Encodes texts in which names of special tokens, such as `<eos>`, are plain text. */
import { escapeRegex } from '../regex.js';
import type { PackageTokenizer } from './reference-tokenizer.js';

/** @param special the special tokens */
export function createPlainTextEncoder(
  tokenizer: PackageTokenizer,
  special: readonly { content: string; id?: number }[],
) {
  // Splits after the first character of a special token's name, so that no part contains
  // the whole name.
  const insideNames = special.map(
    ({ content: [first, ...rest] }) =>
      `(?<=${escapeRegex(first)})(?=${escapeRegex(rest.join(''))})`,
  );
  const breaks = new RegExp(['(?!)', ...insideNames].join('|'));
  // Normalisation can still produce special tokens, such as `<eos>` from full-width
  // letters. The unknown token is harmless.
  const specialIds = new Set(special.map(({ id }) => id));
  const isSpecial = (id: number): boolean =>
    specialIds.has(id) && id !== tokenizer.model.unk_token_id;
  const parse = (text: string): number[] =>
    text === '' ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids;
  const hasSpecial = (text: string): boolean => parse(text).some(isSpecial);
  const encodePart = (text: string): number[] => {
    const whole = parse(text);
    if (!whole.some(isSpecial)) return whole;
    const characters = [...text];
    const ids: number[][] = [];
    for (let from = 0; from < characters.length; ) {
      const part = (length: number): string => characters.slice(from, from + length).join('');
      // The longest part that does not yet complete a special token. Lengths are doubled
      // first, so that a text with many such tokens takes no longer per character.
      let [length, tooLong] = [0, 16];
      while (from + length < characters.length && !hasSpecial(part(tooLong)))
        [length, tooLong] = [tooLong, 2 * tooLong];
      while (tooLong - length > 1) {
        const middle = (length + tooLong) >> 1;
        if (hasSpecial(part(middle))) tooLong = middle;
        else length = middle;
      }
      ids.push(parse(part(length)));
      // A character that is a special token by itself has no other spelling.
      from += Math.max(length, 1);
    }
    return ids.flat();
  };
  return {
    /** Never yields a special token. */
    encode: (text: string): number[] => text.split(breaks).flatMap(encodePart),
    /** Encodes a text whose special tokens are meant, such as a chat template's. */
    parse,
    /** Whether both give the same ids. */
    isPlain: (text: string): boolean => !breaks.test(text) && !hasSpecial(text),
    /** Puts a space inside each name of a special token. */
    breakNames: (text: string): string => text.split(breaks).join(' '),
  };
}

export type PlainTextEncoder = ReturnType<typeof createPlainTextEncoder>;
