/**
 * Contrastive training of the embedded encoder; TensorFlow.js computes gradients on the
 * backend in use.
 */
import * as tf from '@tensorflow/tfjs-core';
import { createRandom } from '../../lib/random.js';
import {
  createHashedEncoder,
  type HashedEncoder,
  type HashedWeights,
  hashFeatures,
  type Features,
  type TextKind,
} from '../../lib/retrieval/encoder.js';
import { requireInteger } from '../../lib/retrieval/retriever.js';

/** A query and a passage that answers it. */
export interface TrainingPair {
  query: string;
  /** Contents of the passage. */
  positive: string;
  /** Contents of other passages that answer the query; never used as negatives. */
  otherPositives?: readonly string[];
  /** Contents of passages that do not answer it, for example from BM25. */
  negatives?: readonly string[];
}

const DEFAULTS = {
  /** Passes over the pairs. */
  epochs: 3,
  /** Pairs per batch; the passages of all other pairs are negatives. */
  batchSize: 64,
  /** AdaGrad's step size. */
  learningRate: 0.03,
  /** Divides cosines before the softmax. */
  temperature: 0.1,
  seed: 0 as number | string,
};

interface TrainingOptions extends Partial<typeof DEFAULTS> {
  onEpoch?: (progress: { epoch: number; epochs: number; meanLossNats: number }) => void;
}

/** The trained arrays, each with one row per bucket. */
const TRAINED = ['projection', 'queryGain', 'passageGain'] as const;

/**
 * Trains the embedded encoder with an in-batch softmax (InfoNCE, van den Oord et al.
 * 2018; as DPR, Karpukhin et al. 2020): minimises the mean of `-log softmax(cosine /
 * temperature)` of the positive among all passages of the batch, by AdaGrad. `initial` is
 * not changed. The same seed gives the same weights on the same backend.
 */
export function trainEncoder(
  initial: HashedWeights,
  pairs: readonly TrainingPair[],
  options: TrainingOptions = {},
): HashedEncoder {
  const { epochs, batchSize, learningRate, temperature, seed } = { ...DEFAULTS, ...options };
  requireInteger('epochs', epochs);
  requireInteger('batchSize', batchSize, 2);
  if (pairs.length === 0)
    throw new RangeError('Expected at least one training pair, but got none.');
  const weights = {
    ...initial,
    projection: Float32Array.from(initial.projection),
    queryGain: initial.queryGain.slice(),
    passageGain: initial.passageGain.slice(),
  };
  const squares = TRAINED.map((name) => new Float32Array(weights[name].length));
  const readFeatures = createFeatureCache(weights);
  const random = createRandom(seed).fork('encoder-batches');
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = random.shuffle(pairs);
    let lossSum = 0;
    for (let at = 0; at < order.length; at += batchSize) {
      const batch = order.slice(at, at + batchSize);
      const how = { readFeatures, temperature };
      const { loss, rows, gradients } = batchGradients(batch, weights, how);
      TRAINED.forEach((name, i) =>
        adagrad(weights[name], squares[i], { rows, gradient: gradients[i], learningRate }),
      );
      lossSum += loss * batch.length;
    }
    options.onEpoch?.({ epoch, epochs, meanLossNats: lossSum / order.length });
  }
  return createHashedEncoder(weights);
}

type FeatureCache = (text: string, kind: TextKind) => Features;

/** A logit to which softmax gives no weight. */
const NOTHING = -1e9;
/** Keeps the norm of a text without features from being 0. */
const TINY = 1e-12;

/** The batch's mean loss (nats), and the gradients of the rows it uses. */
function batchGradients(
  pairs: readonly TrainingPair[],
  weights: HashedWeights,
  { readFeatures, temperature }: { readFeatures: FeatureCache; temperature: number },
): { loss: number; rows: number[]; gradients: Float32Array[] } {
  const all = pairs.flatMap(({ positive, negatives = [] }) => [positive, ...negatives]);
  const texts = [...new Set(all)];
  const queries = pairs.map(({ query }) => readFeatures(query, 'query'));
  const passages = texts.map((text) => readFeatures(text, 'passage'));
  const rows = [...new Set([...queries, ...passages].flatMap(({ buckets }) => [...buckets]))];
  const table = (readValue: (pair: TrainingPair, text: string) => number): tf.Tensor2D =>
    tf.tensor2d(pairs.map((pair) => texts.map((text) => readValue(pair, text)))); // (pairs, texts)
  return tf.tidy(() => {
    const [queryFeatures, passageFeatures] = [queries, passages].map((features) =>
      denseFeatures(features, rows),
    );
    const isTarget = table(({ positive }, text) => Number(text === positive));
    const ignored = table(({ positive, otherPositives = [] }, text) =>
      text !== positive && otherPositives.includes(text) ? NOTHING : 0,
    );
    const loss = (...[projection, queryGain, passageGain]: tf.Tensor[]): tf.Scalar => {
      const encode = (features: tf.Tensor2D, gain: tf.Tensor): tf.Tensor2D => {
        const sum = tf.matMul<tf.Tensor2D>(tf.mul(features, gain), projection); // (texts, dimensions)
        return tf.div(sum, tf.sqrt(tf.add(tf.sum(tf.square(sum), 1, true), TINY)));
      };
      const [q, p] = [encode(queryFeatures, queryGain), encode(passageFeatures, passageGain)];
      const cosines = tf.matMul(q, p, false, true);
      const logProbs = tf.logSoftmax(tf.add(tf.div(cosines, temperature), ignored));
      return tf.sub(0, tf.div(tf.sum(tf.mul(logProbs, isTarget)), pairs.length));
    };
    const touched = TRAINED.map((name) => takeRows(weights[name], rows, weights));
    const { value, grads } = tf.valueAndGrads(loss)(touched);
    const gradients = grads.map((gradient) => gradient.dataSync<'float32'>());
    return { loss: value.dataSync()[0], rows, gradients };
  });
}

/** Features as a matrix with one column for each of these buckets. (texts, rows) */
function denseFeatures(texts: readonly Features[], rows: readonly number[]): tf.Tensor2D {
  const column = new Map(rows.map((bucket, i) => [bucket, i]));
  const dense = new Float32Array(texts.length * rows.length);
  texts.forEach(({ buckets, values }, i) =>
    buckets.forEach((bucket, j) => (dense[i * rows.length + column.get(bucket)!] = values[j])),
  );
  return tf.tensor2d(dense, [texts.length, rows.length]);
}

/** Gathers rows by bucket, from the projection (rows, dimensions) or a gain (rows). */
function takeRows(
  array: HashedWeights['projection'],
  rows: readonly number[],
  weights: HashedWeights,
): tf.Tensor {
  const width = array.length / weights.queryGain.length;
  const taken = new Float32Array(rows.length * width);
  rows.forEach((row, i) => taken.set(array.subarray(row * width, (row + 1) * width), i * width));
  return tf.tensor(taken, array === weights.projection ? [rows.length, width] : [rows.length]);
}

/** Makes one AdaGrad step on the rows of a gradient. */
function adagrad(
  values: Float32Array,
  squares: Float32Array,
  step: { rows: readonly number[]; gradient: Float32Array; learningRate: number },
): void {
  const { rows, gradient, learningRate } = step;
  const width = gradient.length / rows.length;
  gradient.forEach((slope, i) => {
    if (slope === 0) return;
    const at = rows[Math.floor(i / width)] * width + (i % width);
    squares[at] += slope * slope;
    values[at] -= (learningRate * slope) / (Math.sqrt(squares[at]) + 1e-8);
  });
}

function createFeatureCache({ features }: HashedWeights): FeatureCache {
  const known = { query: new Map<string, Features>(), passage: new Map<string, Features>() };
  return (text, kind) => {
    const found = known[kind].get(text) ?? hashFeatures(text, kind, features);
    known[kind].set(text, found);
    return found;
  };
}
