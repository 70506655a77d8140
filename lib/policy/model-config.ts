import { z } from 'zod';

/** The fields of a Hugging Face `config.json` that a Llama-type decoder needs. */
const huggingFaceConfig = z.object({
  model_type: z.literal('llama'),
  vocab_size: z.int().positive(),
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().optional(),
  head_dim: z.int().positive().optional(),
  max_position_embeddings: z.int().positive(),
  rms_norm_eps: z.number().positive(),
  rope_theta: z.number().positive().default(10000),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.literal(false).default(false),
  mlp_bias: z.literal(false).default(false),
  rope_scaling: z.null().optional(),
  bos_token_id: z.int().nullish(),
  eos_token_id: z.int().nullish(),
  pad_token_id: z.int().nullish(),
});

export interface ModelConfig {
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  numLayers: number;
  numHeads: number;
  numKeyValueHeads: number;
  headDim: number;
  maxPositionEmbeddings: number;
  rmsNormEps: number;
  ropeTheta: number;
  tieWordEmbeddings: boolean;
  eosTokenId: number | null;
  padTokenId: number | null;
}

/**
 * Reads a Hugging Face `config.json`.
 * @throws Error naming the field that is missing or not supported
 */
export function parseModelConfig(json: unknown): ModelConfig {
  const parsed = huggingFaceConfig.safeParse(json);
  if (!parsed.success) {
    throw new Error(`Expected the config.json of a Llama-type model, but ${z.prettifyError(parsed.error)}`);
  }
  const c = parsed.data;
  const numKeyValueHeads = c.num_key_value_heads ?? c.num_attention_heads;
  if (c.num_attention_heads % numKeyValueHeads !== 0) {
    throw new Error(
      `Expected num_attention_heads to be a multiple of num_key_value_heads, but got ${c.num_attention_heads} and ${numKeyValueHeads}.`,
    );
  }
  return {
    vocabSize: c.vocab_size,
    hiddenSize: c.hidden_size,
    intermediateSize: c.intermediate_size,
    numLayers: c.num_hidden_layers,
    numHeads: c.num_attention_heads,
    numKeyValueHeads,
    headDim: c.head_dim ?? c.hidden_size / c.num_attention_heads,
    maxPositionEmbeddings: c.max_position_embeddings,
    rmsNormEps: c.rms_norm_eps,
    ropeTheta: c.rope_theta,
    tieWordEmbeddings: c.tie_word_embeddings,
    eosTokenId: c.eos_token_id ?? null,
    padTokenId: c.pad_token_id ?? null,
  };
}

/** Prints a config as Hugging Face's `config.json`, so that `transformers` loads the folder. */
export function toHuggingFaceConfig(c: ModelConfig): Record<string, unknown> {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: c.vocabSize,
    hidden_size: c.hiddenSize,
    intermediate_size: c.intermediateSize,
    num_hidden_layers: c.numLayers,
    num_attention_heads: c.numHeads,
    num_key_value_heads: c.numKeyValueHeads,
    head_dim: c.headDim,
    hidden_act: 'silu',
    max_position_embeddings: c.maxPositionEmbeddings,
    rms_norm_eps: c.rmsNormEps,
    rope_theta: c.ropeTheta,
    tie_word_embeddings: c.tieWordEmbeddings,
    attention_bias: false,
    mlp_bias: false,
    bos_token_id: null,
    eos_token_id: c.eosTokenId,
    pad_token_id: c.padTokenId,
    torch_dtype: 'float16',
  };
}

/** Number of weights, the tied head counted once. */
export function numParameters(c: ModelConfig): number {
  const attention = c.hiddenSize * c.headDim * (2 * c.numHeads + 2 * c.numKeyValueHeads);
  const layer = attention + 3 * c.hiddenSize * c.intermediateSize + 2 * c.hiddenSize;
  const embeddings = c.vocabSize * c.hiddenSize * (c.tieWordEmbeddings ? 1 : 2);
  return embeddings + c.numLayers * layer + c.hiddenSize;
}
