/** Llama 2 and 3, SmolLM, and the small models of this project. */
import { z } from 'zod';
import { MAX_VOCAB_SIZE } from '../../text/tokenizer.js';
import type { ModelConfig } from '../model-config.js';
import { embedding, matrix, vector, type ModelFamily, type Slot } from './family.js';

const upTo = (most: number) => z.int().min(1).max(most);
/** More values than a tensor's index counts. */
const MAX_VALUES = 2 ** 31;

/**
 * The fields of a Hugging Face `config.json` that a Llama-type decoder is computed from. Each is at most about ten times that of
 * the largest models, so that a damaged or hostile file is refused before anything is allocated.
 */
const configSchema = z.object({
  vocab_size: upTo(MAX_VOCAB_SIZE),
  hidden_size: upTo(2 ** 17),
  intermediate_size: upTo(2 ** 19),
  num_hidden_layers: upTo(1000),
  num_attention_heads: upTo(1000),
  num_key_value_heads: upTo(1000).optional(),
  head_dim: upTo(2 ** 12).optional(),
  max_position_embeddings: upTo(2 ** 21),
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

function parse(json: unknown): ModelConfig {
  const parsed = configSchema.safeParse(json);
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
  const headDim = c.head_dim ?? c.hidden_size / c.num_attention_heads;
  if (headDim % 2 !== 0) throw new Error(`Expected head_dim to be an even integer, but got ${headDim}.`);
  const numRotary = c.max_position_embeddings * (c.num_attention_heads + numKeyValueHeads) * headDim;
  if (numRotary > MAX_VALUES)
    throw new Error(
      `Expected positions x heads x head_dim to be at most ${MAX_VALUES}, but got ${numRotary}. Lower max_position_embeddings.`,
    );
  return {
    modelType: 'llama',
    vocabSize: c.vocab_size,
    hiddenSize: c.hidden_size,
    intermediateSize: c.intermediate_size,
    numLayers: c.num_hidden_layers,
    numHeads: c.num_attention_heads,
    numKeyValueHeads,
    headDim,
    maxPositionEmbeddings: c.max_position_embeddings,
    rmsNormEps: c.rms_norm_eps,
    ropeTheta: c.rope_theta,
    tieWordEmbeddings: c.tie_word_embeddings,
    eosTokenId: c.eos_token_id ?? null,
    padTokenId: c.pad_token_id ?? null,
  };
}

function print(c: ModelConfig): Record<string, unknown> {
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

function slots(c: ModelConfig): Slot[] {
  const [q, kv] = [c.numHeads * c.headDim, c.numKeyValueHeads * c.headDim];
  const layer = (i: number): Slot[] => {
    const at = (name: string): string => `model.layers.${i}.${name}.weight`;
    return [
      vector(`${i}.inputNorm`, at('input_layernorm'), c.hiddenSize),
      matrix(`${i}.qkv`, c.hiddenSize, [
        { name: at('self_attn.q_proj'), columns: q },
        { name: at('self_attn.k_proj'), columns: kv },
        { name: at('self_attn.v_proj'), columns: kv },
      ]),
      matrix(`${i}.o`, q, [{ name: at('self_attn.o_proj'), columns: c.hiddenSize }]),
      vector(`${i}.postNorm`, at('post_attention_layernorm'), c.hiddenSize),
      matrix(`${i}.gateUp`, c.hiddenSize, [
        { name: at('mlp.gate_proj'), columns: c.intermediateSize },
        { name: at('mlp.up_proj'), columns: c.intermediateSize },
      ]),
      matrix(`${i}.down`, c.intermediateSize, [{ name: at('mlp.down_proj'), columns: c.hiddenSize }]),
    ];
  };
  return [
    embedding('embed', 'model.embed_tokens.weight', c),
    ...Array.from({ length: c.numLayers }, (_, i) => layer(i)).flat(),
    vector('norm', 'model.norm.weight', c.hiddenSize),
    ...(c.tieWordEmbeddings
      ? []
      : [matrix('head', c.hiddenSize, [{ name: 'lm_head.weight', columns: c.vocabSize }])]),
  ];
}

export const llama: ModelFamily = { name: 'llama', parse, print, slots };
