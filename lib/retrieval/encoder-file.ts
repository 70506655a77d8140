import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createHashedEncoder, type HashedEncoder, type HashedWeights } from './encoder.js';

/**
 * The embedded encoder as one safetensors file: `projection` (I8, buckets x dimensions), `query_gain` and `passage_gain`
 * (F32, buckets), its options as text in `__metadata__`. A row's scale (its largest magnitude / 127) is folded into the gains, so
 * that the encoder runs on the 8-bit rows as they are. About dimensions + 8 bytes a bucket.
 */
const FORMAT = 'parallelsearch-hashed-encoder-1';
const LARGEST = 127;
/** Its name in an encoder's folder. */
export const ENCODER_FILE = 'encoder.safetensors';

const headerSchema = z.object({
  __metadata__: z.object({ format: z.literal(FORMAT), options: z.string() }),
  projection: tensorSchema('I8', 2),
  query_gain: tensorSchema('F32', 1),
  passage_gain: tensorSchema('F32', 1),
});

const optionsSchema = z.strictObject({
  dimensions: z.int().min(1),
  features: z.strictObject({
    wordBuckets: z.int().min(1),
    gramBuckets: z.int().min(0),
    gramLengths: z.array(z.int().min(1)),
    titleWeight: z.number().min(0),
  }),
});

function tensorSchema(dtype: string, rank: number) {
  return z.object({
    dtype: z.literal(dtype),
    shape: z.array(z.int().min(0)).length(rank),
    data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
  });
}

/** The encoder's bytes in safetensors format, the projection rounded to 8 bits. */
export function encoderToBytes({ weights }: HashedEncoder): Uint8Array {
  const { projection, queryGain, passageGain } = quantise(weights);
  const { dimensions, features } = weights;
  const [q, p] = [projection.byteLength + queryGain.byteLength, passageGain.byteLength];
  const header = JSON.stringify({
    __metadata__: { format: FORMAT, options: JSON.stringify({ dimensions, features }) },
    projection: {
      dtype: 'I8',
      shape: [queryGain.length, dimensions],
      data_offsets: [0, projection.byteLength],
    },
    query_gain: { dtype: 'F32', shape: [queryGain.length], data_offsets: [projection.byteLength, q] },
    passage_gain: { dtype: 'F32', shape: [passageGain.length], data_offsets: [q, q + p] },
  });
  const head = new TextEncoder().encode(header + ' '.repeat((8 - (header.length % 8)) % 8));
  const bytes = new Uint8Array(8 + head.length + q + p);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  let at = 8 + head.length;
  for (const { buffer } of [projection, queryGain, passageGain]) {
    bytes.set(new Uint8Array(buffer), at);
    at += buffer.byteLength;
  }
  return bytes;
}

/** Reads what `encoderToBytes` wrote. Throws when the bytes are of another format or cut short. */
export function encoderFromBytes(bytes: Uint8Array): HashedEncoder {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength >= 8 ? Number(view.getBigUint64(0, true)) : Infinity;
  if (8 + length > bytes.byteLength) {
    throw new RangeError(
      `Expected a safetensors header, but the file of ${bytes.byteLength} bytes is cut short.`,
    );
  }
  const parsed = headerSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))));
  if (!parsed.success)
    throw new Error(`Expected an encoder file (${FORMAT}): ${z.prettifyError(parsed.error)}`);
  const header = parsed.data;
  const data = (tensor: { data_offsets: [number, number] }): ArrayBuffer => {
    const [start, end] = tensor.data_offsets;
    if (end < start || 8 + length + end > bytes.byteLength) {
      throw new RangeError(
        `Expected tensor data up to byte ${8 + length + end}, but got ${bytes.byteLength}.`,
      );
    }
    // A copy even of a Node Buffer, whose own slice would share its memory.
    return Uint8Array.from(bytes.subarray(8 + length + start, 8 + length + end)).buffer;
  };
  return createHashedEncoder({
    ...optionsSchema.parse(JSON.parse(header.__metadata__.options)),
    projection: new Int8Array(data(header.projection)),
    queryGain: new Float32Array(data(header.query_gain)),
    passageGain: new Float32Array(data(header.passage_gain)),
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
