import type { NamedArray } from '../tensor/safetensors.js';
import { readBlocks } from './blocks.js';
import { ByteReader } from './byte-reader.js';

export interface GgufFile {
  /**
   * Keys such as `llama.block_count`, with numbers, truth values, texts and lists of
   * them.
   */
  metadata: ReadonlyMap<string, unknown>;
  /**
   * In the order of the file; shapes have the slowest dimension first, as PyTorch's.
   * Values are read when they are asked for.
   */
  tensors: { name: string; read: () => NamedArray }[];
}

const DEFAULT_ALIGNMENT = 32;

/**
 * Reads GGUF, llama.cpp's format: metadata, names and shapes of tensors, then their
 * values in blocks ({@link readBlocks}). Source: docs/gguf.md of ggml, versions 2 and 3.
 * @throws Error where the bytes are none, or are cut short
 */
export function readGguf(bytes: Uint8Array): GgufFile {
  const reader = new ByteReader(bytes);
  const { u8, i8, u16, i16, u32, i32, f32, f64, u64, i64 } = reader;
  if (reader.text(4) !== 'GGUF')
    throw new Error('Expected a GGUF file, but it does not begin with GGUF.');
  const text = (): string => reader.text(u64());
  const list = (): unknown[] => {
    const [type, count] = [u32(), u64()];
    return reader.list(count, () => valueOf(type));
  };
  // In the order of the format's numbers of types.
  const readers = [u8, i8, u16, i16, u32, i32, f32, () => u8() !== 0, text, list, u64, i64, f64];
  const valueOf = (type: number): unknown => readers[type]();

  const version = u32();
  if (version < 2 || version > 3)
    throw new Error(`Expected GGUF of version 2 or 3, but got ${version}.`);
  const [numTensors, numKeys] = [u64(), u64()];
  const metadata = new Map(reader.list(numKeys, () => [text(), valueOf(u32())] as const));
  const infos = reader.list(numTensors, () => {
    const [name, numDimensions] = [text(), u32()];
    const shape = reader.list(numDimensions, u64).reverse();
    return { name, shape, type: u32(), offset: u64() };
  });
  const alignment = Number(metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT);
  const start = Math.ceil(reader.at / alignment) * alignment;
  const tensors = infos.map(({ name, shape, type, offset }) => ({
    name,
    read: () => ({
      shape,
      values: readBlocks(
        bytes,
        start + offset,
        type,
        shape.reduce((a, b) => a * b, 1),
      ),
    }),
  }));
  return { metadata, tensors };
}
