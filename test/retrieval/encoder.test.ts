import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { trainEncoder } from '../../lib/mini-wiki/encoder/contrastive.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import { createHashedEncoder, randomWeights, type HashedWeights } from '../../lib/retrieval/encoder.js';
import { encoderFromBytes, encoderToBytes, loadEncoder } from '../../lib/retrieval/encoder-file.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import { hashFeatures } from '../../lib/retrieval/features.js';
import { retrievalRecall } from '../../lib/retrieval/recall.js';
import { trainEncoderFiles } from '../../lib/mini-wiki/encoder/train-encoder.js';
import { FILMS, makePassages } from './passages.js';

const SMALL = { dimensions: 32, wordBuckets: 512, gramBuckets: 128 };
const texts = FILMS.map(({ contents }) => contents);
const startWeights = (seed = 0) => randomWeights(texts, createRandom(seed), SMALL);

/** A toy language where "qN" in a question means "aN" in a passage: nothing lexical to go by. */
const TOY = makePassages(Array.from({ length: 24 }, (_, i) => `a${i}x\nsome words about it`));
const toyQueries = TOY.map(({ id }, i) => ({ query: `where is q${i}y`, evidence: [id] }));
const toyPairs = TOY.map(({ contents }, i) => ({ query: toyQueries[i].query, positive: contents }));

async function retrieverOf(encoder: ReturnType<typeof createHashedEncoder>, passages = FILMS) {
  const index = buildExactIndex(await encodePassages(encoder, passages, { batchSize: 2 }));
  return createDenseRetriever({ encoder, index, passages });
}

describe('hashFeatures', () => {
  it('counts words and bounded n-grams, logarithmically', () => {
    const options = { wordBuckets: 1000, gramBuckets: 1000, gramLengths: [4], titleWeight: 2 };
    const query = hashFeatures('cat cat', 'query', options); // the word, <cat, cat>
    expect(query.buckets).toHaveLength(3);
    expect([...query.values]).toEqual(Array(3).fill(expect.closeTo(Math.log(3), 6)));
    const title = hashFeatures('cat\n', 'passage', options);
    expect(title).toEqual(query);
  });
  it('stays within the buckets, each at most once', () => {
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
  it('gives unit vectors, and zeros for texts without words', async () => {
    const encoder = createHashedEncoder(startWeights());
    const [film, nothing] = await encoder.encode(['a film', '?'], { kind: 'query' });
    expect(Math.hypot(...film)).toBeCloseTo(1, 5);
    expect(nothing.every((value) => value === 0)).toBe(true);
  });
  it('finds passages by their words before any training', async () => {
    const retriever = await retrieverOf(createHashedEncoder(startWeights()));
    const [found] = await retriever.retrieve(['Andrei Tarkovsky born'], { topK: 2 });
    expect(found[0].passage.id).toBe('p1');
    expect(retriever.name).toBe('hashed-exact');
  });
  it('depends on the seed only', () => {
    expect(startWeights(1)).toEqual(startWeights(1));
    expect(startWeights(1).projection).not.toEqual(startWeights(2).projection);
  });
  it('rejects weights, indexes and settings that do not fit', async () => {
    const weights = startWeights();
    expect(() => createHashedEncoder({ ...weights, queryGain: new Float32Array(3) })).toThrow(
      'Expected 640 rows in the projection and both gains, but got 640, 3, 640.',
    );
    const encoder = createHashedEncoder(weights);
    const index = buildExactIndex([new Float32Array(32)]);
    expect(() => createDenseRetriever({ encoder, index, passages: FILMS })).toThrow('Expected an index of 5');
    const flat = buildExactIndex(FILMS.map(() => new Float32Array(2)));
    expect(() => createDenseRetriever({ encoder, index: flat, passages: FILMS })).toThrow('32 dimensions');
  });
});

describe('trainEncoder', () => {
  const toyStart = randomWeights(
    TOY.map(({ contents }) => contents),
    createRandom(0),
    SMALL,
  );
  const options = { epochs: 12, batchSize: 12, learningRate: 0.1, seed: 3 };

  it('learns which passages answer queries that share no word with them', async () => {
    const losses: number[] = [];
    const trained = trainEncoder(toyStart, toyPairs, {
      ...options,
      onEpoch: ({ meanLossNats }) => losses.push(meanLossNats),
    });
    expect(losses.at(-1)).toBeLessThan(losses[0] / 4);
    const recall = async (encoder: typeof trained) =>
      (await retrievalRecall(await retrieverOf(encoder, TOY), toyQueries, [1]))[0].recall;
    expect(await recall(createHashedEncoder(toyStart))).toBeLessThan(0.4);
    expect(await recall(trained)).toBeGreaterThan(0.9);
  });
  it('gives the same weights for the same seed and leaves the start alone', () => {
    const before = toyStart.projection.slice();
    const [a, b] = [1, 2].map(() => trainEncoder(toyStart, toyPairs, { ...options, epochs: 1 }));
    expect(a.weights).toEqual(b.weights);
    expect(toyStart.projection).toEqual(before);
    expect(a.weights.projection).not.toEqual(before);
  });
  it('moves every weight against the slope of the loss (central differences)', () => {
    const pairs = toyPairs.slice(0, 6);
    const lossAt = (weights: HashedWeights) => {
      let loss = NaN;
      const onEpoch = ({ meanLossNats }: { meanLossNats: number }) => void (loss = meanLossNats);
      const moved = trainEncoder(weights, pairs, { epochs: 1, batchSize: 6, learningRate: 1e-4, onEpoch });
      return { loss, moved: moved.weights };
    };
    const { moved } = lossAt(toyStart);
    for (const name of ['projection', 'queryGain', 'passageGain'] as const) {
      const steps = Array.from(moved[name], (value, at) => ({ at, step: value - toyStart[name][at] }));
      const touched = createRandom(name).shuffle(steps.filter(({ step }) => step !== 0));
      const slopes = touched.slice(0, 60).map(({ at, step }) => {
        const losses = [0.01, -0.01].map((shift) => {
          const shifted = toyStart[name].slice();
          shifted[at] += shift;
          return lossAt({ ...toyStart, [name]: shifted }).loss;
        });
        return { step, slope: (losses[0] - losses[1]) / 0.02 };
      });
      const clear = slopes.filter(({ slope }) => Math.abs(slope) > 1e-3);
      expect(clear.length).toBeGreaterThan(5);
      for (const { step, slope } of clear) expect(Math.sign(step)).toBe(-Math.sign(slope));
    }
  });
  it('never counts the other passages that answer a query as wrong', () => {
    const losses: number[] = [];
    const positives = toyPairs.slice(0, 2).map(({ positive }) => positive);
    const pairs = toyPairs.slice(0, 2).map((pair) => ({ ...pair, otherPositives: positives }));
    const onEpoch = ({ meanLossNats }: { meanLossNats: number }) => void losses.push(meanLossNats);
    trainEncoder(toyStart, pairs, { epochs: 1, batchSize: 2, onEpoch });
    expect(losses).toEqual([0]);
  });
  it('rejects no pairs and a batch of one', () => {
    expect(() => trainEncoder(toyStart, [])).toThrow('Expected at least one training pair');
    expect(() => trainEncoder(toyStart, toyPairs, { batchSize: 1 })).toThrow(
      'Expected batchSize to be an integer >= 2, but got 1.',
    );
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
  it('reads back to the same bytes', () => {
    const loaded = encoderFromBytes(encoderToBytes(createHashedEncoder(startWeights())));
    const again = encoderFromBytes(encoderToBytes(loaded));
    expect(again.weights.projection).toEqual(loaded.weights.projection);
    expect(again.weights.features).toEqual(loaded.weights.features);
  });
  it('rejects files that are cut short or of another kind', () => {
    const bytes = encoderToBytes(createHashedEncoder(startWeights()));
    expect(() => encoderFromBytes(bytes.subarray(0, 5))).toThrow('cut short');
    expect(() => encoderFromBytes(bytes.subarray(0, bytes.length - 1))).toThrow('Expected tensor data');
    const other = new Uint8Array(10);
    other.set([2, 0, 0, 0, 0, 0, 0, 0, 123, 125]);
    expect(() => encoderFromBytes(other)).toThrow('Expected an encoder file');
  });
});

describe('trainEncoderFiles', () => {
  const questions = FILMS.map(({ id, contents }, i) => {
    const query = contents.split('\n')[0];
    return {
      question: `What is ${query}?`,
      split: i < 3 ? 'train' : 'test',
      metadata: { graph: [{ query, evidence: [id] }] },
    };
  });

  it('writes an encoder and its recall on the test split', async () => {
    const outputFolder = await mkdtemp(join(tmpdir(), 'encoder-'));
    try {
      const report = await trainEncoderFiles({ passages: FILMS, questions, outputFolder, encoder: SMALL });
      expect(report.numPairs).toBe(3 + 3 + 5);
      expect(report.recall.trained.subQueries[0]).toEqual({ k: 1, recall: 1, hitRate: 1 });
      expect((await stat(join(outputFolder, 'encoder.safetensors'))).size).toBe(report.bytes);
      expect(await loadEncoder(outputFolder)).toMatchObject({ name: 'hashed', dimensions: 32 });
    } finally {
      await rm(outputFolder, { recursive: true });
    }
  });
  it('names evidence that the corpus lacks', async () => {
    const broken = [
      { question: 'a', split: 'train', metadata: { graph: [{ query: 'b', evidence: ['p9'] }] } },
    ];
    await expect(
      trainEncoderFiles({ passages: FILMS, questions: broken, outputFolder: tmpdir(), encoder: SMALL }),
    ).rejects.toThrow('Expected a passage with id p9 (evidence for "b"), but the corpus has none.');
  });
});
