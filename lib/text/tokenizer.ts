import * as huggingFace from '@huggingface/tokenizers';

/** What is used of the package, whose own types do not resolve under NodeNext. */
interface HuggingFaceTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: { skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
  get_vocab(): Map<string, number>;
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

/**
 * A tokenizer from the JSON object of a Hugging Face `tokenizer.json`.
 * @throws Error when the object is no tokenizer
 */
export function createTokenizer(tokenizerJson: object, tokenizerConfig: object = {}): Tokenizer {
  if (!('model' in tokenizerJson)) {
    throw new Error('Expected the JSON of a tokenizer.json with a "model", but it has none.');
  }
  const tokenizer = new HuggingFaceTokenizer(tokenizerJson, {
    clean_up_tokenization_spaces: false,
    ...tokenizerConfig,
  });
  return {
    encode: (text) => (text === '' ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids),
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode(ids, { skip_special_tokens: false })),
    tokenId: (token) => tokenizer.token_to_id(token),
    vocabSize: tokenizer.get_vocab().size,
  };
}
