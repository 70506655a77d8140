/**
 * Sentence encoders in Hugging Face format: BERT's architecture (Devlin et al. 2019),
 * mean pooling, vectors of unit length. No gradients.
 * Shape letters: B texts, T tokens, C width, H heads, D head width.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { z } from 'zod';
import { readJson, readJsonIfExists } from '../io/files.js';
import { parseAs } from '../io/json.js';
import { shortPath } from '../io/paths.js';
import { configHash, contentHash } from '../io/provenance.js';
import { withTimeLimit } from '../io/time-limit.js';
import { readTokenizerConfig, readTokenizerJson } from '../io/tokenizer-config.js';
import { groupByLength, MASKED } from '../tensor/ops.js';
import { requireTensor, type Tensors } from '../tensor/safetensors.js';
import { weightFiles, withWeights } from '../tensor/weight-files.js';
import { createTokenizer, requireIdsBelow } from '../text/tokenizer/tokenizer.js';
import type { Encoder, TextKind } from './encoder.js';

const upTo = (most: number) => z.int().min(1).max(most);

/** Rejects settings that would change the computation. */
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

interface BertConfig {
  vocabSize: number;
  hiddenSize: number;
  numLayers: number;
  numHeads: number;
  layerNormEps: number;
  /**
   * RoBERTa counts positions from the row after this id, and does not count tokens with
   * this id, which have this row. -1 in BERT.
   */
  padTokenId: number;
  /** Maximum text length (tokens), including special tokens. */
  maxTokens: number;
  /** Shapes of the checkpoint's tensors by Hugging Face name, output by input. */
  shapes: ReadonlyMap<string, number[]>;
}

/** Parses config.json. @throws Error naming the field that is missing or unsupported */
export function parseBertConfig(json: unknown): BertConfig {
  const c = parseAs(configSchema, json, 'the config.json of a BERT encoder');
  if (c.hidden_size % c.num_attention_heads !== 0)
    throw new Error(
      `Expected hidden_size to be a multiple of num_attention_heads, but got ${c.hidden_size} and ${c.num_attention_heads}.`,
    );
  const padTokenId = c.model_type === 'bert' ? -1 : (c.pad_token_id ?? 1);
  const width = c.hidden_size;
  const norm = (name: string): [string, number[]][] =>
    ['weight', 'bias'].map((part) => [`${name}.LayerNorm.${part}`, [width]]);
  const dense = (name: string, outputs: number, inputs: number): [string, number[]][] => [
    [`${name}.weight`, [outputs, inputs]],
    [`${name}.bias`, [outputs]],
  ];
  const layer = (i: number): [string, number[]][] => {
    const prefix = `encoder.layer.${i}`;
    return [
      ...['query', 'key', 'value'].flatMap((name) =>
        dense(`${prefix}.attention.self.${name}`, width, width),
      ),
      ...dense(`${prefix}.attention.output.dense`, width, width),
      ...norm(`${prefix}.attention.output`),
      ...dense(`${prefix}.intermediate.dense`, c.intermediate_size, width),
      ...dense(`${prefix}.output.dense`, width, c.intermediate_size),
      ...norm(`${prefix}.output`),
    ];
  };
  return {
    vocabSize: c.vocab_size,
    hiddenSize: width,
    numLayers: c.num_hidden_layers,
    numHeads: c.num_attention_heads,
    layerNormEps: c.layer_norm_eps,
    padTokenId,
    maxTokens: c.max_position_embeddings - padTokenId - 1,
    shapes: new Map([
      ['embeddings.word_embeddings.weight', [c.vocab_size, width]],
      ['embeddings.position_embeddings.weight', [c.max_position_embeddings, width]],
      ['embeddings.token_type_embeddings.weight', [c.type_vocab_size, width]],
      ...norm('embeddings'),
      ...range(c.num_hidden_layers).flatMap(layer),
    ]),
  };
}

/** Tensors by Hugging Face name; matrices are transposed to input by output. */
type BertWeights = Record<string, tf.Tensor>;

/**
 * Unused tensors: heads of pretraining, and a constant. Not `classifier`, since the
 * vectors of a cross-encoder (reranker) mean nothing.
 */
const REDUNDANT = /^(pooler|cls|lm_head)\.|position_ids$/;
/** Prefix of tensor names in models with a head for another task. */
const PREFIX = /^(bert|roberta)\./;
/** BERT's first checkpoints name the norms' parameters as TensorFlow does. */
const modernName = (name: string): string =>
  name
    .replace(PREFIX, '')
    .replace(/\.gamma$/, '.weight')
    .replace(/\.beta$/, '.bias');

/**
 * Converts a checkpoint's tensors to weights, of which the caller disposes.
 * @throws Error naming a tensor that is missing, unexpected or of the wrong shape
 */
export function bertWeights(arrays: Tensors, { shapes }: BertConfig): BertWeights {
  const names = new Map(Array.from(arrays.keys(), (name) => [modernName(name), name] as const));
  const unexpected = [...names.keys()].find((name) => !shapes.has(name) && !REDUNDANT.test(name));
  if (unexpected)
    throw new Error(`Expected only tensors of a BERT encoder, but there is ${unexpected}.`);
  const weights: BertWeights = {};
  for (const [name, shape] of shapes) {
    const array = requireTensor(arrays, names.get(name) ?? name, { shape, title: name });
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

/** Normalises rows of x (N, C) to mean 0 and variance 1, then applies gain and bias. */
function layerNorm(x: tf.Tensor, w: BertWeights, name: string, epsilon: number): tf.Tensor2D {
  const centred = tf.sub(x, tf.mean(x, 1, true));
  const variance = tf.mean(tf.square(centred), 1, true);
  const normed = tf.mul(centred, tf.rsqrt(tf.add(variance, epsilon)));
  return tf.add(tf.mul(normed, w[`${name}.LayerNorm.weight`]), w[`${name}.LayerNorm.bias`]);
}

/** The exact GELU, as in transformers, not the tanh approximation. */
const gelu = (x: tf.Tensor): tf.Tensor =>
  tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));

/** The position embedding's rows for a text that is padded to `tokens`. */
function positionRows(text: readonly number[], tokens: number, padTokenId: number): number[] {
  let last = padTokenId;
  return range(tokens).map((t) => (text[t] === padTokenId ? padTokenId : ++last));
}

/**
 * Embeds texts as vectors (B, C): the mean of the tokens' hidden states, normalised. The
 * caller disposes of the result.
 * @param texts token ids including special ones, 1 to `config.maxTokens` each
 */
function embedTexts(
  w: BertWeights,
  texts: readonly (readonly number[])[],
  config: BertConfig,
): tf.Tensor2D {
  const { numLayers, numHeads, hiddenSize, layerNormEps: epsilon, padTokenId } = config;
  const rows = texts.length;
  const tokens = Math.max(...texts.map((ids) => ids.length));
  const headDim = hiddenSize / numHeads;
  /** (B*T, C) -> (B, H, T, D) */
  const splitHeads = (x: tf.Tensor2D): tf.Tensor4D =>
    tf.transpose(tf.reshape(x, [rows, tokens, numHeads, headDim]), [0, 2, 1, 3]);
  const embedding = (name: string) => w[`embeddings.${name}_embeddings.weight`] as tf.Tensor2D;
  return tf.tidy(() => {
    const ids = texts.flatMap((text) => range(tokens).map((t) => text[t] ?? 0));
    const isReal = tf.tensor2d(
      texts.map((text) => range(tokens).map((t) => Number(t < text.length))),
    ); // (B, T)
    const bias = tf.mul(tf.sub(1, tf.reshape(isReal, [rows, 1, 1, tokens])), MASKED);
    const words = tf.gather(embedding('word'), tf.tensor1d(ids, 'int32')); // (B*T, C)
    const places = texts.flatMap((text) => positionRows(text, tokens, padTokenId));
    const positions = tf.gather(embedding('position'), tf.tensor1d(places, 'int32'));
    const type = tf.slice(embedding('token_type'), [0, 0], [1, hiddenSize]);
    const embedded = tf.add(tf.add(words, type), positions);
    let x = layerNorm(embedded, w, 'embeddings', epsilon); // (B*T, C)
    for (let i = 0; i < numLayers; i++) {
      const prefix = `encoder.layer.${i}`;
      // Frees a layer's intermediate results before the next.
      x = tf.tidy(() => {
        const [q, k, v] = ['query', 'key', 'value'].map((name) =>
          splitHeads(dense(x, w, `${prefix}.attention.self.${name}`)),
        );
        const scores = tf.matMul(tf.mul(q, 1 / Math.sqrt(headDim)), k, false, true); // (B, H, T, T)
        const heads = tf.matMul(tf.softmax(tf.add(scores, bias)), v); // (B, H, T, D)
        const attended = tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [rows * tokens, hiddenSize]);
        const output = `${prefix}.attention.output`;
        const y = layerNorm(tf.add(dense(attended, w, `${output}.dense`), x), w, output, epsilon);
        const inner = gelu(dense(y, w, `${prefix}.intermediate.dense`));
        const residual = tf.add(dense(inner, w, `${prefix}.output.dense`), y);
        return layerNorm(residual, w, `${prefix}.output`, epsilon);
      });
    }
    // The sum can replace the mean, because it is normalised.
    const sums = tf.matMul(tf.expandDims(isReal, 1), tf.reshape(x, [rows, tokens, hiddenSize]));
    const pooled = tf.reshape<tf.Rank.R2>(sums, [rows, hiddenSize]); // (B, C)
    return tf.div(pooled, tf.norm(pooled, 2, 1, true));
  });
}

const MAX_TOKENS_PER_PASS = 4096;

// From files of sentence-transformers.
const promptsSchema = z.object({
  prompts: z.record(z.string(), z.string()).nullish(),
  default_prompt_name: z.string().nullish(),
  similarity_fn_name: z.string().nullish(),
  truncate_dim: z.null().optional(),
});
const textSchema = z.looseObject({
  method: z.literal('forward').optional(),
  method_output_name: z.literal('last_hidden_state').optional(),
});
/** Rejects other settings, such as of the tokenizer, unless they are empty. */
const textsSchema = z
  .object({
    max_seq_length: z.int().min(1).nullish(),
    do_lower_case: z.boolean().nullish(),
    model_args: z.unknown().optional(),
    model_kwargs: z.unknown().optional(),
    modality_config: z.looseObject({ text: textSchema.optional() }).nullish(),
    module_output_name: z.literal('token_embeddings').nullish(),
    transformer_task: z.literal('feature-extraction').nullish(),
    unpad_inputs: z.unknown().optional(),
  })
  .catchall(z.strictObject({}).nullable());
const limitsSchema = z.object({
  model_max_length: z.number().min(1).nullish(),
  /** Its name in old files. */
  max_len: z.number().min(1).nullish(),
  truncation_side: z.enum(['left', 'right']).nullish(),
});
const poolingSchema = z.record(z.string(), z.unknown());
const modulesSchema = z.array(z.object({ path: z.string(), type: z.string() }));

/** The files that sentence-transformers looks for, in this order. */
const TEXTS_FILES = 'bert roberta distilbert camembert albert xlm-roberta xlnet'
  .split(' ')
  .map((name) => `sentence_${name}_config.json`);
const CONFIG_FILE = 'config_sentence_transformers.json';

const readSettings = async <T>(file: string, schema: z.ZodType<T>): Promise<T> =>
  parseAs(schema, await readJsonIfExists(file), `settings of an encoder in ${shortPath(file)}`);

/** E5's prompts (Wang et al. 2022, arXiv 2212.03533). */
const E5_PROMPTS = { query: 'query: ', passage: 'passage: ' };

/** Reads the prompts in the folder's config; else E5's by folder name, as in FlashRAG. */
async function readPrompts(folder: string, config: unknown): Promise<Record<TextKind, string>> {
  const file = join(folder, CONFIG_FILE);
  const settings = await readSettings(file, promptsSchema);
  const { default_prompt_name: name } = settings;
  const prompts: Record<string, string | undefined> = settings.prompts ?? {};
  if (name && !Object.hasOwn({ query: '', document: '', ...prompts }, name))
    throw new Error(
      `Expected the prompt ${name}, which default_prompt_name names, among the prompts in ${shortPath(file)}.`,
    );
  // As encode_query and encode_document, which never apply the default prompt. In 6.2 the
  // latter finds an empty document prompt before the others, unlike its documentation.
  const query = prompts.query ?? '';
  const passage = prompts.document ?? prompts.passage ?? prompts.corpus ?? '';
  if (query || passage) return { query, passage };
  const path = resolve(folder);
  // In the Hub's cache, the folder's name is a hash.
  const [, cached = basename(path)] = /models--([^/\\]+).snapshots.[^/\\]+$/.exec(path) ?? [];
  const names = [cached, String((config as { _name_or_path?: unknown })._name_or_path)];
  const e5 = names.find((name) => /(^|[-_/])e5([-_]|$)/i.test(name));
  if (e5 && /instruct/i.test(e5))
    throw new Error(
      `Expected prompts in ${shortPath(file)}, since ${e5} needs its task in the query. Add, for example, {"prompts": {"query": "Instruct: Given a web search query, retrieve relevant passages that answer the query\\nQuery: ", "document": ""}}.`,
    );
  return e5 ? E5_PROMPTS : { query: '', passage: '' };
}

async function requireMeanPooling(folder: string): Promise<void> {
  const refuse = (file: string, what: string): never => {
    throw new Error(
      `Expected an encoder with mean pooling and unit length, but ${file} in ${shortPath(folder)} says ${what}. Serve it over Search-R1's protocol (--retriever http://...).`,
    );
  };
  const listed = join(folder, 'modules.json');
  const modules = existsSync(listed) ? await readSettings(listed, modulesSchema) : [];
  const named = modules.map(({ type, path }) => ({ name: type.split('.').at(-1)!, path }));
  const extra = named.find(({ name }) => !['Transformer', 'Pooling', 'Normalize'].includes(name));
  if (extra) refuse('modules.json', extra.name);
  const transformer = named.find(({ name, path }) => name === 'Transformer' && path);
  if (transformer) refuse('modules.json', `path: ${transformer.path}`);
  const listedPooling = named.find(({ name }) => name === 'Pooling');
  if (modules.length > 0 && !listedPooling) refuse('modules.json', 'no Pooling');
  const poolingFile = `${listedPooling?.path ?? '1_Pooling'}/config.json`;
  if (listedPooling && !existsSync(join(folder, poolingFile)))
    throw new Error(
      `Expected ${poolingFile} in ${shortPath(folder)}, which modules.json lists, but it is missing. Copy all files again.`,
    );
  if (modules.length === 0 && !existsSync(join(folder, poolingFile)))
    console.error(
      `${shortPath(folder)} has no ${poolingFile}: its tokens’ vectors are averaged. Copy it if the model has one.`,
    );
  const pooling = await readSettings(join(folder, poolingFile), poolingSchema);
  for (const [name, value] of Object.entries(pooling)) {
    const isOther = /^pooling_mode_/.test(name) && name !== 'pooling_mode_mean_tokens' && value;
    if (isOther || (name === 'pooling_mode' && String(value) !== 'mean'))
      refuse(poolingFile, `${name}: ${JSON.stringify(value)}`);
    // Would leave the prompt's tokens out of the mean.
    if (name === 'include_prompt' && value === false) refuse(poolingFile, 'include_prompt: false');
  }
  const { similarity_fn_name: similarity } = await readSettings(
    join(folder, CONFIG_FILE),
    promptsSchema,
  );
  const isNormalized = named.length === 0 || named.some(({ name }) => name === 'Normalize');
  if (!isNormalized && similarity && similarity !== 'cosine')
    refuse(CONFIG_FILE, `similarity_fn_name: ${similarity}`);
}

/**
 * Loads an encoder on the current backend, where it stays in memory. Longer texts are cut
 * to the model's maximum.
 * @throws Error naming the file that is missing, or what is unsupported
 */
export async function loadBertEncoder(folder: string): Promise<Encoder> {
  const configFile = join(folder, 'config.json');
  const tokenizerFile = join(folder, 'tokenizer.json');
  await requireMeanPooling(folder);
  const json = await readJson(configFile);
  const config = parseBertConfig(json);
  const { hiddenSize } = config;
  const tokenizerJson = await readTokenizerJson(folder);
  const limit = <T>(length: number, compute: () => T): T =>
    withTimeLimit(shortPath(tokenizerFile), length, compute);
  const tokenizerConfig = await readTokenizerConfig(folder);
  const tokenizer = limit(0, () => createTokenizer(tokenizerJson, tokenizerConfig));
  requireIdsBelow(tokenizer, config.vocabSize);
  const prompts = await readPrompts(folder, json);
  const textsFile = TEXTS_FILES.map((name) => join(folder, name)).find(existsSync);
  const { max_seq_length, do_lower_case: isLowerCase } = textsFile
    ? await readSettings(textsFile, textsSchema)
    : {};
  const { truncation } = tokenizerJson as { truncation?: { direction?: unknown } | null };
  const side = truncation?.direction === 'Left' ? 'left' : 'right';
  const {
    max_len,
    model_max_length = max_len,
    truncation_side = side,
  } = await readSettings(join(folder, 'tokenizer_config.json'), limitsSchema);
  const isCutLeft = truncation_side === 'left';
  const maxTokens = Math.min(config.maxTokens, max_seq_length ?? model_max_length ?? Infinity);
  const weights = await withWeights(folder, (arrays) => bertWeights(arrays, config));
  const files = await contentHash([...(await weightFiles(folder)), tokenizerFile, configFile]);

  const { before, after } = tokenizer.around;
  const room = maxTokens - before.length - after.length;
  if (room < 1)
    throw new Error(
      `Expected room for a token besides the special ones in ${shortPath(folder)}, but a text has at most ${maxTokens}. Raise max_seq_length.`,
    );
  const encodeText = (text: string, kind: TextKind): number[] => {
    const full = prompts[kind] + text;
    const ids = limit(full.length, () => tokenizer.encode(isLowerCase ? full.toLowerCase() : full));
    return [...before, ...(isCutLeft ? ids.slice(-room) : ids.slice(0, room)), ...after];
  };
  return {
    name: basename(resolve(folder)),
    dimensions: hiddenSize,
    hash: configHash({
      files,
      tokenizerConfig,
      prompts,
      maxTokens,
      ...(isLowerCase && { isLowerCase }),
      ...(isCutLeft && { side: 'left' }),
    }),
    encode: async (texts, { kind }) => {
      const ids = texts.map((text) => encodeText(text, kind));
      const lengths = ids.map(({ length }) => length);
      const vectors = new Array<Float32Array>(texts.length);
      for (const group of groupByLength(lengths, MAX_TOKENS_PER_PASS)) {
        const batch = group.map((i) => ids[i]);
        const tensor = embedTexts(weights, batch, config);
        const values = (await tensor.data()) as Float32Array;
        tensor.dispose();
        group.forEach((i, row) => {
          vectors[i] = values.slice(row * hiddenSize, (row + 1) * hiddenSize);
        });
      }
      return vectors;
    },
  };
}
