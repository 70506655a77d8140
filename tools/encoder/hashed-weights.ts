/** The hashed encoder before and after training: random weights, and the file format. */
import type { Random } from '../../lib/random.js';
import {
  ENCODER_FORMAT,
  hashFeatures,
  type FeatureOptions,
  type HashedEncoder,
  type HashedWeights,
} from '../../lib/retrieval/encoder.js';
import { requireInteger } from '../../lib/retrieval/retriever.js';
import { encodeStored, type StoredTensor } from '../../lib/tensor/safetensors.js';

export type HashedOptions = Partial<FeatureOptions> & { dimensions?: number };

/** N-grams start with less weight than the words they overlap. */
const GRAM_GAIN = 0.4;

/**
 * A random projection with idf gains: a lexical encoder without training, and the start
 * of training. It keeps inner products of weighted features up to noise of about 1 /
 * sqrt(dimensions).
 * @param passageTexts the corpus, for document frequencies
 */
export function randomWeights(
  passageTexts: readonly string[],
  random: Random,
  options: HashedOptions = {},
): HashedWeights {
  const { dimensions = 128, wordBuckets = 5120, gramBuckets = 2048 } = options;
  const { gramLengths = [4], titleWeight = 2 } = options;
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
  const counts = new Float64Array(numBuckets);
  for (const text of passageTexts)
    for (const bucket of hashFeatures(text, 'passage', features).buckets) counts[bucket]++;
  const gains = Float32Array.from(counts, (df, bucket) => {
    const idf = Math.log(1 + (passageTexts.length - df + 0.5) / (df + 0.5));
    return bucket < wordBuckets ? idf : GRAM_GAIN * idf;
  });
  return { dimensions, features, projection, queryGain: gains, passageGain: gains.slice() };
}

/** The largest magnitude in an 8-bit row. */
const LARGEST = 127;

/** Encodes the encoder as a file's bytes, with the projection rounded to 8 bits. */
export function encoderToBytes({ weights }: HashedEncoder): Uint8Array {
  const { projection, queryGain, passageGain } = quantise(weights);
  const { dimensions, features } = weights;
  const stored = (
    dtype: string,
    { buffer, length }: Int8Array | Float32Array,
    shape = [length],
  ): StoredTensor => ({ dtype, shape, bytes: new Uint8Array(buffer) });
  return encodeStored({
    metadata: { format: ENCODER_FORMAT, options: JSON.stringify({ dimensions, features }) },
    tensors: new Map([
      ['projection', stored('I8', projection, [queryGain.length, dimensions])],
      ['query_gain', stored('F32', queryGain)],
      ['passage_gain', stored('F32', passageGain)],
    ]),
  });
}

function quantise({ dimensions, projection, queryGain, passageGain }: HashedWeights) {
  const rows = new Int8Array(projection.length);
  const scales = queryGain.map((_, bucket) => {
    const [start, end] = [bucket * dimensions, (bucket + 1) * dimensions];
    let largest = 0;
    for (let at = start; at < end; at++) largest = Math.max(largest, Math.abs(projection[at]));
    const scale = largest / LARGEST;
    for (let at = start; scale > 0 && at < end; at++) rows[at] = Math.round(projection[at] / scale);
    return scale;
  });
  return {
    projection: rows,
    queryGain: queryGain.map((gain, bucket) => gain * scales[bucket]),
    passageGain: passageGain.map((gain, bucket) => gain * scales[bucket]),
  };
}
