import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { createDenseRetriever, encodePassages } from '../../../lib/retrieval/dense.js';
import {
  createHashedEncoder,
  type HashedEncoder,
  type HashedWeights,
} from '../../../lib/retrieval/encoder.js';
import { buildExactIndex } from '../../../lib/retrieval/exact.js';
import { retrievalRecall } from '../../../lib/retrieval/recall.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { trainEncoder } from '../../../tools/encoder/contrastive.js';
import { randomWeights } from '../../../tools/encoder/hashed-weights.js';
import { cases } from '../../full.js';
import { makePassages } from '../../retrieval/passages.js';

/**
 * A toy language where "qN" in a question means "aN" in a passage: no lexical overlap.
 */
const TOY = makePassages(Array.from({ length: 24 }, (_, i) => `a${i}x\nsome words about it`));
const QUERIES = TOY.map(({ id }, i) => ({ query: `where is q${i}y`, evidence: [id] }));
const PAIRS = TOY.map(({ contents }, i) => ({ query: QUERIES[i].query, positive: contents }));
const INITIAL = randomWeights(
  TOY.map(({ contents }) => contents),
  createRandom(0),
  { dimensions: 32, wordBuckets: 512, gramBuckets: 128 },
);

async function retrieverOf(encoder: HashedEncoder) {
  return createDenseRetriever({
    encoder,
    index: buildExactIndex(await encodePassages(encoder, TOY)),
    passages: TOY,
  });
}

await useBackend('wasm');

describe('trainEncoder', () => {
  const options = { epochs: 12, batchSize: 12, learningRate: 0.1, seed: 3 };

  it('learns which passages answer queries without common words', async () => {
    const losses: number[] = [];
    const trained = trainEncoder(INITIAL, PAIRS, {
      ...options,
      onEpoch: ({ meanLossNats }) => losses.push(meanLossNats),
    });
    expect(losses.at(-1)).toBeLessThan(losses[0] / 4);
    const recall = async (encoder: typeof trained) =>
      (await retrievalRecall(await retrieverOf(encoder), QUERIES, [1]))[0].recall;
    expect(await recall(createHashedEncoder(INITIAL))).toBeLessThan(0.4);
    expect(await recall(trained)).toBeGreaterThan(0.9);
  });
  it('gives the same weights for the same seed, and does not change the initial ones', () => {
    const before = INITIAL.projection.slice();
    const [a, b] = [1, 2].map(() => trainEncoder(INITIAL, PAIRS, { ...options, epochs: 1 }));
    expect(a.weights).toEqual(b.weights);
    expect(INITIAL.projection).toEqual(before);
    expect(a.weights.projection).not.toEqual(before);
  });
  it('moves every weight against the slope of the loss (central differences)', () => {
    const pairs = PAIRS.slice(0, 6);
    const lossAt = (weights: HashedWeights) => {
      let loss = NaN;
      const onEpoch = ({ meanLossNats }: { meanLossNats: number }) => void (loss = meanLossNats);
      const moved = trainEncoder(weights, pairs, {
        epochs: 1,
        batchSize: 6,
        learningRate: 1e-4,
        onEpoch,
      });
      return { loss, moved: moved.weights };
    };
    const { moved } = lossAt(INITIAL);
    for (const name of ['projection', 'queryGain', 'passageGain'] as const) {
      const steps = Array.from(moved[name], (value, at) => ({
        at,
        step: value - INITIAL[name][at],
      }));
      const touched = createRandom(name).shuffle(steps.filter(({ step }) => step !== 0));
      const slopes = touched.slice(0, cases(15, 60)).map(({ at, step }) => {
        const losses = [0.01, -0.01].map((shift) => {
          const shifted = INITIAL[name].slice();
          shifted[at] += shift;
          return lossAt({ ...INITIAL, [name]: shifted }).loss;
        });
        return { step, slope: (losses[0] - losses[1]) / 0.02 };
      });
      const clear = slopes.filter(({ slope }) => Math.abs(slope) > 1e-3);
      expect(clear.length).toBeGreaterThan(5);
      for (const { step, slope } of clear) expect(Math.sign(step)).toBe(-Math.sign(slope));
    }
  });
  it('never treats other positives of a query as negatives', () => {
    const losses: number[] = [];
    const positives = PAIRS.slice(0, 2).map(({ positive }) => positive);
    const pairs = PAIRS.slice(0, 2).map((pair) => ({ ...pair, otherPositives: positives }));
    const onEpoch = ({ meanLossNats }: { meanLossNats: number }) => void losses.push(meanLossNats);
    trainEncoder(INITIAL, pairs, { epochs: 1, batchSize: 2, onEpoch });
    expect(losses).toEqual([0]);
  });
  it('rejects an empty list of pairs and a batch of one', () => {
    expect(() => trainEncoder(INITIAL, [])).toThrow('Expected at least one training pair');
    expect(() => trainEncoder(INITIAL, PAIRS, { batchSize: 1 })).toThrow(
      'Expected batchSize to be an integer >= 2, but got 1.',
    );
  });
});
