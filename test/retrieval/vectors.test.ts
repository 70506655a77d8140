import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { buildExactIndex, normalise } from '../../lib/retrieval/exact.js';
import { buildHnswIndex, loadHnswIndex } from '../../lib/retrieval/hnsw.js';
import { temporaryFolder } from '../folder.js';
import { hasHnswlib } from './passages.js';

function randomVectors(count: number, dimensions: number, seed: number): Float32Array[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: dimensions }, () => random.normal()),
  );
}

describe('buildExactIndex', () => {
  it('ranks by cosine, ties in order; the zero vector scores 0', () => {
    const vector = fc.tuple(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -2, max: 2 }));
    const many = fc.array(vector, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(many, vector, fc.integer({ min: 1, max: 20 }), (vectors, query, k) => {
        const index = buildExactIndex(vectors.map((xy) => Float32Array.of(...xy)));
        const found = index.search(Float32Array.of(...query), k);
        const cosine = ([x, y]: [number, number]): number =>
          (x * query[0] + y * query[1]) / (Math.hypot(x, y) * Math.hypot(...query) || 1);
        const best = vectors.map(cosine).sort((a, b) => b - a);
        const scores = best.slice(0, k).map((score) => expect.closeTo(score, 6) as number);
        expect(found.map(({ score }) => score)).toEqual(scores);
        for (const [i, { index: at, score }] of found.entries()) {
          expect(score).toBeCloseTo(cosine(vectors[at]), 6);
          if (score === found[i - 1]?.score) expect(at).toBeGreaterThan(found[i - 1].index);
        }
      }),
    );
  });
  it('rejects vectors of unequal length and non-finite values', () => {
    expect(() => buildExactIndex([])).toThrow('at least one vector');
    const unequal = [2, 3].map((length) => new Float32Array(length));
    expect(() => buildExactIndex(unequal)).toThrow(/2 dimensions.*3/);
    expect(() => buildExactIndex([Float32Array.of(NaN)])).toThrow('vector 0');
    const index = buildExactIndex([Float32Array.of(1)]);
    expect(() => index.search(new Float32Array(2), 1)).toThrow('dimensions');
  });
  it('does not mutate its input', () => {
    const vector = Float32Array.of(3, 4);
    expect([...normalise(vector)]).toEqual([expect.closeTo(0.6, 6), expect.closeTo(0.8, 6)]);
    expect([...vector]).toEqual([3, 4]);
  });
});

describe.skipIf(!hasHnswlib)('buildHnswIndex (needs hnswlib-node)', () => {
  const folder = temporaryFolder();
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
  it('gives the same results after saving and loading', async () => {
    const file = join(folder, 'index.bin');
    const index = await buildHnswIndex(vectors, { efSearch: 200 });
    await index.save(file);
    const loaded = await loadHnswIndex(file);
    expect(loaded).toMatchObject({ size: 1500, dimensions: 24 });
    for (const query of queries) expect(loaded.search(query, 10)).toEqual(index.search(query, 10));
    const hasty = await loadHnswIndex(file, { efSearch: 10 });
    const [less, more] = [hasty, loaded].map((one) => recallAt10((query) => one.search(query, 10)));
    expect(less).toBeLessThan(more);
  });
  it('rejects a truncated graph or an interrupted save', async () => {
    const file = join(folder, 'damaged.bin');
    await (await buildHnswIndex(vectors.slice(0, 9))).save(file);
    const old = readFileSync(`${file}.json`);
    await (await buildHnswIndex(vectors.slice(9, 18))).save(file);
    expect((await loadHnswIndex(file)).search(vectors[9], 1)[0].index).toBe(0);
    writeFileSync(`${file}.json`, old);
    await expect(loadHnswIndex(file)).rejects.toThrow(/again/);
    await (await buildHnswIndex(vectors.slice(0, 9))).save(file);
    truncateSync(file, 100);
    await expect(loadHnswIndex(file)).rejects.toThrow(/again/);
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });
  it('returns every vector when topK exceeds the size', async () => {
    const index = await buildHnswIndex(vectors.slice(0, 5));
    expect(index.search(queries[0], 50)).toHaveLength(5);
    expect(() => index.search(queries[0], 1.5)).toThrow('topK');
  });
});
