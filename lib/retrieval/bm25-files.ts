/**
 * BM25 over a passage file of any size. The index is a folder. Passages stay in their
 * file and are read by offset; postings are read when a query needs them.
 */
import {
  closeSync,
  createWriteStream,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  readdirSync,
} from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { parsePassage } from '../data/flashrag-text.js';
import { streamPassages, type Passage } from '../data/flashrag.js';
import { createBreather } from '../interrupt.js';
import {
  isGzipFile,
  openFile,
  partialPath,
  readAt,
  replaceFolder,
  writeFileSafely,
} from '../io/files.js';
import { withFolderLock } from '../io/folder-lock.js';
import { shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { configHash, sha256 } from '../io/provenance.js';
import { naming } from '../io/system-errors.js';
import { ANALYZERS } from './analyzers.js';
import { Bm25Indexer, hashWord, type Postings, type Vocabulary } from './bm25-index.js';
import {
  mergeShards,
  removeShard,
  startRecords,
  viewBytes,
  viewRecord,
  writeShard,
  type ShardFile,
} from './bm25-shards.js';
import { createBm25Search, retrieverFrom, type Bm25Search } from './bm25.js';
import { readManifest, requireSame } from './dense.js';
import type { Retriever } from './retriever.js';
import { countBatches } from './word-counters.js';

/** A passage file, and the analyzer for its texts. */
export interface Bm25Corpus {
  file: string;
  titleWeight: number;
  /** A name in {@link ANALYZERS}. */
  analyzer: string;
}

type Bm25Files = Retriever & Bm25Search & { readonly numPassages: number };

/** Arrays that are read completely when an index is opened. */
const ARRAYS = {
  /** Byte offset and length of each passage's line in the file. */
  starts: Float64Array,
  lengths: Uint32Array,
  norms: Float64Array,
  frequencies: Float64Array,
  /** By word: document frequency, largest gain, CRC-32 of its postings. */
  counts: Uint32Array,
  gains: Float64Array,
  checks: Uint32Array,
  /** The words in UTF-8, and where each one ends. */
  words: Uint8Array,
  wordEnds: Uint32Array,
  /** See {@link Vocabulary.slots}. */
  slots: Uint32Array,
} as const;
type Arrays = { [Name in keyof typeof ARRAYS]: InstanceType<(typeof ARRAYS)[Name]> };
const NAMES = Object.keys(ARRAYS) as (keyof Arrays)[];

const FORMAT = 1;
const MANIFEST = 'index.json';
/** A record per word: see `startRecords`. */
const POSTINGS = 'postings.bin';
/** The decompressed corpus, if its file is compressed. */
const UNPACKED = 'passages.jsonl';
/** Postings held in memory while indexing, 6 bytes each; a quarter when merging. */
const SHARD_SIZE = 1 << 24;
/** Characters of text counted at a time. */
const BATCH_CHARACTERS = 1e6;
/** In bytes. For less, starting processes takes longer than they save. */
const SMALL_CORPUS = 20e6;
/** More counters would wait for the process that reads and writes. */
const MAX_COUNTERS = 3;
/** Maximum bytes of postings that a search keeps in memory. */
const CACHE_SIZE = 256e6;

const stateSchema = z.strictObject({
  size: z.int(),
  mtimeMs: z.number(),
  /** Hash of 64 blocks, evenly spaced from the first to the last. */
  sample: z.string(),
  /** Hash of the words of a text with everything analyzers treat specially. */
  analysis: z.string(),
});

const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  corpus: z.strictObject({ file: z.string(), titleWeight: z.number(), analyzer: z.string() }),
  /** Detects later changes of the corpus or the analyzer. */
  state: stateSchema,
  /** CRC-32 of each array's file. */
  checks: z.record(z.enum(NAMES), z.int()),
  sizes: z.record(z.string(), z.int()),
});
type Manifest = z.infer<typeof manifestSchema>;

const indexFolder = (folder: string): string => join(folder, 'bm25');

export const hasBm25Index = (folder: string): boolean =>
  existsSync(join(indexFolder(folder), MANIFEST));

export const defaultBm25Folder = (corpus: Bm25Corpus): string =>
  join('runs', 'indexes', `bm25-${configHash(identity(corpus))}`);

const identity = ({ file, titleWeight, analyzer }: Bm25Corpus): Bm25Corpus => ({
  file: resolve(file),
  titleWeight,
  analyzer,
});

export interface OpenOptions {
  /** Default: {@link defaultBm25Folder}. */
  folder?: string;
  /** Stops indexing without keeping anything. */
  signal?: AbortSignal;
  /** Postings held in memory while indexing. */
  shardSize?: number;
  /** How many processes count words. Default: 1 for a small corpus, otherwise up to 3. */
  processes?: number;
}

/**
 * Opens the index of a corpus, after making it if there is none or the corpus has
 * changed.
 * @throws Error naming a damaged file, or if the folder has another corpus' index
 */
export async function openBm25Files(
  corpus: Bm25Corpus,
  { folder = defaultBm25Folder(corpus), signal, ...options }: OpenOptions = {},
): Promise<Bm25Files> {
  const state = await describeState(corpus);
  const why = await findReason(corpus, { folder, state });
  if (why !== undefined) {
    requireOwnIndex(indexFolder(folder));
    console.error(`Indexing ${shortPath(corpus.file)} in ${shortPath(folder)}${why}.`);
    await withFolderLock(folder, async (lost) => {
      const aside = partialPath(indexFolder(folder));
      const signals = [lost, ...(signal ? [signal] : [])];
      try {
        await mkdir(aside);
        const written = await writeIndex(corpus, {
          aside,
          ...options,
          signal: AbortSignal.any(signals),
        }).catch(naming(folder));
        if (difference(state, await describeState(corpus)))
          throw new Error(`${shortPath(corpus.file)} changed while it was indexed. Run again.`);
        const manifest: Manifest = { format: FORMAT, corpus: identity(corpus), state, ...written };
        await writeFileSafely(join(aside, MANIFEST), JSON.stringify(manifest));
        await replaceFolder(aside, indexFolder(folder));
      } finally {
        await rm(aside, { recursive: true, force: true });
      }
    });
  }
  return readIndex(indexFolder(folder), corpus);
}

/** @throws Error for a folder with other files, such as FlashRAG's index */
function requireOwnIndex(path: string): void {
  if (!existsSync(path) || existsSync(join(path, MANIFEST)) || readdirSync(path).length === 0)
    return;
  throw new Error(
    `Expected ${shortPath(path)} to be an index by index build, but it has other files. Choose another folder with --index.`,
  );
}

/** Why an index must be made, as a message; undefined if it is current. */
async function findReason(
  corpus: Bm25Corpus,
  { folder, state }: { folder: string; state: Manifest['state'] },
): Promise<string | undefined> {
  if (!hasBm25Index(folder)) return '';
  const manifest = await readManifest(join(indexFolder(folder), MANIFEST), manifestSchema);
  requireSame(folder, manifest.corpus, identity(corpus));
  const changed = difference(manifest.state, state);
  return changed && ` again: its ${changed} changed`;
}

const difference = (a: Manifest['state'], b: Manifest['state']): string | undefined =>
  stateSchema.keyof().options.find((key) => a[key] !== b[key]);

const [NUM_BLOCKS, BLOCK_SIZE] = [64, 4096];
const PROBE =
  'The Amélie’s O’Brien d’Arc, running; ＡＢＣ ﬁne 1,972 Łódź ə ёлка Hawaiʻi Straße ΣΊΣΥΦΟΣ 青石镇 東京タワー เมืองหลวง दिन फ़िल्म Ŋ ƙasa مدرسة على كِتَاب ۱۹ کتابی خانۀ ہے हिन्दी न्याय चाँद คำตอบ ຄຳຕອບ O‘z ז׳ב';

async function describeState({ file, analyzer }: Bm25Corpus): Promise<Manifest['state']> {
  const handle = await open(file);
  const { size, mtimeMs } = await handle.stat();
  const blocks = Buffer.alloc(NUM_BLOCKS * BLOCK_SIZE);
  for (let i = 0; i < NUM_BLOCKS; i++) {
    const position = Math.floor((Math.max(0, size - BLOCK_SIZE) * i) / (NUM_BLOCKS - 1));
    await handle.read(blocks, i * BLOCK_SIZE, BLOCK_SIZE, position);
  }
  await handle.close();
  const words = ANALYZERS.get(analyzer).analyze(PROBE);
  const analysis = configHash([words, process.versions.unicode]);
  return { size, mtimeMs, sample: sha256(blocks), analysis };
}

// Writing

interface WriteOptions extends Pick<OpenOptions, 'shardSize' | 'processes'> {
  aside: string;
  signal: AbortSignal;
}

async function writeIndex(
  { file, titleWeight, analyzer }: Bm25Corpus,
  { aside, signal, shardSize = SHARD_SIZE, processes }: WriteOptions,
): Promise<Pick<Manifest, 'checks' | 'sizes'>> {
  const sizes: Manifest['sizes'] = {};
  let plain = file;
  if (await isGzipFile(file)) {
    plain = join(aside, UNPACKED);
    await pipeline(await openFile(file), createWriteStream(plain), { signal });
    sizes[UNPACKED] = statSync(plain).size;
  }
  const indexer = new Bm25Indexer({});
  const [starts, lengths]: number[][] = [[], []];
  const shards: ShardFile[] = [];
  const addShard = async (): Promise<void> =>
    void shards.push(await writeShard(join(aside, `shard-${shards.length}`), indexer.takeShard()));
  const { size } = statSync(plain);
  const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);
  const progress = startProgress(`MB of ${basename(file)}`, megabytes(size));
  const breathe = createBreather(signal);
  async function* readBatches(): AsyncGenerator<string[]> {
    let [batch, characters]: [string[], number] = [[], 0];
    for await (const { passage, start, length } of streamPassages(plain)) {
      starts.push(start);
      lengths.push(length);
      batch.push(passage.contents);
      characters += passage.contents.length;
      if (characters < Math.min(BATCH_CHARACTERS, shardSize)) continue;
      yield batch;
      [batch, characters] = [[], 0];
      progress.update(megabytes(start));
      await breathe();
    }
    yield batch;
  }
  try {
    const counting = {
      vocabulary: indexer.vocabulary,
      titleWeight,
      analyzer,
      signal,
      processes: processes ?? chooseProcesses(size),
    };
    await countBatches(readBatches(), counting, async (counts) => {
      indexer.add(counts);
      if (indexer.numPostings >= shardSize) await addShard();
    });
    await addShard();
    const weights = indexer.weights();
    const postings = join(aside, POSTINGS);
    const merged = await mergeShards(shards, { weights, postings, breathe, size: shardSize / 4 });
    sizes[POSTINGS] = statSync(postings).size;
    const arrays: Arrays = {
      starts: Float64Array.from(starts),
      lengths: Uint32Array.from(lengths),
      ...weights,
      ...merged,
      ...encodeWords(indexer.vocabulary),
    };
    const checks = {} as Manifest['checks'];
    for (const name of NAMES) {
      const bytes = viewBytes(arrays[name]);
      checks[name] = crc32(bytes);
      sizes[`${name}.bin`] = bytes.length;
      await writeFile(join(aside, `${name}.bin`), bytes);
    }
    return { checks, sizes };
  } finally {
    progress.stop();
    for (const shard of shards) await removeShard(shard);
  }
}

const chooseProcesses = (size: number): number =>
  size < SMALL_CORPUS ? 1 : Math.min(MAX_COUNTERS, availableParallelism());

function encodeWords({ texts, slots }: Vocabulary): Pick<Arrays, 'words' | 'wordEnds' | 'slots'> {
  const wordEnds = new Uint32Array(texts.length);
  for (let word = 0, end = 0; word < texts.length; word++)
    wordEnds[word] = end += Buffer.byteLength(texts[word]);
  return { words: Buffer.from(texts.join('')), wordEnds, slots };
}

// Reading

function readIndex(folder: string, { file, analyzer }: Bm25Corpus): Bm25Files {
  const manifest = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')) as Manifest;
  const requireIntact = (name: string, isIntact: boolean): void => {
    if (isIntact) return;
    throw new Error(
      `Expected ${shortPath(join(folder, name))} as it was written, but it is damaged. Remove ${shortPath(folder)} to index the corpus again.`,
    );
  };
  const openPart = (name: string): number => {
    const path = join(folder, name);
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    requireIntact(name, size === manifest.sizes[name]);
    return openSync(path, 'r');
  };
  const readArray = (name: keyof Arrays): Arrays[keyof Arrays] => {
    const part = `${name}.bin`;
    const fd = openPart(part);
    const array = new ARRAYS[name](manifest.sizes[part] / ARRAYS[name].BYTES_PER_ELEMENT);
    readAt(fd, array, 0);
    closeSync(fd);
    requireIntact(part, crc32(viewBytes(array)) === manifest.checks[name]);
    return array;
  };
  const arrays = Object.fromEntries(NAMES.map((name) => [name, readArray(name)])) as Arrays;
  const { starts, lengths, counts, gains, checks, words, wordEnds, slots } = arrays;
  const text = Buffer.from(words.buffer);
  const recordStarts = startRecords(counts);
  const postings = openPart(POSTINGS);
  const passages = UNPACKED in manifest.sizes ? openPart(UNPACKED) : openSync(file, 'r');

  const cache = new LRUCache<number, Uint8Array>({
    maxSize: CACHE_SIZE,
    sizeCalculation: ({ length }) => length,
  });
  const readPostings = (word: number): Postings => {
    let record = cache.get(word);
    if (!record) {
      record = new Uint8Array(recordStarts[word + 1] - recordStarts[word]);
      readAt(postings, record, recordStarts[word]);
      requireIntact(POSTINGS, crc32(record) === checks[word]);
      cache.set(word, record);
    }
    return viewRecord(record, counts[word]);
  };
  const findWord = (wanted: string): number | undefined => {
    for (let slot = hashWord(wanted); ; slot++) {
      const word = slots[slot & (slots.length - 1)] - 1;
      if (word < 0) return undefined;
      if (text.toString('utf8', wordEnds[word - 1] ?? 0, wordEnds[word]) === wanted) return word;
    }
  };
  const name = shortPath(file);
  const readPassage = (i: number): Passage => {
    const line = Buffer.alloc(lengths[i]);
    readAt(passages, line, starts[i]);
    return parsePassage(line.toString().trim(), `${name}, passage ${i + 1}`)!;
  };
  const bm25 = createBm25Search(
    {
      norms: arrays.norms,
      frequencies: arrays.frequencies,
      findWord,
      documentFrequency: (word) => counts[word],
      largestGain: (word) => gains[word],
      postings: readPostings,
    },
    ANALYZERS.get(analyzer),
  );
  return { ...retrieverFrom(bm25, readPassage), numPassages: starts.length };
}
