/**
 * Values that ggml stores quantised, in blocks of 32 with a scale. Source:
 * dequantize_row_* in ggml-quants.c.
 */
import { halfToFloat } from '../tensor/safetensors.js';

const BLOCK = 32;

interface BlockType {
  /** Bytes of a block, and values in it. */
  bytes: number;
  values: number;
  /** Writes the values of the block at `from` into `to` at `at`. */
  read: (view: DataView, from: number, to: Float32Array, at: number) => void;
}

/** Two values of 4 bits a byte: those of the first half of a block are the low ones. */
function readNibbles(
  view: DataView,
  from: number,
  to: Float32Array,
  at: number,
  valueOf: (bits: number) => number,
): void {
  for (let i = 0; i < BLOCK / 2; i++) {
    const byte = view.getUint8(from + i);
    to[at + i] = valueOf(byte & 15);
    to[at + i + BLOCK / 2] = valueOf(byte >> 4);
  }
}

const half = (view: DataView, from: number): number => halfToFloat(view.getUint16(from, true));

/** By ggml's numbers of types. */
const TYPES: Readonly<Record<number, BlockType>> = {
  // F32, F16
  0: { bytes: 4, values: 1, read: (view, from, to, at) => (to[at] = view.getFloat32(from, true)) },
  1: { bytes: 2, values: 1, read: (view, from, to, at) => (to[at] = half(view, from)) },
  // Q4_0: scale, values from -8
  2: {
    bytes: 2 + BLOCK / 2,
    values: BLOCK,
    read: (view, from, to, at) => {
      const scale = half(view, from);
      readNibbles(view, from + 2, to, at, (bits) => (bits - 8) * scale);
    },
  },
  // Q4_1: scale, least value, values from 0
  3: {
    bytes: 4 + BLOCK / 2,
    values: BLOCK,
    read: (view, from, to, at) => {
      const [scale, least] = [half(view, from), half(view, from + 2)];
      readNibbles(view, from + 4, to, at, (bits) => bits * scale + least);
    },
  },
  // Q8_0: scale, signed bytes
  8: {
    bytes: 2 + BLOCK,
    values: BLOCK,
    read: (view, from, to, at) => {
      const scale = half(view, from);
      for (let i = 0; i < BLOCK; i++) to[at + i] = view.getInt8(from + 2 + i) * scale;
    },
  },
};

/** Numbers of ggml's types that are read here. */
export const [F32, Q4_0] = [0, 2];

/**
 * `count` values that begin at byte `from`.
 * @param type ggml's number of how they are stored
 * @throws Error for another type, or bytes that end before
 */
export function readBlocks(
  bytes: Uint8Array,
  from: number,
  type: number,
  count: number,
): Float32Array {
  const known = TYPES[type] as BlockType | undefined;
  if (!known)
    throw new Error(
      `Expected values of ggml's type ${Object.keys(TYPES).join(', ')}, but got ${type}.`,
    );
  const end = from + (count / known.values) * known.bytes;
  if (count % known.values !== 0 || end > bytes.byteLength)
    throw new Error(
      `Expected ${count} values of ggml's type ${type} up to byte ${end}, but there are ${bytes.byteLength} bytes.`,
    );
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(count);
  for (let at = 0; at < count; at += known.values, from += known.bytes)
    known.read(view, from, values, at);
  return values;
}
