import type { Random } from '../random.js';
import { normalise } from './exact.js';
import { hashFeatures, type FeatureOptions, type Features, type TextKind } from './features.js';
import { requireInteger } from './top-k.js';

/** Turns texts into unit vectors whose inner products rank passages for a query. */
export interface Encoder {
  readonly name: string;
  readonly dimensions: number;
  encode(texts: readonly string[], options: { kind: TextKind }): Promise<Float32Array[]>;
}

/**
 * Weights of the embedded encoder: a text's vector is the sum over its features of
 * value * gain (of its kind) * row of the projection, brought to unit length.
 */
export interface HashedWeights {
  dimensions: number;
  features: FeatureOptions;
  /** (buckets, dimensions), row by row. */
  projection: Float32Array | Int8Array;
  /** (buckets): weight of a feature in a query, and in a passage. */
  queryGain: Float32Array;
  passageGain: Float32Array;
}

export interface HashedEncoder extends Encoder {
  readonly weights: HashedWeights;
}

export interface HashedOptions extends Partial<FeatureOptions> {
  dimensions?: number;
}

/**
 * Wraps weights as an encoder; texts without any feature become the zero vector. Runs in
 * a browser.
 */
export function createHashedEncoder(weights: HashedWeights): HashedEncoder {
  checkWeights(weights);
  return {
    name: 'hashed',
    dimensions: weights.dimensions,
    weights,
    encode: async (texts, { kind }) =>
      texts.map((text) =>
        normalise(projectFeatures(weights, hashFeatures(text, kind, weights.features), kind)),
      ),
  };
}

/**
 * A random projection with idf gains: a lexical encoder that needs no training, and the
 * start of training. Inner products keep those of the weighted feature vectors up to
 * noise of about 1 / sqrt(dimensions).
 *
 * @param passageTexts contents of the corpus, from which document frequencies are
 * counted.
 */
export function randomWeights(
  passageTexts: readonly string[],
  random: Random,
  options: HashedOptions = {},
): HashedWeights {
  const {
    dimensions = 128,
    wordBuckets = 5120,
    gramBuckets = 2048,
    gramLengths = [4],
    titleWeight = 2,
  } = options;
  requireInteger('dimensions', dimensions);
  requireInteger('wordBuckets', wordBuckets);
  requireInteger('gramBuckets', gramBuckets, 0);
  const features = { wordBuckets, gramBuckets, gramLengths, titleWeight };
  const numBuckets = wordBuckets + gramBuckets;
  const scale = 1 / Math.sqrt(dimensions);
  const projection = Float32Array.from(
    { length: numBuckets * dimensions },
    () => random.normal() * scale,
  );
  const idf = bucketIdf(passageTexts, features);
  return { dimensions, features, projection, queryGain: idf, passageGain: idf.slice() };
}

const GRAM_GAIN = 0.4; // n-grams start below the words that they overlap

function bucketIdf(passageTexts: readonly string[], features: FeatureOptions): Float32Array {
  const counts = new Float64Array(features.wordBuckets + features.gramBuckets);
  for (const text of passageTexts) {
    for (const bucket of hashFeatures(text, 'passage', features).buckets) counts[bucket]++;
  }
  return Float32Array.from(counts, (df, bucket) => {
    const idf = Math.log(1 + (passageTexts.length - df + 0.5) / (df + 0.5));
    return bucket < features.wordBuckets ? idf : GRAM_GAIN * idf;
  });
}

/** The sum of the features' weighted rows, not yet normalised. (dimensions) */
export function projectFeatures(
  weights: HashedWeights,
  features: Features,
  kind: TextKind,
): Float32Array {
  const { dimensions, projection } = weights;
  const gains = kind === 'query' ? weights.queryGain : weights.passageGain;
  const sum = new Float32Array(dimensions);
  features.buckets.forEach((bucket, i) => {
    const weight = features.values[i] * gains[bucket];
    const row = bucket * dimensions;
    for (let d = 0; d < dimensions; d++) sum[d] += weight * projection[row + d];
  });
  return sum;
}

function checkWeights({
  dimensions,
  features,
  projection,
  queryGain,
  passageGain,
}: HashedWeights): void {
  const numBuckets = features.wordBuckets + features.gramBuckets;
  const sizes = [projection.length / dimensions, queryGain.length, passageGain.length];
  if (sizes.some((size) => size !== numBuckets)) {
    throw new RangeError(
      `Expected ${numBuckets} rows in the projection and both gains, but got ${sizes.join(', ')}.`,
    );
  }
}
