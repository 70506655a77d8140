/**
 * Synthetic vectors that, like those of texts, are close to a space of few dimensions,
 * with a little of all others.
 */
import { createRandom } from '../../lib/random.js';
import { normalise } from '../../lib/retrieval/exact.js';

const INNER_DIMENSIONS = 32;
const NOISE = 0.1;

/** Returns a function that makes vectors of unit length. */
export function createVectors(dimensions: number): () => Float32Array {
  const random = createRandom('vector-index');
  const projection = Array.from({ length: INNER_DIMENSIONS * dimensions }, () => random.normal());
  return () => {
    const vector = Float32Array.from(
      { length: dimensions },
      () => random.uniform() * NOISE * INNER_DIMENSIONS,
    );
    for (let i = 0; i < INNER_DIMENSIONS; i++) {
      const x = random.normal();
      for (let d = 0; d < dimensions; d++) vector[d] += x * projection[i * dimensions + d];
    }
    return normalise(vector);
  };
}
