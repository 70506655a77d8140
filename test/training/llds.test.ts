/**
 * LLDS: the penalty computed by hand, its gradient compared with finite differences, and
 * in whole training steps.
 */
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { createGrpoTrainer, grpoLoss, likelihoodPenalty } from '../../lib/training/grpo.js';
import type { Metrics } from '../../lib/training/metrics.js';
import { cases } from '../full.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';

await useBackend('wasm');
const model = chattyModel();

/**
 * Three rollouts: a good one of two turns, of which only the first has fallen; a good one
 * that has fallen as a whole, though one token has risen; a bad one that has fallen.
 */
const OLD = [-1, -2, -1, -2, /**/ -1, -1, -3, /**/ -1, -1];
const NEW = [-1.5, -1.8, -0.5, -2.1, /**/ -1.25, -0.95, -3.3, /**/ -3, -3];
const ADVANTAGES = [1, 1, 1, 1, /**/ 0, 0, 0, /**/ -1, -1];
const LENGTHS = { rowLengths: [4, 3, 2], actionLengths: [2, 2, 3, 2] };
/** By action: [-1.5, -1.8] lost 0.3 nats, [-0.5, -2.1] gained 0.4; by rollout, +0.1. */
const PENALTIES = {
  action: [0.5, 0, 0, 0, /**/ 0.25, 0, 0.3, /**/ 0, 0],
  response: [0, 0, 0, 0, /**/ 0.25, 0, 0.3, /**/ 0, 0],
};
const tokens = () => ({
  oldLogProbs: tf.tensor1d(OLD),
  referenceLogProbs: tf.tensor1d(NEW),
  advantages: tf.tensor1d(ADVANTAGES),
  weights: tf.fill<tf.Rank.R1>([9], 1 / 9),
  ...LENGTHS,
});

describe.each(['action', 'response'] as const)('the LLDS penalty by %s', (gate) => {
  it('is the decrease of tokens in preserved spans that became less likely as a whole', () => {
    const penalties = likelihoodPenalty(tf.tensor1d(NEW), tokens(), gate).dataSync();
    PENALTIES[gate].forEach((value, i) => expect(penalties[i]).toBeCloseTo(value, 6));
  });

  it('is added to the loss as a weighted mean', () => {
    const value = (llds: number): number => {
      const options = { clip: 0.2, beta: 0, llds, lldsGate: gate };
      return grpoLoss(tf.tensor1d(NEW), tokens(), options).dataSync()[0];
    };
    const mean = PENALTIES[gate].reduce((a, b) => a + b) / 9;
    expect(value(0.2) - value(0)).toBeCloseTo(0.2 * mean, 6);
  });

  it('has the gradient of finite differences', () => {
    const loss = (logProbs: tf.Tensor1D): tf.Scalar =>
      tf.sum(tf.mul(likelihoodPenalty(logProbs, tokens(), gate), tf.tensor1d(WEIGHTS)));
    const WEIGHTS = OLD.map((_, i) => 0.1 + i / 10);
    const gradient = tf
      .grad((x) => loss(x as tf.Tensor1D))(tf.tensor1d(NEW))
      .dataSync();
    const h = 1 / 64; // Small enough that no gate or token changes sides.
    const moved = (i: number, by: number): number =>
      loss(tf.tensor1d(NEW.map((x, j) => x + (j === i ? by : 0)))).dataSync()[0];
    NEW.forEach((_, i) => {
      expect(gradient[i]).toBeCloseTo((moved(i, h) - moved(i, -h)) / (2 * h), 4);
      expect(gradient[i]).toBeCloseTo(PENALTIES[gate][i] > 0 ? -WEIGHTS[i] : 0, 6);
    });
  });
});

it('the LLDS penalty ignores rounding errors', () => {
  const rounded = tf.tensor1d(OLD.map((x, i) => x - 1e-5 * (i % 3)));
  expect(Array.from(likelihoodPenalty(rounded, tokens(), 'action').dataSync())).toEqual(
    OLD.map(() => 0),
  );
});

/** The norms of some steps' gradients and the sum of their penalties. */
async function train(
  settings: object,
): Promise<{ names: string[]; norms: number[]; llds: number }> {
  const trainer = createGrpoTrainer({
    // Three updates per step, so that log-probs decrease within it.
    config: tinyTraining({ settings: { miniBatches: 3, warmupSteps: 0, ...settings } }),
    model,
    ...TASK,
  });
  const steps: Metrics[] = [];
  for (let step = 0; step < cases(1, 3); step++) steps.push((await trainer.next()).metrics);
  trainer.dispose();
  return {
    names: Object.keys(steps[0]),
    norms: steps.map(({ grad_norm }) => grad_norm),
    llds: steps.reduce((sum, metrics) => sum + metrics.llds, 0),
  };
}

it('the LLDS penalty is recorded and changes the update, but is off by default', async () => {
  const [plain, zero, penalized, byResponse] = [
    await train({}),
    await train({ llds: 0 }),
    await train({ llds: 5, groupSize: 8 }),
    await train({ llds: 5, groupSize: 8, lldsGate: 'response' }),
  ];
  expect([...plain.names, ...zero.names]).not.toContain('llds');
  expect(penalized.names).toContain('llds');
  expect(zero.norms).toEqual(plain.norms);
  expect(penalized.llds).toBeGreaterThan(0);
  expect(byResponse.llds).toBeGreaterThan(0);
  expect(byResponse.norms).not.toEqual(penalized.norms);
});

it('the LLDS penalty is rejected with one mini-batch, where it has no effect', () => {
  expect(() => tinyTraining({ settings: { miniBatches: 1, llds: 0.2 } })).toThrow(
    /llds[^]*grpo.miniBatches/,
  );
  expect(tinyTraining({ settings: { miniBatches: 1, llds: 0 } }).grpo!.llds).toBe(0);
});
