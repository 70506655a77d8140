import { requireInteger, TopK, type Neighbour } from './retriever.js';

/** Nearest neighbours of a vector by cosine. */
export interface VectorIndex {
  readonly name: string;
  readonly size: number;
  readonly dimensions: number;
  /** The `topK` nearest vectors, best first; score = cosine. */
  search(vector: Float32Array, topK: number): Neighbour[];
}

/** Exact search, comparing with every vector. Takes 4 * size * dimensions bytes. */
export function buildExactIndex(vectors: readonly Float32Array[]): VectorIndex {
  const dimensions = commonDimensions(vectors);
  const matrix = new Float32Array(vectors.length * dimensions); // (size, dimensions)
  vectors.forEach((vector, i) => matrix.set(normalise(vector), i * dimensions));
  return {
    name: 'exact',
    size: vectors.length,
    dimensions,
    search: (vector, topK) => {
      requireInteger('topK', topK);
      requireDimensions(vector, dimensions);
      const query = normalise(vector);
      const top = new TopK(topK);
      for (let i = 0; i < vectors.length; i++) top.offer(i, dotRow(matrix, i * dimensions, query));
      return top.best;
    },
  };
}

/** Returns a copy of unit length; the zero vector stays zero. */
export function normalise(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const scale = sum > 0 ? 1 / Math.sqrt(sum) : 0;
  return vector.map((value) => value * scale);
}

/** @throws RangeError if dimensions differ or a value is not finite */
export function commonDimensions(vectors: readonly Float32Array[]): number {
  if (vectors.length === 0) throw new RangeError('Expected at least one vector, but got none.');
  const dimensions = vectors[0].length;
  requireInteger('dimensions', dimensions);
  vectors.forEach((vector, i) => {
    requireDimensions(vector, dimensions);
    if (!vector.every(Number.isFinite))
      throw new RangeError(`Expected finite numbers in vector ${i}.`);
  });
  return dimensions;
}

export function requireDimensions(vector: Float32Array, dimensions: number): void {
  if (vector.length !== dimensions)
    throw new RangeError(
      `Expected a vector of ${dimensions} dimensions, but got ${vector.length}.`,
    );
}

/** Inner product with the row at `start`. Four partial sums keep the adders busy. */
function dotRow(matrix: Float32Array, start: number, query: Float32Array): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < query.length; i += 4) {
    s0 += matrix[start + i] * query[i];
    s1 += matrix[start + i + 1] * query[i + 1];
    s2 += matrix[start + i + 2] * query[i + 2];
    s3 += matrix[start + i + 3] * query[i + 3];
  }
  for (; i < query.length; i++) s0 += matrix[start + i] * query[i];
  return s0 + s1 + s2 + s3;
}
