import type { Passage } from '../data/question.js';
import type { Encoder } from './encoder.js';
import type { VectorIndex } from './exact.js';
import { perQuery } from './per-query.js';
import type { Retriever } from './retriever.js';
import { requireInteger } from './top-k.js';

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
