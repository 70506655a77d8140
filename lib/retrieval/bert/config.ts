/** The sizes of encoders of BERT's kind, and their tensors under Hugging Face's names. */
import { z } from 'zod';

const upTo = (most: number) => z.int().min(1).max(most);

/** What is computed from; whatever would be computed otherwise is refused. */
const configSchema = z.object({
  model_type: z.enum(['bert', 'roberta', 'xlm-roberta']),
  vocab_size: upTo(2 ** 22),
  hidden_size: upTo(2 ** 14),
  num_hidden_layers: upTo(200),
  num_attention_heads: upTo(200),
  intermediate_size: upTo(2 ** 16),
  max_position_embeddings: upTo(2 ** 20),
  type_vocab_size: upTo(1000),
  layer_norm_eps: z.number().positive(),
  hidden_act: z.literal('gelu').default('gelu'),
  position_embedding_type: z.literal('absolute').nullish(),
  is_decoder: z.literal(false).optional(),
  quantization_config: z.null().optional(),
  pad_token_id: z.int().min(0).nullish(),
});

export interface BertConfig {
  hiddenSize: number;
  numLayers: number;
  numHeads: number;
  layerNormEps: number;
  /**
   * Row of the positions' table that the first token has: RoBERTa counts on from the
   * padding token's id.
   */
  firstPosition: number;
  /** Longest text (tokens), special ones included. */
  maxTokens: number;
  /** Shape of every tensor, output by input as it is stored. */
  shapes: ReadonlyMap<string, number[]>;
}

/** @throws Error naming the field that is missing or not supported */
export function parseBertConfig(json: unknown): BertConfig {
  const parsed = configSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(
      `Expected the config.json of an encoder of BERT's kind, but ${z.prettifyError(parsed.error)}`,
    );
  const c = parsed.data;
  if (c.hidden_size % c.num_attention_heads !== 0)
    throw new Error(
      `Expected hidden_size to be a multiple of num_attention_heads, but got ${c.hidden_size} and ${c.num_attention_heads}.`,
    );
  const firstPosition = c.model_type === 'bert' ? 0 : (c.pad_token_id ?? 1) + 1;
  const width = c.hidden_size;
  const norm = (name: string): [string, number[]][] =>
    ['weight', 'bias'].map((part) => [`${name}.LayerNorm.${part}`, [width]]);
  const dense = (name: string, outputs: number, inputs: number): [string, number[]][] => [
    [`${name}.weight`, [outputs, inputs]],
    [`${name}.bias`, [outputs]],
  ];
  const layer = (_: unknown, i: number): [string, number[]][] => {
    const at = `encoder.layer.${i}`;
    return [
      ...['query', 'key', 'value'].flatMap((name) =>
        dense(`${at}.attention.self.${name}`, width, width),
      ),
      ...dense(`${at}.attention.output.dense`, width, width),
      ...norm(`${at}.attention.output`),
      ...dense(`${at}.intermediate.dense`, c.intermediate_size, width),
      ...dense(`${at}.output.dense`, width, c.intermediate_size),
      ...norm(`${at}.output`),
    ];
  };
  return {
    hiddenSize: width,
    numLayers: c.num_hidden_layers,
    numHeads: c.num_attention_heads,
    layerNormEps: c.layer_norm_eps,
    firstPosition,
    maxTokens: c.max_position_embeddings - firstPosition,
    shapes: new Map([
      ['embeddings.word_embeddings.weight', [c.vocab_size, width]],
      ['embeddings.position_embeddings.weight', [c.max_position_embeddings, width]],
      ['embeddings.token_type_embeddings.weight', [c.type_vocab_size, width]],
      ...norm('embeddings'),
      ...Array.from({ length: c.num_hidden_layers }, layer).flat(),
    ]),
  };
}
