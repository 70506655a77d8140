/** Dense retrieval: encodes passages, keeps slow encoders' vectors on disk, searches. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { range, sum } from 'd3-array';
import { z } from 'zod';
import type { Passage } from '../data/passage.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { withFolderLock } from '../io/folder-lock.js';
import { describeFaults } from '../io/json.js';
import { shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { createBreather } from '../interrupt.js';
import { encodeSafetensors } from '../tensor/safetensors.js';
import { readSafetensors } from '../tensor/weight-files.js';
import type { Encoder } from './encoder.js';
import type { VectorIndex } from './exact.js';
import { perQuery, requireInteger, type Retriever } from './retriever.js';

interface DenseParts {
  encoder: Encoder;
  /** The passages' vectors, in the order of `passages`. */
  index: VectorIndex;
  passages: readonly Passage[];
}

/** A retriever that encodes queries and finds the nearest passages; score = cosine. */
export function createDenseRetriever({ encoder, index, passages }: DenseParts): Retriever {
  if (index.size !== passages.length)
    throw new RangeError(
      `Expected an index of ${passages.length} passages, but got ${index.size}.`,
    );
  if (index.dimensions !== encoder.dimensions)
    throw new RangeError(
      `Expected an index of ${encoder.dimensions} dimensions, but got ${index.dimensions}.`,
    );
  return {
    name: `${encoder.name}-${index.name}`,
    isLocal: true,
    retrieve: async (queries, { topK, signal }) => {
      requireInteger('topK', topK);
      signal?.throwIfAborted();
      const vectors = await encoder.encode(queries, { kind: 'query' });
      return perQuery(vectors, signal, (vector) =>
        index.search(vector, topK).map(({ index: i, score }) => ({ passage: passages[i], score })),
      );
    },
  };
}

/** Encodes the passages, `batchSize` (default 64) at a time. */
export async function encodePassages(
  encoder: Encoder,
  passages: readonly Passage[],
  { batchSize = 64, signal }: { batchSize?: number; signal?: AbortSignal } = {},
): Promise<Float32Array[]> {
  requireInteger('batchSize', batchSize);
  const vectors: Float32Array[] = [];
  const breathe = createBreather(signal);
  for (let start = 0; start < passages.length; start += batchSize) {
    const texts = passages.slice(start, start + batchSize).map(({ contents }) => contents);
    vectors.push(...(await encoder.encode(texts, { kind: 'passage' })));
    await breathe();
  }
  return vectors;
}

export const sourceSchema = z.strictObject({
  /** Hash of the passages, in order. */
  corpus: z.string(),
  /** Hash of the encoder's files and settings. */
  encoder: z.string(),
});
export type VectorSource = z.infer<typeof sourceSchema>;

export function corpusHash(passages: readonly Pick<Passage, 'id' | 'contents'>[]): string {
  const hash = createHash('sha256');
  for (const { id, contents } of passages) hash.update(JSON.stringify([id, contents]));
  return hash.digest('hex').slice(0, 12);
}

/** Reads the description of an index. @throws Error naming the file if it is damaged */
export async function readManifest<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const { data, error } = schema.safeParse(await readJson(file));
  if (data !== undefined) return data;
  throw new Error(
    `Expected ${shortPath(file)} to describe an index, but ${describeFaults(error!)} Remove it to build the index again.`,
  );
}

/** @throws Error if a folder's index was made from other passages or in another way */
export function requireSame(folder: string, actual: object, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const other = (actual as Record<string, unknown>)[name];
    if (other !== value)
      throw new Error(
        `Expected ${shortPath(folder)} to hold an index of ${name} ${String(value)}, but it holds one of ${name} ${String(other)}. Choose another folder with --index, or remove that one.`,
      );
  }
}

const manifestSchema = sourceSchema.extend({
  size: z.int().min(1),
  dimensions: z.int().min(1),
  shardSize: z.int().min(1),
});

const SHARD_SIZE = 512;

/**
 * Reads the passages' vectors from a folder, after encoding and writing missing shards,
 * by one process at a time.
 * @throws Error if the folder belongs to other passages or another encoder
 */
export async function embedCorpus(
  encoder: Encoder,
  passages: readonly Passage[],
  { folder, source, signal }: { folder: string; source: VectorSource; signal?: AbortSignal },
): Promise<Float32Array[]> {
  const { dimensions } = encoder;
  const manifest = { ...source, size: passages.length, dimensions };
  const manifestFile = join(folder, 'embeddings.json');
  let shardSize = SHARD_SIZE;
  if (existsSync(manifestFile)) {
    const stored = await readManifest(manifestFile, manifestSchema);
    requireSame(folder, stored, manifest);
    ({ shardSize } = stored);
  }
  const shards = range(0, passages.length, shardSize).map((start, i) => ({
    file: join(folder, `embeddings-${String(i).padStart(6, '0')}.safetensors`),
    part: passages.slice(start, start + shardSize),
  }));
  const isMissing = ({ file }: { file: string }): boolean => !existsSync(file);
  if (shards.some(isMissing))
    await withFolderLock(folder, async (lost) => {
      if (!existsSync(manifestFile))
        await writeFileSafely(manifestFile, `${JSON.stringify({ ...manifest, shardSize })}\n`);
      // Checks again, because another process may have encoded some.
      const missing = shards.filter(isMissing);
      const total = sum(missing, ({ part }) => part.length);
      const numBefore = passages.length - total;
      const progress = startProgress('Encoding passages', passages.length, numBefore);
      const start = performance.now();
      const breathe = createBreather(signal);
      let done = 0;
      try {
        for (const { file, part } of missing) {
          lost.throwIfAborted();
          await breathe();
          const texts = part.map(({ contents }) => contents);
          const vectors = await encoder.encode(texts, { kind: 'passage' });
          const values = new Float32Array(vectors.length * dimensions);
          vectors.forEach((vector, i) => values.set(vector, i * dimensions));
          const shape = [vectors.length, dimensions];
          const tensors = new Map([['embeddings', { shape, values }]]);
          await writeFileSafely(file, encodeSafetensors(tensors, { storage: 'F32' }));
          done += texts.length;
          const rate = done / ((performance.now() - start) / 1000);
          const perSecond = rate < 10 ? rate.toFixed(1) : Math.round(rate);
          progress.update(numBefore + done, `${perSecond} a second`);
        }
      } finally {
        progress.stop();
      }
    });
  const readShard = async ({ file, part }: (typeof shards)[number]): Promise<Float32Array[]> => {
    const { shape = [], values } = (await readSafetensors(file)).get('embeddings') ?? {};
    if (shape.join() !== [part.length, dimensions].join())
      throw new Error(
        `Expected ${shortPath(file)} to hold ${part.length} x ${dimensions} numbers, but got ${shape.join(' x ') || 'none'}. Remove it to encode these passages again.`,
      );
    return part.map((_, i) => values!.subarray(i * dimensions, (i + 1) * dimensions));
  };
  return (await Promise.all(shards.map(readShard))).flat();
}
