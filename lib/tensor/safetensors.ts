/**
 * The safetensors format: an 8-byte little-endian header length, a JSON header with
 * `data_offsets`, then the bytes. tfjs has no half type, so half precision is widened to
 * float32. `weight-files.ts` reads files from disk; this module runs in a browser.
 */
import { sort } from 'd3-array';
import { z } from 'zod';
import { FORMAT_BYTES, nameFormat } from '../io/formats.js';
import { parseAs, parsePlainJson } from '../io/json.js';

export interface NamedArray {
  shape: number[];
  values: Float32Array;
}

/** Tensors by name, in memory or in files. */
export type Tensors = Pick<ReadonlyMap<string, NamedArray>, 'get' | 'keys'>;

/** @throws Error naming a tensor that is missing or has another shape */
export function requireTensor(
  tensors: Tensors,
  name: string,
  { shape, title = name }: { shape: readonly number[]; title?: string },
): NamedArray {
  const array = tensors.get(name);
  if (array?.shape.join() === shape.join()) return array;
  throw new Error(
    `Expected tensor ${title} of shape [${shape.join(', ')}], but got ${array ? `[${array.shape.join(', ')}]` : 'none'}.`,
  );
}

export interface StoredTensor {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

interface StoredTensors {
  metadata: Record<string, string>;
  tensors: Map<string, StoredTensor>;
}

/** The bytes of a file, in memory or read from disk on demand. */
interface ByteSource {
  byteLength: number;
  /** As {@link Uint8Array.subarray}. */
  subarray(from: number, to: number): Uint8Array;
}

export type StorageType = 'F32' | 'F16';

const TYPES = 'BOOL U8 I8 F8_E5M2 F8_E4M3 U16 I16 F16 BF16 U32 I32 F32 U64 I64 F64'.split(' ');
/** Bytes per value; a type's name ends in its bits. */
const WIDTHS = new Map(TYPES.map((type) => [type, Number(/\d+/.exec(type)?.[0] ?? 8) / 8]));
/** As in the reference implementation. */
const MAX_HEADER_BYTES = 100_000_000;

const size = z.int().min(0);
const headerSchema = z
  .object({ __metadata__: z.record(z.string(), z.string()).default({}) })
  .catchall(
    z.object({ dtype: z.enum(TYPES), shape: z.array(size), data_offsets: z.tuple([size, size]) }),
  );

function headerJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.startsWith('{')) return parsePlainJson(text);
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`Expected a safetensors file, but its header is not JSON: ${message}`, {
      cause,
    });
  }
  throw new Error(
    `Expected a safetensors file, but its header begins with ${JSON.stringify(text[0])}.`,
  );
}

/** Explains why a file cannot begin with a header. */
function describeStart(bytes: ByteSource, headerLength: number): string {
  const start = bytes.subarray(0, Math.min(FORMAT_BYTES, bytes.byteLength));
  const text = String.fromCharCode(...start);
  const format = nameFormat(start);
  if (format) return format;
  if (start.length < 8) return `it has only ${start.length} bytes. Copy it again.`;
  if (/^[\s\x20-\x7e]+$/.test(text)) return `it begins with ${JSON.stringify(text)}.`;
  return `its header would be ${headerLength} of ${bytes.byteLength} bytes long. Copy it again.`;
}

/**
 * Parses tensors of any type, in the order of their bytes, which are read on access. As
 * in the reference implementation, tensors must be contiguous, have the bytes that type
 * and shape require, and fill the file.
 * @throws Error for a file that is not safetensors or is truncated, naming the tensor
 */
export function parseStored(bytes: ByteSource): StoredTensors {
  const prefix = bytes.byteLength < 8 ? null : bytes.subarray(0, 8);
  const headerLength = prefix
    ? Number(new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true))
    : -1;
  if (headerLength < 2 || headerLength > Math.min(MAX_HEADER_BYTES, bytes.byteLength - 8))
    throw new Error(`Expected a safetensors file, but ${describeStart(bytes, headerLength)}`);
  const start = 8 + headerLength;
  const header = headerJson(bytes.subarray(8, start));
  const { __metadata__: metadata, ...entries } = parseAs(
    headerSchema,
    header,
    'the header of a safetensors file',
  );
  let end = 0;
  const tensors = new Map<string, StoredTensor>();
  const inOrder = sort(
    Object.entries(entries),
    ([, { data_offsets: offsets }]) => offsets[0],
    ([, { data_offsets: offsets }]) => offsets[1],
  );
  for (const [name, { dtype, shape, data_offsets }] of inOrder) {
    const [from, to] = data_offsets;
    const numBytes = shape.reduce((product, length) => product * length, WIDTHS.get(dtype)!);
    if (from !== end)
      throw new Error(
        `Expected tensor ${name} to begin at byte ${end} of the data, but it begins at ${from}.`,
      );
    if (to - from !== numBytes)
      throw new Error(
        `Expected ${numBytes} bytes for tensor ${name} (${dtype}, [${shape.join(', ')}]), but got ${to - from}.`,
      );
    end = to;
    tensors.set(name, {
      dtype,
      shape,
      get bytes() {
        return bytes.subarray(start + from, start + to);
      },
    });
  }
  if (start + end !== bytes.byteLength)
    throw new Error(
      `Expected a file of ${start + end} bytes, but got ${bytes.byteLength}. Copy it again.`,
    );
  return { metadata, tensors };
}

/** Encodes tensors, in their order, as the bytes of a file. */
export function encodeStored({ metadata, tensors }: StoredTensors): Uint8Array {
  let end = 0;
  const header: Record<string, object> = { __metadata__: metadata };
  for (const [name, { dtype, shape, bytes }] of tensors)
    header[name] = { dtype, shape, data_offsets: [end, (end += bytes.byteLength)] };
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + headerLength + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true);
  file.fill(0x20, 8, 8 + headerLength);
  file.set(json, 8);
  let at = 8 + headerLength;
  for (const { bytes } of tensors.values()) {
    file.set(bytes, at);
    at += bytes.byteLength;
  }
  return file;
}

/** @throws Error naming the tensor and the first value that is not finite */
export function requireFinite(name: string, values: Float32Array): void {
  let at = 0;
  while (at < values.length && Number.isFinite(values[at])) at++;
  if (at < values.length)
    throw new Error(
      `Expected tensor ${name} to hold finite numbers, but value ${at} is ${values[at]}: its training diverged. Lower the learning rate.`,
    );
}

const scratch = new DataView(new ArrayBuffer(4));

/** The value of an IEEE half, given as bits. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The nearest IEEE half as bits, ties to even; values over 65504 become infinite. */
export function floatToHalf(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 112;
  let fraction = bits & 0x7fffff;
  if (exponent >= 31) return sign | 0x7c00 | (exponent === 143 && fraction ? 1 : 0);
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    fraction |= 0x800000;
    return sign | roundShift(fraction, 14 - exponent);
  }
  // A carry out of the fraction correctly goes into the exponent.
  return sign | ((exponent << 10) + roundShift(fraction, 13));
}

/** value >> shift, rounded to nearest, ties to even. */
function roundShift(value: number, shift: number): number {
  const quotient = value >>> shift;
  const rest = value - quotient * 2 ** shift;
  const half = 2 ** (shift - 1);
  return rest > half || (rest === half && quotient & 1) ? quotient + 1 : quotient;
}

/** The values of all halves: a look-up is ten times faster than the arithmetic. */
let halves: Float32Array | null = null;

function toArray(name: string, { dtype, shape, bytes }: StoredTensor): NamedArray {
  if (!['F32', 'F16', 'BF16'].includes(dtype))
    throw new Error(`Expected tensor ${name} to be F32, F16 or BF16, but got ${dtype}.`);
  // A typed array starts at a multiple of its width. A Buffer's `slice` does not copy.
  const { buffer, byteOffset, byteLength } =
    bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  let values: Float32Array;
  if (dtype === 'F32') values = new Float32Array(buffer, byteOffset, byteLength / 4);
  else {
    const stored = new Uint16Array(buffer, byteOffset, byteLength / 2);
    values = new Float32Array(stored.length);
    if (dtype === 'F16') {
      halves ??= Float32Array.from({ length: 2 ** 16 }, (_, bits) => halfToFloat(bits));
      for (let i = 0; i < values.length; i++) values[i] = halves[stored[i]];
    } else {
      const bits = new Uint32Array(values.buffer);
      for (let i = 0; i < values.length; i++) bits[i] = stored[i] << 16;
    }
  }
  requireFinite(name, values);
  return { shape, values };
}

/** Converts to storage precision. @throws Error as {@link encodeSafetensors} */
function toStored(name: string, { shape, values }: NamedArray, storage: StorageType): StoredTensor {
  requireFinite(name, values);
  const view = new DataView(new ArrayBuffer(values.length * WIDTHS.get(storage)!));
  values.forEach((value, i) => {
    if (storage === 'F32') return view.setFloat32(4 * i, value, true);
    const half = floatToHalf(value);
    if ((half & 0x7fff) === 0x7c00)
      throw new Error(
        `Expected tensor ${name} to hold values up to 65504, the largest half, but got ${value}. Lower the learning rate.`,
      );
    view.setUint16(2 * i, half, true);
  });
  return { dtype: storage, shape, bytes: new Uint8Array(view.buffer) };
}

/**
 * Parses F32, F16 and BF16 tensors as float32.
 * @throws Error for a file that is not safetensors, or naming a tensor of another type or
 * with a value that is not finite
 */
export const parseSafetensors = (bytes: Uint8Array): Map<string, NamedArray> =>
  new Map(
    Array.from(parseStored(bytes).tensors, ([name, stored]) => [name, toArray(name, stored)]),
  );

/**
 * Like {@link parseSafetensors}, but reads each tensor on access, so that a large file is
 * never completely in memory.
 * @throws Error for a file that is not safetensors; `get` throws as {@link
 * parseSafetensors}
 */
export function openSafetensors(bytes: ByteSource): Tensors {
  const { tensors } = parseStored(bytes);
  return {
    keys: () => tensors.keys(),
    get: (name) => {
      const stored = tensors.get(name);
      return stored && toArray(name, stored);
    },
  };
}

/**
 * Encodes tensors, in their order, in float32 or half precision.
 * @throws Error naming a tensor with a value that is not finite, or too large for a half
 */
export function encodeSafetensors(
  arrays: ReadonlyMap<string, NamedArray>,
  { storage, metadata }: { storage: StorageType; metadata?: Record<string, string> },
): Uint8Array {
  const tensors = new Map(
    Array.from(arrays, ([name, array]) => [name, toStored(name, array, storage)]),
  );
  return encodeStored({ metadata: { format: 'pt', ...metadata }, tensors });
}
