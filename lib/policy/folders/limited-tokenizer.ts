/** Tokenizers of other people's files: no expression or template may run for minutes. */
import { join } from 'node:path';
import { shortPath } from '../../io/paths.js';
import { withTimeLimit } from '../../io/time-limit.js';
import { readTokenizerConfig, readTokenizerJson } from '../../io/tokenizer-config.js';
import { createTokenizer, type FileTokenizer } from '../../text/tokenizer/tokenizer.js';

const LONG_TEXT = 1000;

/** Creates a tokenizer with time limits for its expressions, words and chat template. */
export function createLimitedTokenizer(json: object, config: object, file: string): FileTokenizer {
  const limit = <T>(length: number, compute: () => T): T =>
    withTimeLimit(shortPath(file), length, compute);
  const tokenizer = limit(0, () => createTokenizer(json, config));
  const { encodeChat } = tokenizer;
  // For a tokenizer without regular expressions, limiting every token costs too much; but
  // a long word can take minutes, too.
  const { normalizer, pre_tokenizer, decoder } = json as Record<string, unknown>;
  const hasPattern = (...steps: unknown[]): boolean => JSON.stringify(steps).includes('"Regex"');
  const isLimited = hasPattern(normalizer, pre_tokenizer);
  return {
    ...tokenizer,
    encode: (text) =>
      isLimited || text.length > LONG_TEXT
        ? limit(text.length, () => tokenizer.encode(text))
        : tokenizer.encode(text),
    ...(encodeChat && {
      encodeChat: (message) =>
        withTimeLimit(`${shortPath(file)} or its chat template`, message.length, () =>
          encodeChat(message),
        ),
    }),
    ...(hasPattern(decoder) && {
      decode: (ids) => limit(ids.length, () => tokenizer.decode(ids)),
      decodeForOthers: (ids) => limit(ids.length, () => tokenizer.decodeForOthers(ids)),
    }),
  };
}

/** Reads the tokenizer of a folder. @throws Error if `tokenizer.json` is missing */
export async function readTokenizer(folder: string): Promise<FileTokenizer> {
  const file = join(folder, 'tokenizer.json');
  const json = await readTokenizerJson(folder);
  return createLimitedTokenizer(json, await readTokenizerConfig(folder), file);
}
