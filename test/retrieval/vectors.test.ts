import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { buildExactIndex, normalise } from '../../lib/retrieval/exact.js';
import { buildHnswIndex, loadHnswIndex, loadHnswlib } from '../../lib/retrieval/hnsw.js';

function randomVectors(count: number, dimensions: number, seed: number): Float32Array[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: dimensions }, () => random.normal()),
  );
}

const hnswlibInstalled = await loadHnswlib().then(
  () => true,
  () => false,
);

describe('buildExactIndex', () => {
  it('ranks by cosine, not by length', () => {
    const index = buildExactIndex([Float32Array.of(10, 10), Float32Array.of(0.1, 0), Float32Array.of(0, -5)]);
    const found = index.search(Float32Array.of(3, 0), 3);
    expect(found.map((neighbour) => neighbour.index)).toEqual([1, 0, 2]);
    expect(found.map(({ score }) => score)).toEqual([1, expect.closeTo(Math.SQRT1_2, 6), 0]);
  });
  it('gives zero to the zero vector and keeps the order of equals', () => {
    const index = buildExactIndex([new Float32Array(2), Float32Array.of(0, 1), Float32Array.of(0, 2)]);
    expect(index.search(Float32Array.of(0, 1), 2).map((neighbour) => neighbour.index)).toEqual([1, 2]);
    expect(index.search(new Float32Array(2), 1)).toEqual([{ index: 0, score: 0 }]);
  });
  it('gives the first k of a full ranking, scores within [-1, 1] (tolerance 1e-6)', () => {
    const vectors = randomVectors(40, 6, 1);
    const index = buildExactIndex(vectors);
    fc.assert(
      fc.property(fc.nat(39), fc.integer({ min: 1, max: 60 }), (query, k) => {
        const all = index.search(vectors[query], 40);
        expect(index.search(vectors[query], k)).toEqual(all.slice(0, k));
        expect(all[0]).toEqual({ index: query, score: expect.closeTo(1, 6) as number });
        expect(all.every(({ score }) => Math.abs(score) <= 1 + 1e-6)).toBe(true);
      }),
    );
  });
  it('rejects what is not a set of equal finite vectors', () => {
    expect(() => buildExactIndex([])).toThrow('Expected at least one vector, but got none.');
    expect(() => buildExactIndex([new Float32Array(2), new Float32Array(3)])).toThrow(
      'Expected a vector of 2 dimensions, but got 3.',
    );
    expect(() => buildExactIndex([Float32Array.of(NaN)])).toThrow('Expected finite numbers in vector 0.');
    expect(() => buildExactIndex([Float32Array.of(1)]).search(new Float32Array(2), 1)).toThrow('dimensions');
  });
  it('does not change the vectors given', () => {
    const vector = Float32Array.of(3, 4);
    expect([...normalise(vector)]).toEqual([expect.closeTo(0.6, 6), expect.closeTo(0.8, 6)]);
    expect([...vector]).toEqual([3, 4]);
  });
});

describe.skipIf(!hnswlibInstalled)('buildHnswIndex', () => {
  const vectors = randomVectors(1500, 24, 2);
  const queries = randomVectors(60, 24, 3);
  const exact = buildExactIndex(vectors);

  function recallAt10(search: (query: Float32Array) => { index: number }[]): number {
    const hits = queries.map((query) => {
      const wanted = new Set(exact.search(query, 10).map(({ index }) => index));
      return search(query).filter(({ index }) => wanted.has(index)).length / 10;
    });
    return hits.reduce((sum, hit) => sum + hit, 0) / hits.length;
  }

  it('has recall@10 >= 0.95 against exact search, with the same scores (tolerance 1e-5)', async () => {
    const index = await buildHnswIndex(vectors);
    expect(recallAt10((query) => index.search(query, 10))).toBeGreaterThanOrEqual(0.95);
    const [top] = index.search(vectors[7], 3);
    expect(top.index).toBe(7);
    expect(top.score).toBeCloseTo(1, 5);
  });
  it('answers alike after saving and loading, efSearch included', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hnsw-'));
    try {
      const index = await buildHnswIndex(vectors, { efSearch: 200 });
      await index.save(join(folder, 'index.bin'));
      const loaded = await loadHnswIndex(join(folder, 'index.bin'));
      expect(loaded).toMatchObject({ size: 1500, dimensions: 24 });
      for (const query of queries) expect(loaded.search(query, 10)).toEqual(index.search(query, 10));
      const hasty = await loadHnswIndex(join(folder, 'index.bin'), { efSearch: 10 });
      expect(recallAt10((query) => hasty.search(query, 10))).toBeLessThan(
        recallAt10((query) => loaded.search(query, 10)),
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
  it('returns every vector when topK exceeds the size', async () => {
    const index = await buildHnswIndex(vectors.slice(0, 5));
    expect(index.search(queries[0], 50)).toHaveLength(5);
    expect(() => index.search(queries[0], 1.5)).toThrow('Expected topK to be an integer >= 1, but got 1.5.');
  });
});

describe('loadHnswlib', () => {
  it('names the remedy when the package is absent', async () => {
    const absent = () => Promise.reject(new Error('Cannot find package'));
    await expect(loadHnswlib(absent)).rejects.toThrow('npm install hnswlib-node');
  });
});
