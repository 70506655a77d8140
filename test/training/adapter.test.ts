import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, afterEach, expect, it } from 'vitest';
import { fromNamedArrays, toNamedArrays } from '../../lib/policy/model/weights.js';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { TrainedAdapter } from '../../lib/training/adapter.js';
import { Ranks } from '../../lib/training/ranks.js';
import { connect } from './channels.js';
import { tinyModel } from './tiny.js';

const ROW = { tokenIds: [5, 9, 31, 7], lossMask: [0, 1, 0, 1] };
const OPTIONS = { learningRate: 0.02, maxGradNorm: 1 };

let trained: TrainedAdapter;
let numTensors: number;
const adapterOf = (more = {}): TrainedAdapter =>
  new TrainedAdapter(model, {
    name: 'mine',
    lora: { rank: 2, alpha: 4 },
    random: createRandom(1),
    temperature: 1,
    maxTokensPerPass: 100,
    ...more,
  });
await useBackend('wasm');
const model = tinyModel();
beforeEach(() => {
  numTensors = tf.memory().numTensors;
  trained = adapterOf();
});
afterEach(() => {
  trained.dispose();
  expect(tf.memory().numTensors).toBe(numTensors);
});

/** Makes the tokens of the row likelier, or less likely with a negative sign. */
const step = (adapter: TrainedAdapter, sign = 1): ReturnType<TrainedAdapter['update']> =>
  adapter.update([ROW], OPTIONS, (logProbs) => ({
    loss: tf.mul<tf.Scalar>(tf.sum(logProbs), -sign),
  }));
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const valueOf = async (adapter: TrainedAdapter): Promise<number> =>
  sum((await adapter.logProbs([ROW]))[0]);
/** Log-prob of the greedy next token under a policy. */
const greedy = async (policy: TrainedAdapter['localPolicy']): Promise<number> => {
  const options = {
    temperature: 0,
    topP: 1,
    maxNewTokens: 1,
    stop: [],
    randoms: [createRandom(1)],
  };
  return (await policy.generate([[5, 9, 31]], options))[0].logProbs?.[0] ?? NaN;
};

it('starts as the model; updates move the policy, but not the model', async () => {
  const reference = (await trained.referenceLogProbs([ROW]))[0];
  expect((await trained.logProbs([ROW]))[0]).toEqual(
    reference.map((x) => expect.closeTo(x, 5) as number),
  );
  const before = sum(reference);
  const { loss, gradNorm } = await step(trained);
  expect(loss).toBeCloseTo(-before, 4);
  expect(gradNorm).toBeGreaterThan(0);
  for (let i = 0; i < 5; i++) await step(trained);
  const likelier = await valueOf(trained);
  expect(likelier).toBeGreaterThan(before + 0.1);
  expect((await trained.referenceLogProbs([ROW]))[0]).toEqual(reference);
  for (let i = 0; i < 5; i++) await step(trained, -1);
  expect(await valueOf(trained)).toBeLessThan(likelier);
});

it('gives the newest policy and the initial one', async () => {
  expect(trained.useCurrentPolicy().name).toBe('mine');
  const first = await greedy(trained.useCurrentPolicy());
  expect(await greedy(trained.useInitialPolicy())).toBeCloseTo(first, 5);
  for (let i = 0; i < 5; i++) await step(trained);
  const newest = await greedy(trained.useCurrentPolicy());
  expect(Math.abs(newest - first)).toBeGreaterThan(1e-3);
  expect(await greedy(trained.useInitialPolicy())).toBeCloseTo(first, 5);
  expect(await greedy(trained.useCurrentPolicy())).toBeCloseTo(newest, 5);
});

it('gives log-probs at the sampling temperature', async () => {
  const cool = adapterOf({ temperature: 0.5 });
  expect((await cool.logProbs([ROW]))[0][0]).not.toBeCloseTo(
    (await trained.logProbs([ROW]))[0][0],
    3,
  );
  cool.dispose();
});

it('clips gradients at the maximum norm', async () => {
  const norms: number[] = [];
  for (const maxGradNorm of [1e6, 1e-6]) {
    const adapter = adapterOf();
    const options = { ...OPTIONS, maxGradNorm };
    norms.push(
      (await adapter.update([ROW], options, (logProbs) => ({ loss: tf.sum(logProbs) }))).gradNorm,
    );
    adapter.dispose();
  }
  // The reported norm is the unclipped one.
  expect(norms[0]).toBeCloseTo(norms[1], 5);
});

it.each([NaN, Infinity])('skips the update if the gradient norm is %d', async (factor) => {
  await step(trained);
  const before = await valueOf(trained);
  const { gradNorm } = await trained.update([ROW], OPTIONS, (logProbs) => ({
    loss: tf.mul<tf.Scalar>(tf.sum(logProbs), factor),
  }));
  expect(Number.isFinite(gradNorm)).toBe(false);
  expect(await valueOf(trained)).toBe(before);
});

it('resumes from a checkpoint as if never interrupted', async () => {
  for (let i = 0; i < 2; i++) await step(trained);
  const trainable = fromNamedArrays(await toNamedArrays(trained.weights));
  const optimizer = await trained.optimizer.toArrays();
  const other = adapterOf({ random: createRandom(2) });
  await step(other);
  await valueOf(other);
  other.restore({ trainable, optimizer, state: { nextStep: 2, hash: '' } });
  expect(await valueOf(other)).toBe(await valueOf(trained));
  for (const adapter of [trained, other]) await step(adapter);
  expect(await valueOf(other)).toBe(await valueOf(trained));
  other.dispose();
});

it('trains extra parameters apart from the policy', async () => {
  const own = adapterOf({ extraParams: { scale: tf.scalar(2) } });
  expect(await valueOf(own)).toBeCloseTo(await valueOf(trained), 4);
  const loss: Parameters<typeof own.update>[2] = (logProbs, _, { newest }) => ({
    loss: tf.add<tf.Scalar>(tf.mul(tf.sum(logProbs), 0), tf.square(newest.scale)),
  });
  expect((await own.update([ROW], OPTIONS, loss)).loss).toBeCloseTo(4, 5);
  expect(own.weights.scale.dataSync()[0]).toBeCloseTo(1.98, 3);
  const [numbers] = await own.perToken([ROW], (hidden, { scale }) =>
    tf.mul(tf.onesLike(tf.sum<tf.Tensor1D>(hidden, 1)), scale),
  );
  expect(numbers).toEqual([1.98, 1.98].map((x) => expect.closeTo(x, 3) as number));
  own.dispose();
});

it('runs frozen layers once for the reference and an update, and frees their outputs after it', async () => {
  const upper = adapterOf({ lora: { rank: 2, alpha: 4, layersToTransform: [1] } });
  const row = (last: number): typeof ROW => ({
    ...ROW,
    tokenIds: [...ROW.tokenIds.slice(0, 3), last],
  });
  const before = tf.memory().numTensors;
  const [reference] = await upper.referenceLogProbs([row(7)]);
  expect(tf.memory().numTensors).toBe(before + 1);
  const { loss } = await upper.update([row(7)], OPTIONS, (logProbs) => ({
    loss: tf.sum(logProbs),
  }));
  expect(loss).toBeCloseTo(sum(reference), 4);
  const made = tf.memory().numTensors;
  // Another row is computed again, and so is the same row after it.
  const [other] = await upper.referenceLogProbs([row(8)]);
  const [again] = await upper.referenceLogProbs([row(7)]);
  expect(again).toEqual(reference);
  expect(other[0]).toBeCloseTo(reference[0], 5);
  expect(Math.abs(other[1] - reference[1])).toBeGreaterThan(1e-4);
  await upper.update([row(7)], OPTIONS, (logProbs) => ({ loss: tf.sum(logProbs) }));
  expect(tf.memory().numTensors).toBe(made);
  upper.dispose();
});

it('updates on two ranks as on one', async () => {
  const rows = [ROW, { ...ROW, tokenIds: [5, 9, 31, 8] }];
  const options = { maxTokensPerPass: 4 };
  const update = (adapter: TrainedAdapter): ReturnType<TrainedAdapter['update']> =>
    adapter.update(rows, OPTIONS, (logProbs) => ({ loss: tf.sum(logProbs) }));
  const alone = adapterOf(options);
  const expected = await update(alone);
  const ranks = connect().map((channel, rank) => new Ranks(rank, 2, [channel]));
  const adapters = ranks.map((of) =>
    adapterOf({ ...options, ranks: of, random: createRandom(of.rank + 1) }),
  );
  await Promise.all(adapters.map((adapter) => adapter.synchronise()));
  const updated = await Promise.all(adapters.map(update));
  expect(updated[0]).toEqual(expected);
  expect(updated[1]).toEqual({ loss: 0, gradNorm: 0, passes: [] });
  const weights = await toNamedArrays(alone.weights);
  for (const adapter of adapters) expect(await toNamedArrays(adapter.weights)).toEqual(weights);
  for (const adapter of [alone, ...adapters]) adapter.dispose();
});
