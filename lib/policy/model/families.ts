/**
 * Model families: how config.json and checkpoints of Llama, Mistral and Qwen differ. All
 * are pre-norm blocks of rotary grouped-query attention and SwiGLU.
 */
import { sum } from 'd3-array';
import { z } from 'zod';
import { parseAs } from '../../io/json.js';
import { createRegistry } from '../../registry.js';
import { MAX_VOCAB_SIZE } from '../../text/tokenizer/tokenizer-files.js';

/** The base of rotary frequencies, and how they are scaled for long contexts. */
interface RopeConfig {
  theta: number;
  /** `rope_scaling` in transformers. */
  scaling: z.infer<typeof scalingSchema>;
}

export interface ModelConfig {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  numLayers: number;
  numHeads: number;
  numKeyValueHeads: number;
  headDim: number;
  /** Maximum context length (tokens); with sliding-window attention, the window. */
  maxPositionEmbeddings: number;
  rmsNormEps: number;
  rope: RopeConfig;
  tieWordEmbeddings: boolean;
  /** Which projections have a bias. */
  biases: { qkv: boolean; o: boolean; mlp: boolean };
  /** Whether queries and keys are normalised per head before the rotation. */
  qkNorm: boolean;
  eosTokenIds: number[];
  padTokenId: number | null;
}

/** A checkpoint's tensor within a {@link Slot}. */
export interface SlotPart {
  name: string;
  /** Number of the slot's columns it fills. */
  columns: number;
}

/** A weight in the layout for computing: input by output. */
export interface Slot {
  /** Its key in `Weights`. */
  key: string;
  shape: number[];
  /** The checkpoint's tensors, side by side. Checkpoints store matrices transposed. */
  parts: SlotPart[];
  kind: 'matrix' | 'gain' | 'bias' | 'embedding';
}

/** How the models of a family write config.json and name their tensors. */
export interface ModelFamily {
  /** `model_type` in config.json. */
  readonly name: string;
  /** @throws Error naming the field that is missing or unsupported */
  readonly parse: (json: unknown) => ModelConfig;
  /** Writes a config.json that `transformers` loads. */
  readonly format: (config: ModelConfig) => Record<string, unknown>;
  /** All weights, with their shapes and the checkpoint's tensors. */
  readonly slots: (config: ModelConfig) => Slot[];
}

const upTo = (most: number) => z.int().min(1).max(most);
const positive = z.number().positive();

/** Older files call `rope_type` `type`, and may leave it out without scaling. */
const scalingSchema = z.preprocess(
  (json) => {
    const fields = z.record(z.string(), z.unknown()).safeParse(json).data;
    return fields ? { ...fields, rope_type: fields.rope_type ?? fields.type ?? 'default' } : json;
  },
  z.discriminatedUnion('rope_type', [
    z.object({ rope_type: z.literal('default') }),
    z.object({ rope_type: z.literal('linear'), factor: positive }),
    // Llama 3.1 keeps high frequencies, divides low ones, and interpolates in between.
    z.object({
      rope_type: z.literal('llama3'),
      factor: positive,
      low_freq_factor: positive,
      high_freq_factor: positive,
      original_max_position_embeddings: upTo(2 ** 21),
    }),
  ]),
);

const ropeSchema = z
  .object({ rope_theta: positive.optional(), partial_rotary_factor: z.literal(1).nullish() })
  // Not settings per layer type.
  .catchall(z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown())]))
  .and(scalingSchema);

/**
 * The relevant fields of config.json. Limits are about ten times the largest models, so
 * that a damaged or hostile file is rejected before anything is allocated. Settings that
 * would change the computation are rejected, too.
 */
const configSchema = z.object({
  vocab_size: upTo(MAX_VOCAB_SIZE),
  hidden_size: upTo(2 ** 17),
  intermediate_size: upTo(2 ** 19),
  num_hidden_layers: upTo(1000),
  num_attention_heads: upTo(1000),
  num_key_value_heads: upTo(1000).nullish(),
  head_dim: upTo(2 ** 12).nullish(),
  max_position_embeddings: upTo(2 ** 24),
  rms_norm_eps: positive,
  hidden_act: z.enum(['silu', 'swish']).default('silu'),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  partial_rotary_factor: z.literal(1).nullish(),
  quantization_config: z.null().optional(),
  is_causal: z.literal(true).nullish(),
  rope_theta: positive.optional(),
  original_max_position_embeddings: z.int().optional(),
  // transformers 4
  rope_scaling: ropeSchema.nullish(),
  // transformers 5
  rope_parameters: ropeSchema.nullish(),
  sliding_window: upTo(2 ** 24).nullish(),
  use_sliding_window: z.boolean().optional(),
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  pad_token_id: z.int().nullish(),
});
type ConfigFields = z.infer<typeof configSchema>;

interface FamilyTraits {
  name: string;
  architecture: string;
  biases: (fields: ConfigFields) => ModelConfig['biases'];
  qkNorm?: boolean;
  /** The attention window of layers with a sliding window, in tokens. */
  window?: (fields: ConfigFields) => number | null;
  format: (config: ModelConfig) => Record<string, unknown>;
}

const qwenWindow = ({ use_sliding_window, sliding_window }: ConfigFields): number | null =>
  use_sliding_window ? (sliding_window ?? 4096) : null;

const TRAITS: FamilyTraits[] = [
  // Llama 2 and 3, SmolLM, and this project's small models.
  {
    name: 'llama',
    architecture: 'LlamaForCausalLM',
    biases: ({ attention_bias: qkv, mlp_bias: mlp }) => ({ qkv, o: qkv, mlp }),
    format: ({ biases }) => ({ attention_bias: biases.qkv, mlp_bias: biases.mlp }),
  },
  {
    name: 'mistral',
    architecture: 'MistralForCausalLM',
    biases: () => ({ qkv: false, o: false, mlp: false }),
    // The default in transformers is 4,096.
    window: ({ sliding_window }) => (sliding_window === undefined ? 4096 : sliding_window),
    format: () => ({ sliding_window: null }),
  },
  // Qwen2 and Qwen2.5.
  {
    name: 'qwen2',
    architecture: 'Qwen2ForCausalLM',
    biases: () => ({ qkv: true, o: false, mlp: false }),
    window: qwenWindow,
    format: () => ({ use_sliding_window: false }),
  },
  {
    name: 'qwen3',
    architecture: 'Qwen3ForCausalLM',
    biases: ({ attention_bias }) => ({ qkv: attention_bias, o: attention_bias, mlp: false }),
    qkNorm: true,
    window: qwenWindow,
    format: ({ biases }) => ({ attention_bias: biases.qkv, use_sliding_window: false }),
  },
];

/** Joins rotary settings: versions of transformers differ in which of them win. */
function parseRope(fields: ConfigFields): RopeConfig {
  const { rope_theta, original_max_position_embeddings, rope_scaling, rope_parameters } = fields;
  const places = [{ rope_theta, original_max_position_embeddings }, rope_scaling, rope_parameters];
  const entries = places.flatMap((place) => Object.entries<unknown>(place ?? {}));
  const joined: Record<string, unknown> = {};
  for (const [name, value] of entries.filter(([, value]) => value !== undefined))
    if ((joined[name] ??= value) !== value)
      throw new Error(
        `Expected config.json to have one ${name} among its fields, rope_scaling and rope_parameters, but it has ${String(joined[name])} and ${String(value)}. Remove one of them.`,
      );
  const { rope_theta: theta = 10000 } = ropeSchema.parse(joined);
  return { theta, scaling: scalingSchema.parse(joined) };
}

/** Writes the fields of transformers 4, which transformers 5 reads, too. */
const formatRope = ({ theta, scaling }: RopeConfig): Record<string, unknown> => ({
  rope_theta: theta,
  ...(scaling.rope_type !== 'default' && { rope_scaling: scaling }),
});

/** Maximum size of the rotary table (positions x head width), which is built at once. */
const MAX_POSITION_VALUES = 2 ** 27;

function parseConfig(
  json: unknown,
  { name, biases, qkNorm = false, window }: FamilyTraits,
): ModelConfig {
  const c = parseAs(configSchema, json, `the config.json of a ${name} model`);
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

const formatConfig = (
  c: ModelConfig,
  { name, architecture, format }: FamilyTraits,
): Record<string, unknown> => ({
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
  ...formatRope(c.rope),
  tie_word_embeddings: c.tieWordEmbeddings,
  ...format(c),
  bos_token_id: null,
  eos_token_id: c.eosTokenIds.length > 1 ? c.eosTokenIds : (c.eosTokenIds[0] ?? null),
  pad_token_id: c.padTokenId,
  torch_dtype: 'float16',
});

function layerSlots(c: ModelConfig, i: number): Slot[] {
  const [q, kv] = [c.numHeads * c.headDim, c.numKeyValueHeads * c.headDim];
  const gain = (key: string, name: string, columns: number): Slot => ({
    key: `${i}.${key}`,
    shape: [columns],
    parts: [{ name: `model.layers.${i}.${name}.weight`, columns }],
    kind: 'gain',
  });
  /** A matrix (rows, all outputs) and its bias, if any. */
  const product = (
    key: string,
    rows: number,
    outputs: Record<string, number>,
    hasBias: boolean,
  ): Slot[] => {
    const parts = (suffix: string): SlotPart[] =>
      Object.entries(outputs).map(([name, columns]) => ({
        name: `model.layers.${i}.${name}.${suffix}`,
        columns,
      }));
    const columns = sum(Object.values(outputs));
    const matrix: Slot = {
      key: `${i}.${key}`,
      shape: [rows, columns],
      parts: parts('weight'),
      kind: 'matrix',
    };
    if (!hasBias) return [matrix];
    return [
      matrix,
      { key: `${i}.${key}Bias`, shape: [columns], parts: parts('bias'), kind: 'bias' },
    ];
  };
  const [width, inner] = [c.hiddenSize, c.intermediateSize];
  const qkv = { 'self_attn.q_proj': q, 'self_attn.k_proj': kv, 'self_attn.v_proj': kv };
  return [
    gain('inputNorm', 'input_layernorm', width),
    ...product('qkv', width, qkv, c.biases.qkv),
    ...(c.qkNorm
      ? [gain('qNorm', 'self_attn.q_norm', c.headDim), gain('kNorm', 'self_attn.k_norm', c.headDim)]
      : []),
    ...product('o', q, { 'self_attn.o_proj': width }, c.biases.o),
    gain('postNorm', 'post_attention_layernorm', width),
    ...product('gateUp', width, { 'mlp.gate_proj': inner, 'mlp.up_proj': inner }, c.biases.mlp),
    ...product('down', inner, { 'mlp.down_proj': width }, c.biases.mlp),
  ];
}

function decoderSlots(c: ModelConfig): Slot[] {
  const whole = (key: string, name: string, kind: Slot['kind'], shape: number[]): Slot => ({
    key,
    shape,
    parts: [{ name: `${name}.weight`, columns: shape.at(-1)! }],
    kind,
  });
  return [
    whole('embed', 'model.embed_tokens', 'embedding', [c.vocabSize, c.hiddenSize]),
    ...Array.from({ length: c.numLayers }, (_, i) => layerSlots(c, i)).flat(),
    whole('norm', 'model.norm', 'gain', [c.hiddenSize]),
    ...(c.tieWordEmbeddings
      ? []
      : [whole('head', 'lm_head', 'matrix', [c.hiddenSize, c.vocabSize])]),
  ];
}

/** Model families by `model_type`. To add one, list its traits above, or call `add`. */
export const FAMILIES = createRegistry<ModelFamily>(
  'model_type',
  TRAITS.map((traits) => ({
    name: traits.name,
    parse: (json) => parseConfig(json, traits),
    format: (config) => formatConfig(config, traits),
    slots: decoderSlots,
  })),
);

/** @throws Error for an unknown `model_type`, or naming the unsupported field */
export function parseModelConfig(json: unknown): ModelConfig {
  const type = (json as { model_type?: unknown } | null)?.model_type;
  return FAMILIES.get(typeof type === 'string' ? type : String(JSON.stringify(type))).parse(json);
}

export const formatModelConfig = (config: ModelConfig): Record<string, unknown> =>
  FAMILIES.get(config.modelType).format(config);

export const weightSlots = (config: ModelConfig): Slot[] =>
  FAMILIES.get(config.modelType).slots(config);

/** The number of weights; a tied head counts once. */
export const numParameters = (config: ModelConfig): number =>
  sum(weightSlots(config), ({ shape }) => shape.reduce((a, b) => a * b, 1));

/** Larger models are trained with adapters only, one layer in memory at a time. */
const LARGE = 20e6;
export const isLarge = (config: ModelConfig): boolean => numParameters(config) > LARGE;
