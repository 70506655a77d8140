import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import {
  createHashedEncoder,
  encoderFromBytes,
  hashFeatures,
} from '../../lib/retrieval/encoder.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import { encoderToBytes, randomWeights } from '../../tools/encoder/hashed-weights.js';
import { FILMS } from './passages.js';

const SMALL = { dimensions: 32, wordBuckets: 512, gramBuckets: 128 };
const texts = FILMS.map(({ contents }) => contents);
const initialWeights = (seed = 0) => randomWeights(texts, createRandom(seed), SMALL);

async function retrieverOf(encoder: ReturnType<typeof createHashedEncoder>, passages = FILMS) {
  const index = buildExactIndex(await encodePassages(encoder, passages, { batchSize: 2 }));
  return createDenseRetriever({ encoder, index, passages });
}

describe('hashFeatures', () => {
  it('takes the logarithm of counts of words and n-grams', () => {
    const options = { wordBuckets: 1000, gramBuckets: 1000, gramLengths: [4], titleWeight: 2 };
    const query = hashFeatures('cat cat', 'query', options); // the word, <cat, cat>
    expect(query.buckets).toHaveLength(3);
    expect([...query.values]).toEqual(Array(3).fill(expect.closeTo(Math.log(3), 6)));
    const title = hashFeatures('cat\n.', 'passage', options);
    expect(title).toEqual(query);
  });
  it('returns each bucket at most once and within range', () => {
    const options = { wordBuckets: 7, gramBuckets: 5, gramLengths: [3, 4], titleWeight: 2 };
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const { buckets } = hashFeatures(text, 'passage', options);
        expect(new Set(buckets).size).toBe(buckets.length);
        expect(buckets.every((bucket) => bucket < 12)).toBe(true);
      }),
    );
  });
});

describe('createHashedEncoder', () => {
  it('returns unit vectors, or zeros for texts without words', async () => {
    const encoder = createHashedEncoder(initialWeights());
    const [film, nothing] = await encoder.encode(['a film', '?'], { kind: 'query' });
    expect(Math.hypot(...film)).toBeCloseTo(1, 5);
    expect(nothing.every((value) => value === 0)).toBe(true);
  });
  it('finds passages with the same words without training', async () => {
    const retriever = await retrieverOf(createHashedEncoder(initialWeights()));
    const [passages] = await retriever.retrieve(['Andrei Tarkovsky born'], { topK: 2 });
    expect(passages[0].passage.id).toBe('p1');
    expect(retriever.name).toBe('hashed-exact');
  });
  it('is deterministic for a seed', () => {
    expect(initialWeights(1)).toEqual(initialWeights(1));
    expect(initialWeights(1).projection).not.toEqual(initialWeights(2).projection);
  });
  it('rejects mismatched weights, indexes and options', async () => {
    const weights = initialWeights();
    const short = { ...weights, queryGain: new Float32Array(3) };
    expect(() => createHashedEncoder(short)).toThrow('640, 3, 640');
    const encoder = createHashedEncoder(weights);
    const create = (...vectors: Float32Array[]) =>
      createDenseRetriever({ encoder, index: buildExactIndex(vectors), passages: FILMS });
    expect(() => create(new Float32Array(32))).toThrow('index of 5');
    expect(() => create(...FILMS.map(() => new Float32Array(2)))).toThrow('32 dimensions');
  });
});

describe('encoderToBytes', () => {
  it('keeps vectors within a cosine of 0.999 and stays under 1 MB at the default size', async () => {
    const encoder = createHashedEncoder(randomWeights(texts, createRandom(0)));
    const bytes = encoderToBytes(encoder);
    expect(bytes.byteLength).toBeLessThan(1_000_000);
    const before = await encoder.encode(texts, { kind: 'passage' });
    const after = await encoderFromBytes(bytes).encode(texts, { kind: 'passage' });
    before.forEach((vector, i) => {
      const cosine = vector.reduce((sum, value, d) => sum + value * after[i][d], 0);
      expect(cosine).toBeGreaterThan(0.999);
    });
  });
  it('round-trips bit by bit', () => {
    const loaded = encoderFromBytes(encoderToBytes(createHashedEncoder(initialWeights())));
    const again = encoderFromBytes(encoderToBytes(loaded));
    expect(again.weights.projection).toEqual(loaded.weights.projection);
    expect(again.weights.features).toEqual(loaded.weights.features);
  });
  it('rejects a non-finite gain', () => {
    const weights = initialWeights();
    weights.passageGain[3] = NaN;
    const bytes = encoderToBytes(createHashedEncoder(weights));
    expect(() => encoderFromBytes(bytes)).toThrow('passage_gain');
  });
  it('rejects truncated files and other formats', () => {
    const bytes = encoderToBytes(createHashedEncoder(initialWeights()));
    expect(() => encoderFromBytes(bytes.subarray(0, 5))).toThrow('safetensors');
    const short = bytes.subarray(0, bytes.length - 1);
    expect(() => encoderFromBytes(short)).toThrow(/^Expected a file of \d+ bytes/);
    const other = new Uint8Array(10);
    other.set([2, 0, 0, 0, 0, 0, 0, 0, 123, 125]);
    expect(() => encoderFromBytes(other)).toThrow('encoder file');
  });
});
