import { z } from 'zod';
import { createTokenizer, type Tokenizer } from '../text/tokenizer.js';
import { type ModelConfig, parseModelConfig } from './families.js';
import type { Tensors } from '../tensor/safetensors.js';
import { weightsFromArrays, type Weights } from './weights.js';

export interface Model {
  config: ModelConfig;
  tokenizer: Tokenizer;
  tokenizerJson: object;
  /** The JSON of `tokenizer_config.json`, the chat template included. */
  tokenizerConfig?: object;
  /** The caller disposes of these. */
  weights: Weights;
}

/** What the files of a folder in Hugging Face format hold. */
export interface ModelContents {
  /** The JSON of `config.json`. */
  config: unknown;
  /** The JSON of `tokenizer.json`. */
  tokenizer: object;
  /**
   * The JSON of `tokenizer_config.json`, where there is one; the template of
   * `chat_template.jinja` as its `chat_template`.
   */
  tokenizerConfig?: object;
  /**
   * The JSON of `generation_config.json`, where there is one: its end tokens come before
   * those of `config.json`.
   */
  generation?: unknown;
  /** The tensors of `model.safetensors`, or of the files that it is split into. */
  arrays: Tensors;
}

const generationSchema = z.object({ eos_token_id: z.union([z.int(), z.array(z.int())]).nullish() });

/**
 * A model from what its files hold, wherever they were read.
 * @throws Error naming what is missing or does not fit
 */
export function createModel({
  config: json,
  tokenizer: tokenizerJson,
  tokenizerConfig,
  generation,
  arrays,
}: ModelContents): Model {
  const end = generationSchema.parse(generation ?? {}).eos_token_id;
  const parsed = parseModelConfig(json);
  const config =
    end === null || end === undefined ? parsed : { ...parsed, eosTokenIds: [end].flat() };
  const tokenizer = createTokenizer(tokenizerJson, tokenizerConfig);
  if (tokenizer.vocabSize > config.vocabSize)
    throw new Error(
      `Expected token ids below the model's vocab_size ${config.vocabSize}, but the tokenizer has the id ${tokenizer.vocabSize - 1}. Take both files from one model.`,
    );
  return {
    config,
    tokenizerJson,
    tokenizerConfig,
    tokenizer,
    weights: weightsFromArrays(arrays, config),
  };
}
