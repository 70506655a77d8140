/**
 * What the decoders of Llama's kind share: the fields of their config.json, their
 * tensors and the names of these. A family of it says what its models have besides.
 */
import { z } from 'zod';
import { MAX_VOCAB_SIZE } from '../../text/tokenizer.js';
import type { ModelConfig, RopeConfig } from '../model-config.js';
import type { ModelFamily, Part, Slot } from './family.js';

const upTo = (most: number) => z.int().min(1).max(most);
const positive = z.number().positive();
/** Of the table of positions, which is made whole: a million of 128 each. */
const MAX_POSITION_VALUES = 2 ** 27;

const noScaling = z.object({ rope_type: z.literal('default') });
const linearScaling = z.object({ rope_type: z.literal('linear'), factor: positive });
const llama3Scaling = z.object({
  rope_type: z.literal('llama3'),
  factor: positive,
  low_freq_factor: positive,
  high_freq_factor: positive,
  original_max_position_embeddings: upTo(2 ** 21),
});
/** `rope_type` was called `type` once, and is left out where nothing is scaled. */
const scalingSchema = z.preprocess(
  (json) => {
    const fields = z.record(z.string(), z.unknown()).safeParse(json).data;
    return fields ? { ...fields, rope_type: fields.rope_type ?? fields.type ?? 'default' } : json;
  },
  z.discriminatedUnion('rope_type', [noScaling, linearScaling, llama3Scaling]),
);

/**
 * The fields of a Hugging Face `config.json` that a decoder is computed from. Each is
 * at most about ten times that of the largest models, so that a damaged or hostile file
 * is refused before anything is allocated; what would be computed otherwise is refused.
 */
const configSchema = z.object({
  vocab_size: upTo(MAX_VOCAB_SIZE),
  hidden_size: upTo(2 ** 17),
  intermediate_size: upTo(2 ** 19),
  num_hidden_layers: upTo(1000),
  num_attention_heads: upTo(1000),
  num_key_value_heads: upTo(1000).optional(),
  head_dim: upTo(2 ** 12).nullish(),
  max_position_embeddings: upTo(2 ** 24),
  rms_norm_eps: positive,
  hidden_act: z.enum(['silu', 'swish']).default('silu'),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  partial_rotary_factor: z.literal(1).nullish(),
  quantization_config: z.null().optional(),
  // transformers 4
  rope_theta: positive.optional(),
  rope_scaling: scalingSchema.nullish(),
  // transformers 5
  rope_parameters: z
    .object({ rope_theta: positive, partial_rotary_factor: z.literal(1).nullish() })
    .and(scalingSchema)
    .nullish(),
  sliding_window: upTo(2 ** 24).nullish(),
  use_sliding_window: z.boolean().optional(),
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  pad_token_id: z.int().nullish(),
});
export type DecoderFields = z.infer<typeof configSchema>;

/** What tells the families apart. */
interface Traits {
  /** `model_type` in config.json. */
  name: string;
  architecture: string;
  biases: (fields: DecoderFields) => ModelConfig['biases'];
  qkNorm?: boolean;
  /** Tokens that attention sees, if it slides in any layer. */
  window?: (fields: DecoderFields) => number | null;
  /** What config.json says besides. */
  print: (config: ModelConfig) => Record<string, unknown>;
}

function parseRope({ rope_theta, rope_scaling, rope_parameters }: DecoderFields): RopeConfig {
  const { rope_theta: theta = rope_theta ?? 10000, ...scaling } = rope_parameters ?? {
    ...(rope_scaling ?? { rope_type: 'default' }),
    rope_theta: undefined,
  };
  if (scaling.rope_type === 'linear')
    return { theta, scaling: { type: 'linear', factor: scaling.factor } };
  if (scaling.rope_type !== 'llama3') return { theta, scaling: { type: 'none' } };
  return {
    theta,
    scaling: {
      type: 'llama3',
      factor: scaling.factor,
      lowFreqFactor: scaling.low_freq_factor,
      highFreqFactor: scaling.high_freq_factor,
      originalLength: scaling.original_max_position_embeddings,
    },
  };
}

/** Both transformers 4 and 5 read `rope_theta` beside `rope_scaling`. */
function printRope({ theta, scaling }: RopeConfig): Record<string, unknown> {
  if (scaling.type === 'none') return { rope_theta: theta };
  if (scaling.type === 'linear')
    return { rope_theta: theta, rope_scaling: { rope_type: 'linear', factor: scaling.factor } };
  return {
    rope_theta: theta,
    rope_scaling: {
      rope_type: 'llama3',
      factor: scaling.factor,
      low_freq_factor: scaling.lowFreqFactor,
      high_freq_factor: scaling.highFreqFactor,
      original_max_position_embeddings: scaling.originalLength,
    },
  };
}

function parse(json: unknown, { name, biases, qkNorm = false, window }: Traits): ModelConfig {
  const parsed = configSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(
      `Expected the config.json of a ${name} model, but ${z.prettifyError(parsed.error)}`,
    );
  const c = parsed.data;
  const numKeyValueHeads = c.num_key_value_heads ?? c.num_attention_heads;
  if (c.num_attention_heads % numKeyValueHeads !== 0)
    throw new Error(
      `Expected num_attention_heads to be a multiple of num_key_value_heads, but got ${c.num_attention_heads} and ${numKeyValueHeads}.`,
    );
  const headDim = c.head_dim ?? c.hidden_size / c.num_attention_heads;
  if (headDim % 2 !== 0)
    throw new Error(`Expected head_dim to be an even integer, but got ${headDim}.`);
  const maxPositionEmbeddings = Math.min(c.max_position_embeddings, window?.(c) ?? Infinity);
  if (maxPositionEmbeddings * headDim > MAX_POSITION_VALUES)
    throw new Error(
      `Expected positions x head_dim to be at most ${MAX_POSITION_VALUES}, but got ${maxPositionEmbeddings * headDim}. Lower max_position_embeddings.`,
    );
  return {
    modelType: name,
    vocabSize: c.vocab_size,
    hiddenSize: c.hidden_size,
    intermediateSize: c.intermediate_size,
    numLayers: c.num_hidden_layers,
    numHeads: c.num_attention_heads,
    numKeyValueHeads,
    headDim,
    maxPositionEmbeddings,
    rmsNormEps: c.rms_norm_eps,
    rope: parseRope(c),
    tieWordEmbeddings: c.tie_word_embeddings,
    biases: biases(c),
    qkNorm,
    eosTokenIds: [c.eos_token_id ?? []].flat(),
    padTokenId: c.pad_token_id ?? null,
  };
}

const print = (c: ModelConfig, { name, architecture, print }: Traits): Record<string, unknown> => ({
  architectures: [architecture],
  model_type: name,
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
  ...printRope(c.rope),
  tie_word_embeddings: c.tieWordEmbeddings,
  ...print(c),
  bos_token_id: null,
  eos_token_id: c.eosTokenIds.length > 1 ? c.eosTokenIds : (c.eosTokenIds[0] ?? null),
  pad_token_id: c.padTokenId,
  torch_dtype: 'float16',
});

function layerSlots(c: ModelConfig, i: number): Slot[] {
  const [q, kv] = [c.numHeads * c.headDim, c.numKeyValueHeads * c.headDim];
  const at = (name: string): string => `model.layers.${i}.${name}`;
  const gain = (key: string, name: string, size: number): Slot => {
    return {
      key: `${i}.${key}`,
      shape: [size],
      parts: [{ name: at(`${name}.weight`), columns: size }],
      kind: 'gain',
    };
  };
  /** A product of (rows) by the columns of its parts, and its bias. */
  const product = (key: string, rows: number, outputs: Part[], hasBias: boolean): Slot[] => {
    const columns = outputs.reduce((sum, part) => sum + part.columns, 0);
    const parts = (of: string): Part[] =>
      outputs.map((part) => ({ ...part, name: at(`${part.name}.${of}`) }));
    const matrix: Slot = {
      key: `${i}.${key}`,
      shape: [rows, columns],
      parts: parts('weight'),
      kind: 'matrix',
    };
    const bias: Slot = {
      key: `${i}.${key}Bias`,
      shape: [columns],
      parts: parts('bias'),
      kind: 'bias',
    };
    return hasBias ? [matrix, bias] : [matrix];
  };
  return [
    gain('inputNorm', 'input_layernorm', c.hiddenSize),
    ...product(
      'qkv',
      c.hiddenSize,
      [
        { name: 'self_attn.q_proj', columns: q },
        { name: 'self_attn.k_proj', columns: kv },
        { name: 'self_attn.v_proj', columns: kv },
      ],
      c.biases.qkv,
    ),
    ...(c.qkNorm
      ? [gain('qNorm', 'self_attn.q_norm', c.headDim), gain('kNorm', 'self_attn.k_norm', c.headDim)]
      : []),
    ...product('o', q, [{ name: 'self_attn.o_proj', columns: c.hiddenSize }], c.biases.o),
    gain('postNorm', 'post_attention_layernorm', c.hiddenSize),
    ...product(
      'gateUp',
      c.hiddenSize,
      [
        { name: 'mlp.gate_proj', columns: c.intermediateSize },
        { name: 'mlp.up_proj', columns: c.intermediateSize },
      ],
      c.biases.mlp,
    ),
    ...product(
      'down',
      c.intermediateSize,
      [{ name: 'mlp.down_proj', columns: c.hiddenSize }],
      c.biases.mlp,
    ),
  ];
}

function slots(c: ModelConfig): Slot[] {
  const whole = (key: string, name: string, kind: Slot['kind'], shape: number[]): Slot => {
    return { key, shape, parts: [{ name, columns: shape.at(-1)! }], kind };
  };
  return [
    whole('embed', 'model.embed_tokens.weight', 'embedding', [c.vocabSize, c.hiddenSize]),
    ...Array.from({ length: c.numLayers }, (_, i) => layerSlots(c, i)).flat(),
    whole('norm', 'model.norm.weight', 'gain', [c.hiddenSize]),
    ...(c.tieWordEmbeddings
      ? []
      : [whole('head', 'lm_head.weight', 'matrix', [c.hiddenSize, c.vocabSize])]),
  ];
}

/** A family of decoders of Llama's kind. */
export const decoderFamily = (traits: Traits): ModelFamily => ({
  name: traits.name,
  parse: (json) => parse(json, traits),
  print: (config) => print(config, traits),
  slots,
});
