import * as huggingFace from '@huggingface/tokenizers';
import { max } from 'd3-array';
import { z } from 'zod';

/** What is used of the package, whose own types do not resolve under NodeNext. */
interface HuggingFaceTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: { skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
}
const { Tokenizer: HuggingFaceTokenizer } = huggingFace as unknown as {
  Tokenizer: new (tokenizerJson: object, tokenizerConfig: object) => HuggingFaceTokenizer;
};

/** Text to token ids and back; no special tokens are added or hidden. */
export interface Tokenizer {
  encode(text: string): number[];
  decode(tokenIds: readonly number[]): string;
  /** The id of a whole token, undefined when the vocabulary has none. */
  tokenId(token: string): number | undefined;
  /** Ids are below it. */
  vocabSize: number;
}

/** More than any vocabulary holds: the package makes lists of the largest id's length. */
export const MAX_VOCAB_SIZE = 2 ** 22;

const id = z
  .int()
  .min(0)
  .max(MAX_VOCAB_SIZE - 1);
/** Where ids are: in a dictionary, or, in a unigram model, by the place in a list. */
const tokenizerSchema = z.object({
  model: z.object({ vocab: z.union([z.record(z.string(), id), z.array(z.unknown()).max(MAX_VOCAB_SIZE)]) }),
  added_tokens: z.array(z.object({ id })).default([]),
});

/**
 * A tokenizer from the JSON object of a Hugging Face `tokenizer.json`.
 * @throws Error when the object is no tokenizer
 */
export function createTokenizer(tokenizerJson: object, tokenizerConfig: object = {}): Tokenizer {
  const parsed = tokenizerSchema.safeParse(tokenizerJson);
  if (!parsed.success)
    throw new Error(`Expected the JSON of a tokenizer.json, but ${z.prettifyError(parsed.error)}`);
  const { model, added_tokens: added } = parsed.data;
  const { vocab } = model;
  const ids = [
    ...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab)),
    ...added.map((token) => token.id),
  ];
  const tokenizer = new HuggingFaceTokenizer(tokenizerJson, {
    clean_up_tokenization_spaces: false,
    ...tokenizerConfig,
  });
  return {
    encode: (text) => (text === '' ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids),
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode(ids, { skip_special_tokens: false })),
    tokenId: (token) => tokenizer.token_to_id(token),
    vocabSize: 1 + (max(ids) ?? -1),
  };
}
