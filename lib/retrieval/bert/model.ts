/**
 * An encoder of BERT's kind (Devlin et al. 2019): embeddings, blocks of attention over
 * the whole text and a product through GELU, each normalised after its residual. Without
 * gradients.
 *
 * Shape letters: B texts, T tokens, C width, H heads, D head width.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Tensors } from '../../tensor/safetensors.js';
import type { BertConfig } from './config.js';

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
