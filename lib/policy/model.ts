import { createTokenizer, type Tokenizer } from '../text/tokenizer.js';
import { parseModelConfig } from './families/index.js';
import type { ModelConfig } from './model-config.js';
import type { NamedArray } from './safetensors.js';
import { weightsFromArrays, type Weights } from './weights.js';

export interface Model {
  config: ModelConfig;
  tokenizer: Tokenizer;
  tokenizerJson: object;
  /** The caller disposes of these. */
  weights: Weights;
}

/** What the three files of a folder in Hugging Face format hold. */
export interface ModelContents {
  /** The JSON of `config.json`. */
  config: unknown;
  /** The JSON of `tokenizer.json`. */
  tokenizer: object;
  /** The tensors of `model.safetensors`. */
  arrays: ReadonlyMap<string, NamedArray>;
}

/**
 * A model from what its files hold, wherever they were read.
 * @throws Error naming what is missing or does not fit
 */
export function createModel({ config: json, tokenizer: tokenizerJson, arrays }: ModelContents): Model {
  const config = parseModelConfig(json);
  const tokenizer = createTokenizer(tokenizerJson);
  if (tokenizer.vocabSize > config.vocabSize)
    throw new Error(
      `Expected token ids below the model's vocab_size ${config.vocabSize}, but the tokenizer has the id ${tokenizer.vocabSize - 1}. Take both files from one model.`,
    );
  return { config, tokenizerJson, tokenizer, weights: weightsFromArrays(arrays, config) };
}
