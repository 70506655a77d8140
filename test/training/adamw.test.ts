import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW, scheduledRate } from '../../lib/training/adamw.js';
import { clipByGlobalNorm } from '../../lib/training/gradients.js';
import { readFixture } from '../fixtures/read.js';

interface Fixture {
  adamw: {
    settings: { lr: number; betas: [number, number]; eps: number; weight_decay: number };
    initial: number[][];
    gradients: number[][][];
    cases: {
      max_norm: number | null;
      steps: { gradient_norm: number; used_gradient: number[][]; parameter: number[][] }[];
    }[];
  };
}
const { adamw: fixture } = readFixture<Fixture>('grpo.json');
const { lr, betas, eps, weight_decay } = fixture.settings;
const options = { beta1: betas[0], beta2: betas[1], epsilon: eps, weightDecay: weight_decay };

await useBackend('wasm');

function expectClose(actual: tf.Tensor, expected: number[][], digits: number): void {
  expected.flat().forEach((value, i) => expect(actual.dataSync()[i]).toBeCloseTo(value, digits));
}

describe('AdamW compared with PyTorch, weights within 1e-6 over five steps', () => {
  it.each(fixture.cases)(
    'with the gradient norm clipped at $max_norm',
    async ({ max_norm, steps }) => {
      const optimizer = new AdamW(options);
      let weights: Record<string, tf.Tensor> = { w: tf.tensor2d(fixture.initial) };
      for (const [i, step] of steps.entries()) {
        let gradients: Record<string, tf.Tensor> = { w: tf.tensor2d(fixture.gradients[i]) };
        const clipped = await clipByGlobalNorm(gradients, max_norm ?? Infinity);
        gradients = clipped.gradients;
        expect(clipped.norm).toBeCloseTo(step.gradient_norm, 5);
        expectClose(gradients.w, step.used_gradient, 6);
        weights = optimizer.apply(weights, gradients, lr);
        expectClose(weights.w, step.parameter, 6);
      }
    },
  );
});

describe('AdamW', () => {
  const gradientOf = (i: number): Record<string, tf.Tensor> => ({
    w: tf.tensor2d(fixture.gradients[i]),
    gain: tf.tensor1d(fixture.gradients[i][0]),
  });
  const start = (): Record<string, tf.Tensor> => ({
    w: tf.tensor2d(fixture.initial),
    gain: tf.ones([3]),
  });

  it('decays matrices, but not gains', () => {
    const zeros = { w: tf.zeros([2, 3]), gain: tf.zeros([3]) };
    const after = new AdamW({ ...options, weightDecay: 0.5 }).apply(start(), zeros, 0.1);
    expectClose(
      after.w,
      fixture.initial.map((row) => row.map((x) => x * 0.95)),
      6,
    );
    expect([...after.gain.dataSync()]).toEqual([1, 1, 1]);
  });

  it('resumes from its saved state with identical weights, and leaks no tensors', async () => {
    const before = tf.memory().numTensors;
    const [whole, first, second] = [new AdamW(options), new AdamW(options), new AdamW(options)];
    let [a, b] = [start(), start()];
    for (const i of [0, 1, 2, 3]) a = whole.apply(a, gradientOf(i), lr);
    expect(tf.memory().numTensors).toBe(before + 2 + 2 + 4);
    for (const i of [0, 1]) b = first.apply(b, gradientOf(i), lr);
    second.restore(await first.toArrays());
    for (const i of [2, 3]) b = second.apply(b, gradientOf(i), lr);
    for (const key of ['w', 'gain']) expect(b[key].dataSync()).toEqual(a[key].dataSync());
    expect(await second.toArrays()).toEqual(await whole.toArrays());
    for (const optimizer of [whole, first, second]) optimizer.dispose();
    tf.dispose([a, b]);
    expect(tf.memory().numTensors).toBe(before);
  });
});

describe('scheduledRate', () => {
  const shape = { peak: 1, final: 0.2, warmupSteps: 4, totalSteps: 12 };

  it('rises linearly to the peak and falls linearly to the end', () => {
    const rates = Array.from({ length: 13 }, (_, step) => scheduledRate(step, shape));
    [0.25, 0.5, 0.75, 1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2].forEach((rate, i) =>
      expect(rates[i]).toBeCloseTo(rate, 12),
    );
  });

  it.each([
    [9, { final: 1 }, 1],
    [99, {}, 0.2],
    [0, { warmupSteps: 0 }, 1],
  ])('is at step %d with %j %d', (step, change, rate) => {
    expect(scheduledRate(step, { ...shape, ...change })).toBeCloseTo(rate, 12);
  });
});
