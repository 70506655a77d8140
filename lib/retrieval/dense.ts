import { z } from 'zod';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { range, sum } from 'd3-array';
import { type Retriever, perQuery, requireInteger } from './retriever.js';
import type { VectorIndex } from './exact.js';
import type { Encoder } from './encoder.js';
import { readSafetensors } from '../tensor/weight-files.js';
import { printSafetensors } from '../tensor/safetensors.js';
import { startProgress } from '../io/progress.js';
import { shortPath } from '../io/paths.js';
import { withFolderLock } from '../io/folder-lock.js';
import { readJson, writeFileSafely } from '../io/files.js';
import type { Passage } from '../data/question.js';

//==== lib/retrieval/dense.ts
export interface DenseParts {
  encoder: Encoder;
  /** Holds the passages' vectors in the order of `passages`. */
  index: VectorIndex;
  passages: readonly Passage[];
}

/**
 * A retriever that encodes the queries and looks their neighbours up; the score is the
 * cosine.
 */
export function createDenseRetriever({ encoder, index, passages }: DenseParts): Retriever {
  if (index.size !== passages.length) {
    throw new RangeError(
      `Expected an index of ${passages.length} passages, but got ${index.size}.`,
    );
  }
  if (index.dimensions !== encoder.dimensions) {
    throw new RangeError(
      `Expected an index of ${encoder.dimensions} dimensions, but got ${index.dimensions}.`,
    );
  }
  return {
    name: `${encoder.name}-${index.name}`,
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

/** The passages' vectors, encoded `batchSize` at a time (default 64). */
export async function encodePassages(
  encoder: Encoder,
  passages: readonly Passage[],
  { batchSize = 64 }: { batchSize?: number } = {},
): Promise<Float32Array[]> {
  requireInteger('batchSize', batchSize);
  const vectors: Float32Array[] = [];
  for (let start = 0; start < passages.length; start += batchSize) {
    const texts = passages.slice(start, start + batchSize).map(({ contents }) => contents);
    vectors.push(...(await encoder.encode(texts, { kind: 'passage' })));
  }
  return vectors;
}

//==== lib/retrieval/embeddings.ts
/**
 * Vectors of a corpus on disk: encoded once, in shards, so that what was encoded before a
 * stop is not encoded again.
 */

/** What vectors are of. */
export const sourceSchema = z.strictObject({
  /** Hash of the passages, in their order. */
  corpus: z.string(),
  /** Hash of the encoder's files and settings. */
  encoder: z.string(),
});
export type VectorSource = z.infer<typeof sourceSchema>;

const manifestSchema = sourceSchema.extend({
  size: z.int().min(1),
  dimensions: z.int().min(1),
  shardSize: z.int().min(1),
});

const MANIFEST = 'embeddings.json';
/** Passages of a shard. */
const SHARD_SIZE = 512;
const shardFile = (folder: string, number: number): string =>
  join(folder, `embeddings-${String(number).padStart(6, '0')}.safetensors`);

/** A hash of passages that changes with any id or text, and with their order. */
export function corpusHash(passages: readonly Pick<Passage, 'id' | 'contents'>[]): string {
  const hash = createHash('sha256');
  for (const { id, contents } of passages) hash.update(JSON.stringify([id, contents]));
  return hash.digest('hex').slice(0, 12);
}

/**
 * What describes an index. @throws Error naming the file that is no such description, or
 * is damaged
 */
export async function readManifest<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(await readJson(file));
  if (parsed.success) return parsed.data;
  throw new Error(
    `Expected ${shortPath(file)} to describe an index, but ${z.prettifyError(parsed.error)} Remove it to build the index again.`,
  );
}

/**
 * @throws Error where a folder holds what was made of other passages, by another encoder
 * or in another way
 */
export function requireSame(folder: string, found: object, wanted: object): void {
  for (const [name, value] of Object.entries(wanted)) {
    const other = (found as Record<string, unknown>)[name];
    if (other !== value)
      throw new Error(
        `Expected ${shortPath(folder)} to hold an index of ${name} ${String(value)}, but it holds one of ${name} ${String(other)}. Choose another folder with --index, or remove that one.`,
      );
  }
}

/**
 * Vectors of all passages, from a folder as far as they are there. One process at a
 * time encodes into a folder.
 * @throws Error where the folder is of other passages or another encoder
 */
export async function embedCorpus(
  encoder: Encoder,
  passages: readonly Passage[],
  { folder, source }: { folder: string; source: VectorSource },
): Promise<Float32Array[]> {
  const { dimensions } = encoder;
  const manifest = { ...source, size: passages.length, dimensions };
  const file = join(folder, MANIFEST);
  let shardSize = SHARD_SIZE;
  if (existsSync(file)) {
    const { shardSize: before, ...found } = await readManifest(file, manifestSchema);
    requireSame(folder, found, manifest);
    shardSize = before;
  }
  const shards = range(0, passages.length, shardSize).map((from, i) => {
    return { file: shardFile(folder, i), part: passages.slice(from, from + shardSize) };
  });
  const isMissing = (shard: { file: string }): boolean => !existsSync(shard.file);
  if (shards.some(isMissing))
    await withFolderLock(folder, async () => {
      if (!existsSync(file))
        await writeFileSafely(file, `${JSON.stringify({ ...manifest, shardSize })}\n`);
      // Another process may have been at it.
      const missing = shards.filter(isMissing);
      const total = sum(missing, ({ part }) => part.length);
      const progress = startProgress('Encoding passages', passages.length, passages.length - total);
      const start = performance.now();
      let done = 0;
      try {
        for (const shard of missing) {
          const texts = shard.part.map(({ contents }) => contents);
          const vectors = await encoder.encode(texts, { kind: 'passage' });
          const values = new Float32Array(vectors.length * dimensions);
          vectors.forEach((vector, i) => values.set(vector, i * dimensions));
          const tensors = new Map([
            ['embeddings', { shape: [vectors.length, dimensions], values }],
          ]);
          await writeFileSafely(shard.file, printSafetensors(tensors, { storage: 'F32' }));
          done += texts.length;
          const rate = done / ((performance.now() - start) / 1000);
          progress.update(
            passages.length - total + done,
            `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} a second`,
          );
        }
      } finally {
        progress.stop();
      }
    });
  const read = async ({ file: path, part }: (typeof shards)[number]): Promise<Float32Array[]> => {
    const { shape = [], values } = (await readSafetensors(path)).get('embeddings') ?? {};
    if (shape.join() !== [part.length, dimensions].join())
      throw new Error(
        `Expected ${shortPath(path)} to hold ${part.length} x ${dimensions} numbers, but got ${shape.join(' x ') || 'none'}. Remove it to encode these passages again.`,
      );
    return part.map((_, i) => values!.subarray(i * dimensions, (i + 1) * dimensions));
  };
  return (await Promise.all(shards.map(read))).flat();
}
