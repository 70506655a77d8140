/**
 * Weights in safetensors files. Half precisions are widened to float32 on reading, since
 * tfjs has no half type.
 */
import {
  readSafetensors,
  requireFinite,
  writeSafetensors,
  type ByteSource,
  type StoredTensor,
} from '../io/safetensors.js';

export interface NamedArray {
  shape: number[];
  values: Float32Array;
}

/** Tensors by name, as a map has them or as files hold them. */
export type Tensors = Pick<ReadonlyMap<string, NamedArray>, 'get' | 'keys'>;

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

/** All halves as numbers: a look at it is ten times faster than the arithmetic. */
let halves: Float32Array | null = null;

function decode(name: string, { dtype, bytes }: StoredTensor): Float32Array {
  if (!['F32', 'F16', 'BF16'].includes(dtype))
    throw new Error(`Expected tensor ${name} to be F32, F16 or BF16, but got ${dtype}.`);
  // A view must begin at a multiple of the width.
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  if (dtype === 'F32') return new Float32Array(buffer, byteOffset, byteLength / 4);
  const stored = new Uint16Array(buffer, byteOffset, byteLength / 2);
  const values = new Float32Array(stored.length);
  if (dtype === 'F16') {
    halves ??= Float32Array.from({ length: 2 ** 16 }, (_, bits) => halfToFloat(bits));
    for (let i = 0; i < values.length; i++) values[i] = halves[stored[i]];
  } else {
    const bits = new Uint32Array(values.buffer);
    for (let i = 0; i < values.length; i++) bits[i] = stored[i] << 16;
  }
  return values;
}

function read(name: string, stored: StoredTensor): NamedArray {
  const values = decode(name, stored);
  requireFinite(name, values);
  return { shape: stored.shape, values };
}

/** A tensor as a file holds it. @throws Error as {@link printSafetensors} */
export function toStored(
  name: string,
  { shape, values }: NamedArray,
  storage: StorageType,
): StoredTensor {
  requireFinite(name, values);
  const tooLarge =
    storage === 'F16'
      ? values.find((value) => !Number.isFinite(halfToFloat(floatToHalf(value))))
      : undefined;
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
  return { dtype: storage, shape, bytes: new Uint8Array(view.buffer) };
}

/**
 * Reads F32, F16 and BF16 tensors.
 * @throws Error when the bytes are no safetensors file, or naming a tensor of another
 * type or with a value that is not finite
 */
export const parseSafetensors = (bytes: Uint8Array): Map<string, NamedArray> =>
  new Map(
    Array.from(readSafetensors(bytes).tensors, ([name, stored]) => [name, read(name, stored)]),
  );

/**
 * The same, each tensor read when it is asked for, so that a large file is never whole
 * in memory.
 * @throws Error when the bytes are no safetensors file
 */
export function openSafetensors(bytes: ByteSource): Tensors {
  const { tensors } = readSafetensors(bytes);
  return {
    keys: () => tensors.keys(),
    get: (name) => {
      const stored = tensors.get(name);
      return stored && read(name, stored);
    },
  };
}

/**
 * Writes tensors in the given order as float32 or half precision.
 * @throws Error naming a tensor with a value that is not finite, or that half precision
 * cannot hold
 */
export function printSafetensors(
  tensors: ReadonlyMap<string, NamedArray>,
  { storage, metadata }: { storage: StorageType; metadata?: Record<string, string> },
): Uint8Array {
  const stored = [...tensors].map(
    ([name, array]) => [name, toStored(name, array, storage)] as const,
  );
  return writeSafetensors({ metadata: { format: 'pt', ...metadata }, tensors: new Map(stored) });
}
