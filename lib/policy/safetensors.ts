/**
 * The safetensors format: an 8-byte little-endian header length, a JSON header with `data_offsets`, then the bytes.
 * Half precisions are widened to float32 on reading, since tfjs has no half type.
 */
export interface NamedArray {
  shape: number[];
  values: Float32Array;
}

export type StorageType = 'F32' | 'F16';

interface HeaderEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

const scratch = new DataView(new ArrayBuffer(4));

/** One IEEE half (bits) as a number. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The nearest IEEE half (bits), ties to even; values over 65504 become infinite. */
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
  // A carry out of the fraction moves on into the exponent, as it should.
  return sign | ((exponent << 10) + roundShift(fraction, 13));
}

/** value >> shift, rounded to nearest, ties to even. */
function roundShift(value: number, shift: number): number {
  const quotient = value >>> shift;
  const rest = value - quotient * 2 ** shift;
  const half = 2 ** (shift - 1);
  return rest > half || (rest === half && quotient & 1) ? quotient + 1 : quotient;
}

function decode(dtype: string, bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = dtype === 'F32' ? 4 : 2;
  const values = new Float32Array(bytes.byteLength / width);
  for (let i = 0; i < values.length; i++) {
    if (dtype === 'F32') values[i] = view.getFloat32(4 * i, true);
    else if (dtype === 'F16') values[i] = halfToFloat(view.getUint16(2 * i, true));
    else {
      scratch.setUint32(0, view.getUint16(2 * i, true) << 16);
      values[i] = scratch.getFloat32(0);
    }
  }
  return values;
}

/**
 * Reads F32, F16 and BF16 tensors.
 * @throws Error when the bytes are no safetensors file or hold another type
 */
export function parseSafetensors(bytes: Uint8Array): Map<string, NamedArray> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = bytes.byteLength < 8 ? -1 : Number(view.getBigUint64(0, true));
  if (headerLength < 2 || headerLength + 8 > bytes.byteLength) {
    throw new Error(`Expected a safetensors file, but its header would be ${headerLength} bytes long.`);
  }
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerLength))) as Record<
    string,
    HeaderEntry
  >;
  const tensors = new Map<string, NamedArray>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    if (!['F32', 'F16', 'BF16'].includes(entry.dtype)) {
      throw new Error(`Expected tensor ${name} to be F32, F16 or BF16, but got ${entry.dtype}.`);
    }
    const [from, to] = entry.data_offsets.map((offset) => offset + 8 + headerLength);
    if (to > bytes.byteLength)
      throw new Error(`Expected ${to} bytes for tensor ${name}, but got ${bytes.byteLength}.`);
    tensors.set(name, { shape: entry.shape, values: decode(entry.dtype, bytes.subarray(from, to)) });
  }
  return tensors;
}

/** Writes tensors in the given order as float32 or half precision. */
export function printSafetensors(
  tensors: ReadonlyMap<string, NamedArray>,
  options: { storage: StorageType; metadata?: Record<string, string> },
): Uint8Array {
  const width = options.storage === 'F32' ? 4 : 2;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt', ...options.metadata } };
  let offset = 0;
  for (const [name, { shape, values }] of tensors) {
    header[name] = { dtype: options.storage, shape, data_offsets: [offset, offset + values.length * width] };
    offset += values.length * width;
  }
  const text = JSON.stringify(header);
  const json = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const bytes = new Uint8Array(8 + json.length + offset);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  let at = 8 + json.length;
  for (const { values } of tensors.values()) {
    for (const value of values) {
      if (width === 4) view.setFloat32(at, value, true);
      else view.setUint16(at, floatToHalf(value), true);
      at += width;
    }
  }
  return bytes;
}
