import { z } from 'zod';
import { parseAs } from '../../io/json.js';
import type { Tensors } from '../../tensor/safetensors.js';
import { requireIdsBelow, type Tokenizer } from '../../text/tokenizer/tokenizer.js';
import type { ModelConfig } from './families.js';
import { weightsFromArrays, type Weights } from './weights.js';

export interface Model {
  config: ModelConfig;
  tokenizer: Tokenizer;
  tokenizerJson: object;
  /** `tokenizer_config.json`, with `chat_template.jinja` as its `chat_template`. */
  tokenizerConfig?: object;
  /** The caller disposes of these. */
  weights: Weights;
  /** Settings of the model that are ignored. */
  note?: string;
}

/** The contents of a folder in Hugging Face format. */
interface ModelContents extends Pick<
  Model,
  'config' | 'tokenizer' | 'tokenizerJson' | 'tokenizerConfig'
> {
  /** `generation_config.json`; its end tokens override those of `config.json`. */
  generation?: unknown;
  arrays: Tensors;
}

const unset = z.union([z.literal(0), z.literal(false), z.array(z.never()).max(0)]).nullish();
const one = z.literal(1).nullish();
/** Rejects settings that would change the most likely token. */
const generationSchema = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  bad_words_ids: unset,
  begin_suppress_tokens: unset,
  constraints: unset,
  encoder_repetition_penalty: one,
  exponential_decay_length_penalty: unset,
  force_words_ids: unset,
  forced_bos_token_id: z.null().optional(),
  forced_eos_token_id: z.null().optional(),
  guidance_scale: one,
  min_length: unset,
  min_new_tokens: unset,
  no_repeat_ngram_size: unset,
  sequence_bias: unset,
  suppress_tokens: unset,
});
/** Fields that do not change which tokens are chosen, or that the rollout sets. */
const HARMLESS =
  /^(_|assistant_|cache_|compile_|continuous_|disable_|is_assistant|max_|num_assistant_|num_return_|output_|prefill_|prompt_lookup_|return_|speculation_|target_|transformers_|trust_|use_)|_token_id$|^(do_sample|low_memory|remove_invalid_values|renormalize_logits)$/;

/** Parses generation_config.json. @throws Error naming an unsupported setting */
function parseGeneration(json: unknown): { endTokens?: number | number[] | null; note?: string } {
  const expected = 'a generation_config.json that only sets sampling and end tokens';
  const data = parseAs(generationSchema, json ?? {}, expected);
  // The method decides: it answers greedily, and samples freely in training.
  const given = Object.entries(data)
    .filter(([name]) => !HARMLESS.test(name) && !(name in generationSchema.shape))
    .filter(([, value]) => ![null, false, 1].includes(value as null))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return {
    endTokens: data.eos_token_id,
    ...(given.length > 0 && {
      note: `not applied, from generation_config.json: ${given.join(', ')}`,
    }),
  };
}

/**
 * Creates a model from the contents of its folder. The caller disposes of its weights.
 * @throws Error naming what does not fit
 */
export function createModel({ generation, arrays, ...contents }: ModelContents): Model {
  const { endTokens, note } = parseGeneration(generation);
  const eosTokenIds = [endTokens ?? contents.config.eosTokenIds].flat();
  const config = { ...contents.config, eosTokenIds };
  // The default of some classes, but not of generate in transformers 5.
  const endless =
    eosTokenIds.length === 0 &&
    'no eos_token_id in config.json or generation_config.json: only closing tags and the limit of tokens end a reply';
  requireIdsBelow(contents.tokenizer, config.vocabSize);
  const weights = weightsFromArrays(arrays, config);
  const notes = [note, endless].filter(Boolean).join('; ');
  return { ...contents, config, weights, ...(notes !== '' && { note: notes }) };
}
