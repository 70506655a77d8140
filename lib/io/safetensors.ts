/** The safetensors format: an 8-byte little-endian header length, a JSON header with `data_offsets`, then the bytes. */
import { z } from 'zod';

/** A tensor as it is stored. */
export interface StoredTensor {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

export interface SafetensorsFile {
  metadata: Record<string, string>;
  tensors: Map<string, StoredTensor>;
}

const offset = z.int().min(0);
const metadataSchema = z.record(z.string(), z.string()).default({});
const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(offset),
  data_offsets: z.tuple([offset, offset]),
});

/**
 * The tensors of a file, as views of its bytes.
 * @throws Error when the bytes are no safetensors file, or are cut short
 */
export function readSafetensors(bytes: Uint8Array): SafetensorsFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = bytes.byteLength < 8 ? -1 : Number(view.getBigUint64(0, true));
  if (headerLength < 2 || headerLength + 8 > bytes.byteLength)
    throw new Error(`Expected a safetensors file, but its header would be ${headerLength} bytes long.`);
  const text = new TextDecoder().decode(bytes.subarray(8, 8 + headerLength));
  const { __metadata__, ...entries } = JSON.parse(text) as Record<string, unknown>;
  const tensors = Object.entries(entries).map(([name, entry]): [string, StoredTensor] => {
    const { dtype, shape, data_offsets } = entrySchema.parse(entry);
    const [from, to] = data_offsets.map((at) => at + 8 + headerLength);
    if (to < from || to > bytes.byteLength)
      throw new Error(`Expected ${to} bytes for tensor ${name}, but got ${bytes.byteLength}.`);
    return [name, { dtype, shape, bytes: bytes.subarray(from, to) }];
  });
  return { metadata: metadataSchema.parse(__metadata__), tensors: new Map(tensors) };
}

/** A file of tensors in the given order. */
export function writeSafetensors({ metadata, tensors }: SafetensorsFile): Uint8Array {
  let end = 0;
  const entries = [...tensors].map(([name, { dtype, shape, bytes }]) => {
    const start = end;
    end += bytes.byteLength;
    return [name, { dtype, shape, data_offsets: [start, end] }] as const;
  });
  const text = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) });
  const json = new TextEncoder().encode(text);
  const headerLength = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + headerLength + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true);
  file.fill(0x20, 8, 8 + headerLength);
  file.set(json, 8);
  [...tensors.values()].reduce((at, { bytes }) => {
    file.set(bytes, at);
    return at + bytes.byteLength;
  }, 8 + headerLength);
  return file;
}
