import { z } from 'zod';
import type { Tensors } from '../tensor/safetensors.js';
import { createTokenizer, type Tokenizer } from '../text/tokenizer.js';
import { parseModelConfig, type ModelConfig } from './families.js';
import { weightsFromArrays, type Weights } from './weights.js';

export interface Model {
  config: ModelConfig;
  tokenizer: Tokenizer;
  tokenizerJson: object;
  /** The JSON of `tokenizer_config.json`, including the chat template. */
  tokenizerConfig?: object;
  /** The caller disposes of these. */
  weights: Weights;
}

/** The contents of a folder in Hugging Face format. */
export interface ModelContents {
  /** The JSON of `config.json`. */
  config: unknown;
  /** The JSON of `tokenizer.json`. */
  tokenizer: object;
  /** `tokenizer_config.json`, with `chat_template.jinja` as its `chat_template`. */
  tokenizerConfig?: object;
  /** `generation_config.json`; its end tokens override those of `config.json`. */
  generation?: unknown;
  /** The tensors of the safetensors files. */
  arrays: Tensors;
}

const generationSchema = z.object({ eos_token_id: z.union([z.int(), z.array(z.int())]).nullish() });

/**
 * A model from the contents of its folder. The caller disposes of its weights.
 * @param makeTokenizer default {@link createTokenizer}
 * @throws Error naming what is missing or does not fit
 */
export function createModel(
  contents: ModelContents,
  makeTokenizer: typeof createTokenizer = createTokenizer,
): Model {
  const {
    config: configJson,
    tokenizer: tokenizerJson,
    tokenizerConfig,
    generation,
    arrays,
  } = contents;
  const config = parseModelConfig(configJson);
  const endTokens = generationSchema.parse(generation ?? {}).eos_token_id ?? config.eosTokenIds;
  config.eosTokenIds = [endTokens].flat();
  const tokenizer = makeTokenizer(tokenizerJson, tokenizerConfig);
  if (tokenizer.vocabSize > config.vocabSize)
    throw new Error(
      `Expected token ids below the model's vocab_size ${config.vocabSize}, but the tokenizer has the id ${tokenizer.vocabSize - 1}. Take both files from one model.`,
    );
  const weights = weightsFromArrays(arrays, config);
  return { config, tokenizerJson, tokenizerConfig, tokenizer, weights };
}
