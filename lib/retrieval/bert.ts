import { z } from 'zod';
import { basename, join, resolve } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import type { Encoder, TextKind } from './encoder.js';
import { createTokenizer } from '../text/tokenizer.js';
import { weightFiles, withWeights } from '../tensor/weight-files.js';
import type { Tensors } from '../tensor/safetensors.js';
import { shortPath } from '../io/paths.js';
import { readJson, readJsonIfThere } from '../io/files.js';
import { configHash, contentHash } from '../io/provenance.js';

//==== lib/retrieval/bert/config.ts
/** The sizes of encoders of BERT's kind, and their tensors under Hugging Face's names. */

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

//==== lib/retrieval/bert/model.ts
/**
 * An encoder of BERT's kind (Devlin et al. 2019): embeddings, blocks of attention over
 * the whole text and a product through GELU, each normalised after its residual. Without
 * gradients.
 *
 * Shape letters: B texts, T tokens, C width, H heads, D head width.
 */

/** Tensors by Hugging Face's names, products transposed to input by output. */
export type BertWeights = Record<string, tf.Tensor>;

/** Heads for other tasks, and what a newer transformers computes by itself. */
const SPARE = /^(pooler|cls|lm_head|classifier)\.|position_ids$/;
/** What a model with a head for another task puts before its names. */
const PREFIX = /^(bert|roberta)\./;

/**
 * Weights of a checkpoint. The caller disposes of them.
 * @throws Error naming a tensor that is missing, of another shape than the config says,
 * or not of use
 */
export function bertWeights(arrays: Tensors, { shapes }: BertConfig): BertWeights {
  const names = new Map(
    Array.from(arrays.keys(), (name) => [name.replace(PREFIX, ''), name] as const),
  );
  const unused = [...names.keys()].find((name) => !shapes.has(name) && !SPARE.test(name));
  if (unused)
    throw new Error(
      `Expected only tensors that an encoder of BERT's kind has, but there is ${unused}.`,
    );
  const weights: BertWeights = {};
  for (const [name, shape] of shapes) {
    const array = arrays.get(names.get(name) ?? name);
    if (array?.shape.join() !== shape.join())
      throw new Error(
        `Expected tensor ${name} of shape [${shape.join(', ')}], but got ${array ? `[${array.shape.join(', ')}]` : 'none'}.`,
      );
    const isProduct = shape.length === 2 && !name.startsWith('embeddings.');
    weights[name] = tf.tidy(() => {
      const tensor = tf.tensor(array.values, shape);
      return isProduct ? tf.transpose(tensor) : tensor;
    });
  }
  return weights;
}

/** x (N, I) -> (N, O) */
const dense = (x: tf.Tensor, w: BertWeights, name: string): tf.Tensor2D =>
  tf.add(tf.matMul(x as tf.Tensor2D, w[`${name}.weight`] as tf.Tensor2D), w[`${name}.bias`]);

/** x (N, C), each row to mean 0 and variance 1, then gain and bias. */
function layerNorm(x: tf.Tensor, w: BertWeights, name: string, epsilon: number): tf.Tensor2D {
  const centred = tf.sub(x, tf.mean(x, 1, true));
  const variance = tf.mean(tf.square(centred), 1, true);
  const normed = tf.mul(centred, tf.rsqrt(tf.add(variance, epsilon)));
  return tf.add(tf.mul(normed, w[`${name}.LayerNorm.weight`]), w[`${name}.LayerNorm.bias`]);
}

/** The exact one, as transformers' `gelu`. */
const gelu = (x: tf.Tensor): tf.Tensor =>
  tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));

const MASKED = -1e9;

/**
 * Vectors (B, C) of texts: the mean of their tokens' hidden states, of unit length. The
 * caller disposes of the result.
 * @param texts token ids, special ones included; each at least one and at most
 * `config.maxTokens`
 */
export function embedTexts(
  w: BertWeights,
  texts: readonly (readonly number[])[],
  config: BertConfig,
): tf.Tensor2D {
  const { numLayers, numHeads, hiddenSize, layerNormEps: epsilon, firstPosition } = config;
  const [rows, tokens] = [texts.length, Math.max(...texts.map((ids) => ids.length))];
  const headDim = hiddenSize / numHeads;
  /** (B*T, C) -> (B, H, T, D) */
  const splitHeads = (x: tf.Tensor2D): tf.Tensor4D =>
    tf.transpose(tf.reshape(x, [rows, tokens, numHeads, headDim]), [0, 2, 1, 3]);
  return tf.tidy(() => {
    const padded = texts.flatMap((ids) => Array.from({ length: tokens }, (_, t) => ids[t] ?? 0));
    const lengths = texts.map((ids) => ids.length);
    const real = tf.tensor2d(
      lengths.map((length) => Array.from({ length: tokens }, (_, t) => Number(t < length))),
    );
    const bias = tf.mul(tf.sub(1, tf.reshape(real, [rows, 1, 1, tokens])), MASKED);
    const words = tf.gather(w['embeddings.word_embeddings.weight'], tf.tensor1d(padded, 'int32'));
    const positions = tf.slice(
      w['embeddings.position_embeddings.weight'] as tf.Tensor2D,
      [firstPosition, 0],
      [tokens, hiddenSize],
    );
    const type = tf.slice(
      w['embeddings.token_type_embeddings.weight'] as tf.Tensor2D,
      [0, 0],
      [1, hiddenSize],
    );
    const embedded = tf.add(tf.add(words, type), tf.tile(positions, [rows, 1]));
    let x = layerNorm(embedded, w, 'embeddings', epsilon);
    for (let i = 0; i < numLayers; i++) {
      const at = `encoder.layer.${i}`;
      // What a layer computes on its way is given back before the next one begins.
      x = tf.tidy(() => {
        const [q, k, v] = ['query', 'key', 'value'].map((name) =>
          splitHeads(dense(x, w, `${at}.attention.self.${name}`)),
        );
        const scores = tf.matMul(tf.mul(q, 1 / Math.sqrt(headDim)), k, false, true); // (B, H, T, T)
        const heads = tf.matMul(tf.softmax(tf.add(scores, bias)), v); // (B, H, T, D)
        const attended = tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [rows * tokens, hiddenSize]);
        const output = `${at}.attention.output`;
        const y = layerNorm(tf.add(dense(attended, w, `${output}.dense`), x), w, output, epsilon);
        const inner = gelu(dense(y, w, `${at}.intermediate.dense`));
        return layerNorm(
          tf.add(dense(inner, w, `${at}.output.dense`), y),
          w,
          `${at}.output`,
          epsilon,
        );
      });
    }
    // The mean needs no division: unit length comes next.
    const sums = tf.matMul(tf.expandDims(real, 1), tf.reshape(x, [rows, tokens, hiddenSize]));
    const pooled = tf.reshape<tf.Rank.R2>(sums, [rows, hiddenSize]);
    return tf.div(pooled, tf.norm(pooled, 2, 1, true));
  });
}

//==== lib/retrieval/bert/encoder.ts
/**
 * Sentence encoders in Hugging Face format: of BERT's kind, mean pooling, unit length.
 */

/** Padded tokens in a pass. */
const TOKENS_AT_ONCE = 4096;

/** What sentence-transformers writes beside the model, as far as it is read here. */
const promptsSchema = z.object({ prompts: z.record(z.string(), z.string()).nullish() });
const lengthSchema = z.object({ max_seq_length: z.int().min(1).nullish() });
const poolingSchema = z.record(z.string(), z.unknown());

/** What E5 was trained with (Wang et al. 2022, arXiv 2212.03533). */
const E5_PROMPTS = { query: 'query: ', passage: 'passage: ' };

/**
 * What goes before a text of each kind: as the folder says, and for a model of E5's name,
 * whose folder says nothing, E5's, as FlashRAG does.
 */
async function readPrompts(folder: string, config: unknown): Promise<Record<TextKind, string>> {
  const { prompts } = promptsSchema.parse(
    await readJsonIfThere(join(folder, 'config_sentence_transformers.json')),
  );
  if (prompts?.query !== undefined)
    return { query: prompts.query, passage: prompts.passage ?? prompts.document ?? '' };
  const names = [
    basename(resolve(folder)),
    String((config as { _name_or_path?: unknown })._name_or_path),
  ];
  return names.some((name) => /(^|[-_/])e5([-_]|$)/i.test(name))
    ? E5_PROMPTS
    : { query: '', passage: '' };
}

/** @throws Error where the model pools in another way than by the mean */
async function requireMeanPooling(folder: string): Promise<void> {
  const pooling = poolingSchema.parse(
    await readJsonIfThere(join(folder, '1_Pooling', 'config.json')),
  );
  const other = Object.entries(pooling).find(
    ([name, isUsed]) =>
      /^pooling_mode_/.test(name) && name !== 'pooling_mode_mean_tokens' && isUsed === true,
  );
  if (other)
    throw new Error(
      `Expected an encoder that takes the mean of its tokens, but 1_Pooling/config.json in ${shortPath(folder)} says ${other[0]}. Serve it by Search-R1's protocol (--retriever http://...).`,
    );
}

/** An encoder from files, with a hash of all that decides its vectors. */
export interface FileEncoder extends Encoder {
  readonly hash: string;
}

/**
 * Loads an encoder on the current backend; it stays in memory. Texts are cut to the
 * model's longest.
 * @throws Error naming the file that is missing, or what is not supported
 */
export async function loadBertEncoder(folder: string): Promise<FileEncoder> {
  const json = await readJson(join(folder, 'config.json'));
  const config = parseBertConfig(json);
  const tokenizerFile = join(folder, 'tokenizer.json');
  const tokenizer = createTokenizer((await readJson(tokenizerFile)) as object);
  await requireMeanPooling(folder);
  const prompts = await readPrompts(folder, json);
  const { max_seq_length } = lengthSchema.parse(
    await readJsonIfThere(join(folder, 'sentence_bert_config.json')),
  );
  const maxTokens = Math.min(config.maxTokens, max_seq_length ?? Infinity);
  const weights = await withWeights(folder, (arrays) => bertWeights(arrays, config));
  const files = await contentHash([
    ...(await weightFiles(folder)),
    tokenizerFile,
    join(folder, 'config.json'),
  ]);

  const { before, after } = tokenizer.around;
  const idsOf = (text: string, kind: TextKind): number[] => {
    const ids = tokenizer
      .encode(prompts[kind] + text)
      .slice(0, maxTokens - before.length - after.length);
    return [...before, ...ids, ...after];
  };
  return {
    name: basename(resolve(folder)),
    dimensions: config.hiddenSize,
    hash: configHash({ files, prompts, maxTokens }),
    encode: async (texts, { kind }) => {
      const ids = texts.map((text) => idsOf(text, kind));
      const vectors = new Array<Float32Array>(texts.length);
      for (const group of batchesOf(ids)) {
        const tensor = embedTexts(
          weights,
          group.map((i) => ids[i]),
          config,
        );
        const values = (await tensor.data()) as Float32Array;
        tensor.dispose();
        group.forEach((i, row) => {
          vectors[i] = values.slice(row * config.hiddenSize, (row + 1) * config.hiddenSize);
        });
      }
      return vectors;
    },
  };
}

/**
 * Places of texts of similar length, of at most {@link TOKENS_AT_ONCE} padded tokens
 * together.
 */
function batchesOf(texts: readonly (readonly number[])[]): number[][] {
  const order = texts.map((_, i) => i).sort((a, b) => texts[a].length - texts[b].length);
  const batches: number[][] = [];
  for (const i of order) {
    const batch = batches.at(-1);
    if (batch && (batch.length + 1) * texts[i].length <= TOKENS_AT_ONCE) batch.push(i);
    else batches.push([i]);
  }
  return batches;
}
