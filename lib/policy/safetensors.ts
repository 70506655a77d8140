/** Weights in safetensors files. Half precisions are widened to float32 on reading, since tfjs has no half type. */
import { readSafetensors, requireFinite, writeSafetensors, type StoredTensor } from '../io/safetensors.js';

export interface NamedArray {
  shape: number[];
  values: Float32Array;
}

export type StorageType = 'F32' | 'F16';

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

function encode(name: string, values: Float32Array, storage: StorageType): Uint8Array {
  requireFinite(name, values);
  const tooLarge =
    storage === 'F16' ? values.find((value) => !Number.isFinite(halfToFloat(floatToHalf(value)))) : undefined;
  if (tooLarge !== undefined)
    throw new Error(
      `Expected tensor ${name} to hold values up to 65504, as half precision does, but got ${tooLarge}. Lower the learning rate.`,
    );
  const width = storage === 'F32' ? 4 : 2;
  const view = new DataView(new ArrayBuffer(values.length * width));
  values.forEach((value, i) => {
    if (storage === 'F32') view.setFloat32(4 * i, value, true);
    else view.setUint16(2 * i, floatToHalf(value), true);
  });
  return new Uint8Array(view.buffer);
}

/**
 * Reads F32, F16 and BF16 tensors.
 * @throws Error when the bytes are no safetensors file, or naming a tensor of another type or with a value that is not finite
 */
export function parseSafetensors(bytes: Uint8Array): Map<string, NamedArray> {
  const tensors = new Map<string, NamedArray>();
  for (const [name, { dtype, shape, bytes: stored }] of readSafetensors(bytes).tensors) {
    if (!['F32', 'F16', 'BF16'].includes(dtype))
      throw new Error(`Expected tensor ${name} to be F32, F16 or BF16, but got ${dtype}.`);
    const values = decode(dtype, stored);
    requireFinite(name, values);
    tensors.set(name, { shape, values });
  }
  return tensors;
}

/**
 * Writes tensors in the given order as float32 or half precision.
 * @throws Error naming a tensor with a value that is not finite, or that half precision cannot hold
 */
export function printSafetensors(
  tensors: ReadonlyMap<string, NamedArray>,
  { storage, metadata }: { storage: StorageType; metadata?: Record<string, string> },
): Uint8Array {
  const stored = [...tensors].map(([name, { shape, values }]): [string, StoredTensor] => [
    name,
    { dtype: storage, shape, bytes: encode(name, values, storage) },
  ]);
  return writeSafetensors({ metadata: { format: 'pt', ...metadata }, tensors: new Map(stored) });
}
