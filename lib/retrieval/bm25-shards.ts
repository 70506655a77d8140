/** Postings on disk: shards written while indexing, and the file that they become. */
import { open, rm, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { sum } from 'd3-array';
import type { Breather } from '../interrupt.js';
import { readAt } from '../io/files.js';
import { largestGain, type Postings, type Shard, type Weights } from './bm25-index.js';

/** A shard on disk: its counts, passages and codes. */
export interface ShardFile {
  path: string;
  handle: FileHandle;
  numWords: number;
  numPostings: number;
  numMerged: number;
}

export async function writeShard(
  path: string,
  { counts, passages, codes }: Shard,
): Promise<ShardFile> {
  const handle = await open(path, 'w+');
  for (const array of [counts, passages, codes]) await handle.writeFile(viewBytes(array));
  return { path, handle, numWords: counts.length, numPostings: passages.length, numMerged: 0 };
}

export async function removeShard({ handle, path }: ShardFile): Promise<void> {
  await handle.close();
  await rm(path);
}

/** Reads the next postings of a shard: of the words from `first` to before `end`. */
function readShard(shard: ShardFile, first: number, end: number): Shard {
  const { numWords, numPostings, numMerged } = shard;
  const { fd } = shard.handle;
  const counts = new Uint32Array(Math.max(0, Math.min(end, numWords) - first));
  readAt(fd, counts, 4 * first);
  const size = sum(counts);
  shard.numMerged += size;
  const passages = new Uint32Array(size);
  readAt(fd, passages, 4 * (numWords + numMerged));
  const codes = new Uint16Array(size);
  readAt(fd, codes, 4 * (numWords + numPostings) + 2 * numMerged);
  return { counts, passages, codes };
}

/** By word: document frequency, largest gain, CRC-32 of its record. */
interface MergedShards {
  counts: Uint32Array<ArrayBuffer>;
  gains: Float64Array<ArrayBuffer>;
  checks: Uint32Array<ArrayBuffer>;
}

interface Merge {
  weights: Weights;
  /** The file that is written. */
  postings: string;
  /** Number of postings read at a time. */
  size: number;
  breathe: Breather;
}

/** Writes the postings of all shards to one file, a record per word. */
export async function mergeShards(
  shards: readonly ShardFile[],
  { weights, postings, size: limit, breathe }: Merge,
): Promise<MergedShards> {
  const { numWords } = shards.at(-1)!;
  const counts = new Uint32Array(numWords);
  for (const { handle, numWords: size } of shards) {
    const added = new Uint32Array(size);
    readAt(handle.fd, added, 0);
    for (let word = 0; word < size; word++) counts[word] += added[word];
  }
  const [gains, checks] = [new Float64Array(numWords), new Uint32Array(numWords)];
  const output = await open(postings, 'w');
  try {
    for (let first = 0, end = 0; first < numWords; first = end) {
      for (let size = 0; end < numWords && (end === first || size < limit); end++)
        size += counts[end];
      await breathe();
      const merged = mergeWords(
        shards.map((shard) => readShard(shard, first, end)),
        counts.subarray(first, end),
      );
      for (const [i, record] of merged.records.entries()) {
        gains[first + i] = largestGain(viewRecord(record, counts[first + i]), weights);
        checks[first + i] = crc32(record);
      }
      await output.writeFile(merged.bytes);
    }
  } finally {
    await output.close();
  }
  return { counts, gains, checks };
}

/** Merges the records of consecutive words into one buffer. */
function mergeWords(
  shards: readonly Shard[],
  counts: Uint32Array,
): { bytes: Uint8Array; records: Uint8Array[] } {
  const starts = startRecords(counts);
  const bytes = new Uint8Array(starts[counts.length]);
  const records = Array.from(counts, (_, word) => bytes.subarray(starts[word], starts[word + 1]));
  const [passages, codes] = [new Uint32Array(bytes.buffer), new Uint16Array(bytes.buffer)];
  const filled = new Uint32Array(counts.length);
  for (const shard of shards)
    for (let word = 0, at = 0; word < shard.counts.length; word++) {
      const toPassages = starts[word] / 4;
      const toCodes = starts[word] / 2 + 2 * counts[word];
      for (let left = shard.counts[word]; left > 0; left--, at++) {
        const i = filled[word]++;
        passages[toPassages + i] = shard.passages[at];
        codes[toCodes + i] = shard.codes[at];
      }
    }
  return { bytes, records };
}

/**
 * The byte offset of each word's record, and the end of the last one. A record has the
 * passages (32 bits each) and their codes (16 bits), padded to four bytes.
 */
export function startRecords(counts: Uint32Array): Float64Array {
  const starts = new Float64Array(counts.length + 1);
  for (let word = 0; word < counts.length; word++)
    starts[word + 1] = starts[word] + 4 * (counts[word] + Math.ceil(counts[word] / 2));
  return starts;
}

export const viewRecord = ({ buffer, byteOffset }: Uint8Array, count: number): Postings => ({
  passages: new Uint32Array(buffer, byteOffset, count),
  codes: new Uint16Array(buffer, byteOffset + 4 * count, count),
});

export const viewBytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
