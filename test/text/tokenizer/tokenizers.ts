/** Parts of a `tokenizer.json`. */

export const COMMON = {
  version: '1.0',
  truncation: null,
  padding: null,
  normalizer: null,
  pre_tokenizer: { type: 'WhitespaceSplit' },
  post_processor: null,
  decoder: null,
};

export const regexSplit = (Regex: string) => ({
  type: 'Split',
  pattern: { Regex },
  behavior: 'Removed',
});
