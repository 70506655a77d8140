import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  readSafetensors,
  requireFinite,
  writeSafetensors,
  type StoredTensor,
} from '../io/safetensors.js';
import { createHashedEncoder, type HashedEncoder, type HashedWeights } from './encoder.js';

/**
 * The embedded encoder as one safetensors file: `projection` (I8, buckets x
 * dimensions), `query_gain` and `passage_gain` (F32, buckets), its options as text in
 * `__metadata__`. A row's scale (its largest magnitude / 127) is folded into the gains,
 * so that the encoder runs on the 8-bit rows as they are. About dimensions + 8 bytes a
 * bucket.
 */
const FORMAT = 'parallelsearch-hashed-encoder-1';
const LARGEST = 127;
/** Its name in an encoder's folder. */
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

const stored = (
  dtype: string,
  { buffer, length }: Int8Array | Float32Array,
  shape = [length],
): StoredTensor => ({ dtype, shape, bytes: new Uint8Array(buffer) });

/** The encoder's bytes in safetensors format, the projection rounded to 8 bits. */
export function encoderToBytes({ weights }: HashedEncoder): Uint8Array {
  const { projection, queryGain, passageGain } = quantise(weights);
  const { dimensions, features } = weights;
  return writeSafetensors({
    metadata: { format: FORMAT, options: JSON.stringify({ dimensions, features }) },
    tensors: new Map([
      ['projection', stored('I8', projection, [queryGain.length, dimensions])],
      ['query_gain', stored('F32', queryGain)],
      ['passage_gain', stored('F32', passageGain)],
    ]),
  });
}

/**
 * Reads what `encoderToBytes` wrote.
 * @throws Error when the bytes are of another format or cut short, or a gain is not a
 * finite number
 */
export function encoderFromBytes(bytes: Uint8Array): HashedEncoder {
  const { metadata, tensors } = readSafetensors(bytes);
  if (metadata.format !== FORMAT)
    throw new Error(
      `Expected an encoder file (${FORMAT}), but its format is ${metadata.format ?? 'not named'}.`,
    );
  // A copy, since the bytes in a file need not lie where numbers of 4 bytes may begin.
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

/** Loads an encoder from its folder. */
export async function loadEncoder(folder: string): Promise<HashedEncoder> {
  return encoderFromBytes(await readFile(join(folder, ENCODER_FILE)));
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
