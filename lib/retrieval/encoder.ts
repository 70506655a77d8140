/** Sentence encoders, and this project's own: projected hashed words and n-grams. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { splitContents } from '../data/passage.js';
import { hash32 } from '../random.js';
import { parseStored, requireFinite } from '../tensor/safetensors.js';
import { splitWords } from '../text/words.js';
import { normalise } from './exact.js';

export type TextKind = 'query' | 'passage';

/** Turns texts into unit vectors whose inner products rank passages for a query. */
export interface Encoder {
  readonly name: string;
  readonly dimensions: number;
  /** Hash of everything its vectors depend on; hashed encoders have none. */
  readonly hash?: string;
  encode(texts: readonly string[], options: { kind: TextKind }): Promise<Float32Array[]>;
}

export interface FeatureOptions {
  wordBuckets: number;
  gramBuckets: number;
  /** Lengths of the n-grams; word boundaries count as characters. */
  gramLengths: readonly number[];
  /** How many times a feature in a passage's title counts. */
  titleWeight: number;
}

/**
 * Weights of the hashed encoder. The vector of a text is the normalised sum, over its
 * features, of value * gain (by text kind) * projection row.
 */
export interface HashedWeights {
  dimensions: number;
  features: FeatureOptions;
  /** (buckets, dimensions), row-major. */
  projection: Float32Array | Int8Array;
  /** Weight of each feature in queries; `passageGain` in passages. (buckets) */
  queryGain: Float32Array;
  passageGain: Float32Array;
}

export interface HashedEncoder extends Encoder {
  readonly weights: HashedWeights;
}

/** Makes an encoder from weights. A text without features gets the zero vector. */
export function createHashedEncoder(weights: HashedWeights): HashedEncoder {
  const { dimensions, features, projection, queryGain, passageGain } = weights;
  const numBuckets = features.wordBuckets + features.gramBuckets;
  const sizes = [projection.length / dimensions, queryGain.length, passageGain.length];
  if (sizes.some((size) => size !== numBuckets))
    throw new RangeError(
      `Expected ${numBuckets} rows in the projection and both gains, but got ${sizes.join(', ')}.`,
    );
  return {
    name: 'hashed',
    dimensions,
    weights,
    encode: async (texts, { kind }) =>
      texts.map((text) =>
        normalise(projectFeatures(weights, hashFeatures(text, kind, features), kind)),
      ),
  };
}

/** The weighted sum of the features' rows, not normalised. (dimensions) */
function projectFeatures(
  weights: HashedWeights,
  { buckets, values }: Features,
  kind: TextKind,
): Float32Array {
  const { dimensions, projection } = weights;
  const gains = kind === 'query' ? weights.queryGain : weights.passageGain;
  const sum = new Float32Array(dimensions);
  buckets.forEach((bucket, i) => {
    const weight = values[i] * gains[bucket];
    const row = bucket * dimensions;
    for (let d = 0; d < dimensions; d++) sum[d] += weight * projection[row + d];
  });
  return sum;
}

/** Sparse features: distinct buckets and their values. */
export interface Features {
  buckets: Uint32Array;
  values: Float32Array;
}

/** Hashes a text's features; the value of a bucket with total weight w is ln(1 + w). */
export function hashFeatures(text: string, kind: TextKind, options: FeatureOptions): Features {
  const { wordBuckets, gramBuckets, gramLengths, titleWeight } = options;
  const weights = new Map<number, number>();
  const countFeatures = (part: string, weight: number): void => {
    const count = (bucket: number) => weights.set(bucket, (weights.get(bucket) ?? 0) + weight);
    for (const word of splitWords(part)) {
      count(hash32(word) % wordBuckets);
      if (gramBuckets === 0) continue;
      const bounded = `<${word}>`;
      for (const length of gramLengths)
        for (let start = 0; start + length <= bounded.length; start++)
          count(wordBuckets + (hash32(bounded.slice(start, start + length)) % gramBuckets));
    }
  };
  if (kind === 'query') countFeatures(text, 1);
  else {
    const passage = splitContents(text);
    countFeatures(passage.title, titleWeight);
    countFeatures(passage.text, 1);
  }
  return {
    buckets: Uint32Array.from(weights.keys()),
    values: Float32Array.from(weights.values(), (weight) => Math.log1p(weight)),
  };
}

/**
 * The file format of the hashed encoder: safetensors with `projection` (I8, buckets x
 * dimensions), `query_gain` and `passage_gain` (F32, buckets), and options in
 * `__metadata__`. A row's scale (largest magnitude / 127) is folded into the gains, so
 * that the 8-bit rows are used directly.
 */
export const ENCODER_FORMAT = 'parallelsearch-hashed-encoder-1';
export const ENCODER_FILE = 'encoder.safetensors';

const optionsSchema = z.strictObject({
  dimensions: z.int().min(1),
  features: z.strictObject({
    wordBuckets: z.int().min(1),
    gramBuckets: z.int().min(0),
    gramLengths: z.array(z.int().min(1)),
    titleWeight: z.number().min(0),
  }),
});

/** @throws Error for another format, a truncated file, or a gain that is not finite */
export function encoderFromBytes(bytes: Uint8Array): HashedEncoder {
  const { metadata, tensors } = parseStored(bytes);
  if (metadata.format !== ENCODER_FORMAT)
    throw new Error(
      `Expected an encoder file (${ENCODER_FORMAT}), but its format is ${metadata.format ?? 'missing'}.`,
    );
  // Copies the bytes, which may not be aligned.
  const data = (name: string, dtype: string): ArrayBuffer => {
    const tensor = tensors.get(name);
    if (tensor?.dtype !== dtype)
      throw new Error(
        `Expected a tensor ${name} of type ${dtype} in the encoder file, but got ${tensor?.dtype ?? 'none'}.`,
      );
    return Uint8Array.from(tensor.bytes).buffer;
  };
  const gains = (name: string): Float32Array => {
    const values = new Float32Array(data(name, 'F32'));
    requireFinite(name, values);
    return values;
  };
  return createHashedEncoder({
    ...optionsSchema.parse(JSON.parse(metadata.options)),
    projection: new Int8Array(data('projection', 'I8')),
    queryGain: gains('query_gain'),
    passageGain: gains('passage_gain'),
  });
}

/** Loads this project's encoder from its folder. */
export async function loadEncoder(folder: string): Promise<HashedEncoder> {
  return encoderFromBytes(await readFile(join(folder, ENCODER_FILE)));
}
