import { describe, expect, it } from 'vitest';
import {
  floatToHalf,
  halfToFloat,
  parseSafetensors,
  encodeSafetensors,
} from '../../lib/tensor/safetensors.js';

/** Halves with their bits, from IEEE 754. */
const KNOWN: [number, number][] = [
  [0, 0x0000],
  [-0, 0x8000],
  [1, 0x3c00],
  [-2, 0xc000],
  [0.333251953125, 0x3555],
  [65504, 0x7bff],
  [2 ** -14, 0x0400],
  [2 ** -14 - 2 ** -24, 0x03ff],
  [2 ** -24, 0x0001],
  [-(2 ** -24), 0x8001],
  [Infinity, 0x7c00],
  [-Infinity, 0xfc00],
];

describe('half precision', () => {
  it.each(KNOWN)('%d has the bits of IEEE 754', (value, bits) => {
    expect(floatToHalf(value)).toBe(bits);
    expect(halfToFloat(bits)).toBe(value);
  });

  it.each([
    ['a tie goes to even, down', 1 + 2 ** -11, 0x3c00],
    ['a tie goes to even, up', 1 + 3 * 2 ** -11, 0x3c02],
    ['just over a tie goes up', 1 + 2 ** -11 + 2 ** -20, 0x3c01],
    ['a carry moves into the exponent', 2 - 2 ** -12, 0x4000],
    ['a subnormal tie goes to even, down to zero', 2 ** -25, 0x0000],
    ['a subnormal just over the tie goes up', 2 ** -25 * 1.001, 0x0001],
    ['a subnormal tie goes to even, up', 3 * 2 ** -25, 0x0002],
    ['the largest subnormal carries into the smallest normal', 2 ** -14 - 2 ** -26, 0x0400],
    ['too small is zero', 2 ** -26, 0x0000],
    ['a float32 subnormal is zero', 2 ** -140, 0x0000],
    ['halfway past the largest is infinite', 65520, 0x7c00],
    ['less than halfway past is the largest', 65519.99, 0x7bff],
    ['far past the largest is infinite', -1e30, 0xfc00],
  ])('%s', (_, value, bits) => {
    expect(floatToHalf(value)).toBe(bits);
  });

  it('preserves NaN', () => {
    expect(halfToFloat(floatToHalf(NaN))).toBeNaN();
  });

  it('round-trips all 63,488 finite halves', () => {
    let wrong = 0;
    for (let bits = 0; bits < 0x10000; bits++) {
      if (((bits >> 10) & 31) !== 31 && floatToHalf(halfToFloat(bits)) !== bits) wrong++;
    }
    expect(wrong).toBe(0);
  });
});

const tensors = new Map([
  ['a', { shape: [2, 2], values: Float32Array.of(1, -2.5, 1 / 3, 1e-7) }],
  ['leer.ü', { shape: [0], values: new Float32Array() }],
  ['b', { shape: [3], values: Float32Array.of(3, 4, 65504) }],
]);

/** A file with this header and these bytes. */
function fileOf(header: unknown, bytes: ArrayLike<number> = []): Uint8Array {
  const json = new TextEncoder().encode(
    typeof header === 'string' ? header : JSON.stringify(header),
  );
  const file = new Uint8Array(8 + json.length + bytes.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(json.length), true);
  file.set(json, 8);
  file.set(Array.from(bytes), 8 + json.length);
  return file;
}

describe('encodeSafetensors and parseSafetensors', () => {
  it('round-trip float32 exactly, in order', () => {
    const file = encodeSafetensors(tensors, { storage: 'F32', metadata: { note: 'x' } });
    expect([...parseSafetensors(file)]).toEqual([...tensors]);
  });

  it('round halves to 11 bits', () => {
    const back = parseSafetensors(encodeSafetensors(tensors, { storage: 'F16' }));
    const tiny = halfToFloat(floatToHalf(1e-7));
    expect([...back.get('a')!.values]).toEqual([1, -2.5, 0.333251953125, tiny]);
    expect([...back.get('b')!.values]).toEqual([3, 4, 65504]);
  });

  it('write an aligned header with offsets and metadata', () => {
    const one = new Map([['b', tensors.get('b')!]]);
    const file = encodeSafetensors(one, { storage: 'F16', metadata: { note: 'x' } });
    const length = Number(new DataView(file.buffer).getBigUint64(0, true));
    expect(length % 8).toBe(0);
    expect(JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)))).toEqual({
      __metadata__: { format: 'pt', note: 'x' },
      b: { dtype: 'F16', shape: [3], data_offsets: [0, 6] },
    });
    expect(file.length).toBe(8 + length + 6);
  });

  it('read BF16, the upper half of a float32', () => {
    const header = { x: { dtype: 'BF16', shape: [3], data_offsets: [0, 6] } };
    const file = fileOf(header, [0x80, 0x3f, 0x20, 0xc1, 0x49, 0x40]);
    expect([...parseSafetensors(file).get('x')!.values]).toEqual([1, -10, 3.140625]);
  });

  it('read a view of a larger buffer', () => {
    const file = encodeSafetensors(tensors, { storage: 'F32' });
    const shifted = new Uint8Array(file.length + 3);
    shifted.set(file, 3);
    expect(parseSafetensors(shifted.subarray(3)).get('b')).toEqual(tensors.get('b'));
  });

  it('reject other files', () => {
    expect(() => parseSafetensors(new Uint8Array(4))).toThrow('safetensors');
    expect(() => parseSafetensors(new Uint8Array(100).fill(255))).toThrow('safetensors');
    expect(() => parseSafetensors(fileOf('{"x": '))).toThrow('JSON');
  });

  it('reject unsupported types by tensor', () => {
    const ids = { dtype: 'I64', shape: [1], data_offsets: [0, 8] };
    expect(() => parseSafetensors(fileOf({ ids }, new Uint8Array(8)))).toThrow(/ids .*I64/);
  });

  const x = { dtype: 'F32', shape: [1], data_offsets: [0, 4] };
  const y = { ...x, data_offsets: [4, 8] };
  it.each<[string, unknown, numBytes: number, string]>([
    ['is truncated', { x, y }, 7, '122'],
    ['has extra bytes', { x, y }, 9, '124'],
    ['has a gap at the beginning', { y }, 8, 'byte 0'],
    ['has a gap', { x, y: { ...x, data_offsets: [8, 12] } }, 12, 'byte 4'],
    ['has an overlap', { x, y: x }, 4, 'byte 4'],
    ['has a negative offset', { x: { ...x, data_offsets: [-4, 0] } }, 0, 'x.data_offsets[0]'],
    ['has an end before its beginning', { x, y: { ...y, data_offsets: [4, 0] } }, 8, '-4'],
    ['has a shape of too many values', { x: { ...x, shape: [2, 3] } }, 4, '24 bytes'],
    ['has a huge shape', { x: { ...x, shape: [2 ** 53, 2] } }, 4, 'x.shape[0]'],
    ['has an unknown type', { x: { ...x, dtype: 'F33' } }, 4, 'x.dtype'],
    ['has a header that is not an object', '[1]', 0, 'header'],
    ['has metadata of the wrong type', { __metadata__: { a: 1 } }, 0, '__metadata__.a'],
  ])('reject a file that %s', (_, header, numBytes, message) => {
    expect(() => parseSafetensors(fileOf(header, new Uint8Array(numBytes)))).toThrow(message);
  });

  it('reject an oversized header', () => {
    const file = new Uint8Array(100_000_100);
    new DataView(file.buffer).setBigUint64(0, 100_000_001n, true);
    expect(() => parseSafetensors(file)).toThrow(/its header would be 100000001 of/);
  });

  it.each([
    ['version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n', 'git lfs pull'],
    ['PK\x03\x04 as torch.save writes', 'it is zip'],
    ['<!DOCTYPE html><title>Sign in</title>', 'begins with "<!DOCTYPE'],
    ['', 'only 0 bytes'],
  ])('recognise other files: %j', (text, message) => {
    expect(() => parseSafetensors(new TextEncoder().encode(text))).toThrow(message);
  });

  it('read tensors in any header order', () => {
    const bytes = new Uint8Array(Float32Array.of(1, 2).buffer);
    const read = [...parseSafetensors(fileOf({ y, x }, bytes))];
    expect(read.map(([name, { values }]) => name + values[0])).toEqual(['x1', 'y2']);
  });

  it.each(['F32', 'F16', 'BF16'])('reject a non-finite value in a tensor of type %s', (dtype) => {
    const bytes = { F32: [0, 0, 0xc0, 0x7f], F16: [0, 0x7e], BF16: [0xc0, 0x7f] }[dtype]!;
    const file = fileOf({ x: { dtype, shape: [1], data_offsets: [0, bytes.length] } }, bytes);
    expect(() => parseSafetensors(file)).toThrow(/tensor x .*NaN/);
  });

  it("reject non-finite and overlarge values, with the tensor's name", () => {
    const of = (value: number) =>
      new Map([['b', { shape: [2], values: Float32Array.of(1, value) }]]);
    for (const value of [NaN, Infinity, -Infinity])
      for (const storage of ['F32', 'F16'] as const)
        expect(() => encodeSafetensors(of(value), { storage })).toThrow(
          new RegExp(`tensor b .*${value}`),
        );
    const half = (value: number) => encodeSafetensors(of(value), { storage: 'F16' });
    expect(() => half(-65520)).toThrow(/tensor b .*65504.*-65520/);
    expect(parseSafetensors(half(65519)).get('b')!.values[1]).toBe(65504);
  });
});

it.each([0, 1, 2, 3, 5, 7])(
  'parseSafetensors reads a file at any offset of a buffer (%i)',
  (padding) => {
    const arrays = new Map([['a', { shape: [2], values: Float32Array.of(1.5, -2) }]]);
    for (const storage of ['F32', 'F16'] as const) {
      const plain = encodeSafetensors(arrays, { storage });
      // Spaces after the header, as the format allows, move the values.
      const length = Number(new DataView(plain.buffer).getBigUint64(0, true));
      const padded = Buffer.alloc(padding + plain.length + padding, ' ').subarray(padding);
      padded.writeBigUInt64LE(BigInt(length + padding));
      padded.set(plain.subarray(8, 8 + length), 8);
      padded.set(plain.subarray(8 + length), 8 + length + padding);
      expect(parseSafetensors(padded).get('a')!.values).toEqual(Float32Array.of(1.5, -2));
    }
  },
);
