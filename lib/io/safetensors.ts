/**
 * The safetensors format: an 8-byte little-endian header length, a JSON header with
 * `data_offsets`, then the bytes.
 */
import { sort } from 'd3-array';
import { z } from 'zod';

/** A tensor as it is stored. */
export interface StoredTensor {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

/**
 * Where the bytes of a file are: in memory, or on disk to be read as they are asked for.
 */
export interface ByteSource {
  byteLength: number;
  /** Bytes `from` up to `to`, like {@link Uint8Array.subarray}. */
  subarray(from: number, to: number): Uint8Array;
}

export interface SafetensorsFile {
  metadata: Record<string, string>;
  tensors: Map<string, StoredTensor>;
}

/** Bytes of one value of each type. */
const WIDTHS: Readonly<Record<string, number>> = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E5M2: 1,
  F8_E4M3: 1,
  U16: 2,
  I16: 2,
  F16: 2,
  BF16: 2,
  U32: 4,
  I32: 4,
  F32: 4,
  U64: 8,
  I64: 8,
  F64: 8,
};
/** As in the reference implementation. */
const MAX_HEADER_BYTES = 100_000_000;

const size = z.int().min(0);
const entrySchema = z
  .object({
    dtype: z.enum(Object.keys(WIDTHS)),
    shape: z.array(size),
    data_offsets: z.tuple([size, size]),
  })
  .transform(({ dtype, shape, data_offsets: [from, to] }) => ({ dtype, shape, from, to }));
const headerSchema = z
  .object({ __metadata__: z.record(z.string(), z.string()).default({}) })
  .catchall(entrySchema);

function headerJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.startsWith('{')) return JSON.parse(text);
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`Expected a safetensors file, but its header is no JSON: ${message}`, {
      cause,
    });
  }
  throw new Error(
    `Expected a safetensors file, but its header begins with ${JSON.stringify(text[0])}.`,
  );
}

function parseHeader(bytes: Uint8Array): z.infer<typeof headerSchema> {
  const parsed = headerSchema.safeParse(headerJson(bytes));
  if (parsed.success) return parsed.data;
  throw new Error(
    `Expected the header of a safetensors file, but ${z.prettifyError(parsed.error)}`,
  );
}

/**
 * The tensors of a file, in the order of their bytes; those of each are read when they
 * are asked for. As in the reference implementation, they follow each other without a
 * gap, have as many bytes as type and shape say, and fill the file.
 * @throws Error when the bytes are no safetensors file, or are cut short, naming the
 * tensor that does not fit
 */
export function readSafetensors(bytes: ByteSource): SafetensorsFile {
  const prefix = bytes.byteLength < 8 ? null : bytes.subarray(0, 8);
  const headerLength = prefix
    ? Number(new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true))
    : -1;
  if (headerLength < 2 || headerLength > Math.min(MAX_HEADER_BYTES, bytes.byteLength - 8))
    throw new Error(
      `Expected a safetensors file, but its header would be ${headerLength} bytes long.`,
    );
  const start = 8 + headerLength;
  const { __metadata__: metadata, ...entries } = parseHeader(bytes.subarray(8, start));
  let end = 0;
  const inOrder = sort(
    Object.entries(entries),
    ([, { from }]) => from,
    ([, { to }]) => to,
  );
  const tensors = inOrder.map(([name, { dtype, shape, from, to }]): [string, StoredTensor] => {
    const numBytes = shape.reduce((product, length) => product * length, WIDTHS[dtype]);
    if (from !== end)
      throw new Error(
        `Expected tensor ${name} to begin at byte ${end} of the data, but it begins at ${from}.`,
      );
    if (to - from !== numBytes)
      throw new Error(
        `Expected ${numBytes} bytes for tensor ${name} (${dtype}, [${shape.join(', ')}]), but got ${to - from}.`,
      );
    end = to;
    return [
      name,
      {
        dtype,
        shape,
        get bytes() {
          return bytes.subarray(start + from, start + to);
        },
      },
    ];
  });
  if (start + end !== bytes.byteLength)
    throw new Error(
      `Expected a file of ${start + end} bytes, but got ${bytes.byteLength}. Copy it again.`,
    );
  return { metadata, tensors: new Map(tensors) };
}

/** @throws Error naming the tensor when a value is not a finite number */
export function requireFinite(name: string, values: Float32Array): void {
  let at = 0;
  while (at < values.length && Number.isFinite(values[at])) at++;
  if (at < values.length)
    throw new Error(
      `Expected tensor ${name} to hold finite numbers, but value ${at} is ${values[at]}: the training that made it has failed. Lower its learning rate.`,
    );
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
