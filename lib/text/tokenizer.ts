import * as huggingFace from '@huggingface/tokenizers';
import { max } from 'd3-array';
import { z } from 'zod';
import { chatTemplate, specialTokens } from './chat.js';

/** What is used of the package, whose own types do not resolve under NodeNext. */
interface HuggingFaceTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: { skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
  model: { unk_token_id?: number };
}
const { Tokenizer: HuggingFaceTokenizer } = huggingFace as unknown as {
  Tokenizer: new (tokenizerJson: object, tokenizerConfig: object) => HuggingFaceTokenizer;
};

/** Text to token ids and back. */
export interface Tokenizer {
  /**
   * Never gives a special token: the name of one in a text, such as `<eos>` in a passage,
   * becomes several ordinary ones.
   */
  encode(text: string): number[];
  /**
   * A user's message in the model's chat template, up to where the model answers, for
   * models that have one. Only the template's own special tokens are special.
   */
  encodeChat?: (message: string) => { text: string; tokenIds: number[] };
  /** Shows special tokens by their names. */
  decode(tokenIds: readonly number[]): string;
  /** The id of a whole token, undefined when the vocabulary has none. */
  tokenId(token: string): number | undefined;
  /** Ids are below it. */
  vocabSize: number;
}

/** A tokenizer of files, which say what their model expects around a text. */
export interface FileTokenizer extends Tokenizer {
  /**
   * Special tokens before and after a text, such as [CLS] and [SEP]; `encode` leaves them
   * out.
   */
  around: { before: number[]; after: number[] };
  /**
   * Text for somebody who encodes it again and takes the name of a special token for the
   * token: what `encode` made of such a name gets a space into it, what is a special
   * token keeps its name.
   */
  decodeForOthers(tokenIds: readonly number[]): string;
}

/** More than any vocabulary holds: the package makes lists of the largest id's length. */
export const MAX_VOCAB_SIZE = 2 ** 22;

const id = z
  .int()
  .min(0)
  .max(MAX_VOCAB_SIZE - 1);
/** Where ids are: in a dictionary, or, in a unigram model, by the place in a list. */
const tokenizerSchema = z.object({
  model: z.object({
    vocab: z.union([z.record(z.string(), id), z.array(z.unknown()).max(MAX_VOCAB_SIZE)]),
  }),
  added_tokens: z
    .array(z.object({ id, content: z.string().min(1), special: z.boolean().default(false) }))
    .default([]),
});

/**
 * The package trusts the JSON: what does not fit shows where it is used, by a text of any
 * kind.
 */
function readTokenizer(json: object): HuggingFaceTokenizer {
  try {
    // Decoded text is to be what the ids say, whatever the model's own settings are.
    const tokenizer = new HuggingFaceTokenizer(json, { clean_up_tokenization_spaces: false });
    tokenizer.decode(tokenizer.encode('A a, 1\n', { add_special_tokens: false }).ids, {
      skip_special_tokens: false,
    });
    return tokenizer;
  } catch (cause) {
    throw new Error(`Expected the JSON of a tokenizer.json, but ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * A tokenizer from the JSON objects of a Hugging Face `tokenizer.json` and
 * `tokenizer_config.json`.
 * @throws Error when an object is no such file
 */
export function createTokenizer(
  tokenizerJson: object,
  tokenizerConfig: object = {},
): FileTokenizer {
  const parsed = tokenizerSchema.safeParse(tokenizerJson);
  if (!parsed.success)
    throw new Error(`Expected the JSON of a tokenizer.json, but ${z.prettifyError(parsed.error)}`);
  const { model, added_tokens: added } = parsed.data;
  const { vocab } = model;
  const ids = [
    ...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab)),
    ...added.map((token) => token.id),
  ];
  const tokenizer = readTokenizer(tokenizerJson);
  const named = specialTokens(tokenizerConfig).map((content) => ({
    content,
    id: tokenizer.token_to_id(content),
  }));
  const special = [...added.filter((token) => token.special), ...named];
  const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  // After the first character of a special token's name: a part of a split text holds no
  // such name.
  const insideNames = special.map(
    ({ content: [first, ...rest] }) => `(?<=${escaped(first)})(?=${escaped(rest.join(''))})`,
  );
  const breaks = new RegExp(['(?!)', ...insideNames].join('|'));
  // What stands for unknown characters controls nothing. The others may still come of a
  // name that only normalising makes.
  const specialIds = new Set(special.map((token) => token.id));
  const controls = new Set([...specialIds].filter((id) => id !== tokenizer.model.unk_token_id));
  const encodePart = (text: string): number[] =>
    text === '' ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids;
  const encode = (text: string): number[] =>
    text
      .split(breaks)
      .flatMap(encodePart)
      .filter((id) => !controls.has(id));
  const around = (): FileTokenizer['around'] => {
    const [inner, all] = [false, true].map(
      (flag) => tokenizer.encode('a', { add_special_tokens: flag }).ids,
    );
    const from = inner.length === 0 ? all.length : all.indexOf(inner[0]);
    return { before: all.slice(0, from), after: all.slice(from + inner.length) };
  };
  const decode = (ids: readonly number[]): string =>
    ids.length === 0 ? '' : tokenizer.decode(ids, { skip_special_tokens: false });
  const decodeForOthers = (ids: readonly number[]): string => {
    const runs: number[][] = [];
    for (const [i, id] of ids.entries()) {
      if (i > 0 && specialIds.has(id) === specialIds.has(ids[i - 1])) runs.at(-1)!.push(id);
      else runs.push([id]);
    }
    return runs
      .map((run) => (specialIds.has(run[0]) ? decode(run) : decode(run).split(breaks).join(' ')))
      .join('');
  };
  const template = chatTemplate(tokenizerConfig);
  /** @param content the message, which the template may have trimmed */
  const encodeChat = (text: string, content: string): { text: string; tokenIds: number[] } => {
    const from = text.lastIndexOf(content);
    if (content === '' || from < 0)
      throw new Error(
        `Expected the chat template to show the message as it is, but ${JSON.stringify(content.slice(0, 40))} is not in it. Use --prompt-form full.`,
      );
    // A message without the name of a special token is encoded together with what
    // surrounds it, as transformers does.
    const isPlain = !breaks.test(content) && !encodePart(content).some((id) => controls.has(id));
    const tokenIds = isPlain
      ? encodePart(text)
      : [
          ...encodePart(text.slice(0, from)),
          ...encode(content),
          ...encodePart(text.slice(from + content.length)),
        ];
    return { text, tokenIds };
  };
  return {
    encode,
    around: around(),
    ...(template && { encodeChat: (message) => encodeChat(template(message), message.trim()) }),
    decode,
    decodeForOthers,
    tokenId: (token) => tokenizer.token_to_id(token),
    vocabSize: 1 + (max(ids) ?? -1),
  };
}
