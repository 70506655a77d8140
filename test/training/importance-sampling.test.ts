/**
 * Importance sampling compared with TRL's own code (`scripts/fixtures/trl_variants.py`),
 * and in whole training steps.
 */
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import type { Policy } from '../../lib/policy/policy.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { createGrpoTrainer, grpoLoss } from '../../lib/training/grpo.js';
import {
  importanceSampling,
  importanceWeights,
  samplingMetrics,
  type IMPORTANCE_SAMPLING_MODES,
} from '../../lib/training/importance-sampling.js';
import type { Metrics } from '../../lib/training/metrics.js';
import type { TrainingTask } from '../../lib/training/trainer.js';
import { createTrainer } from '../../lib/training/trainers.js';
import { readFixture } from '../fixtures/read.js';
import { expectClose } from './close.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';
import { grpo, trainedValues } from './trl-fixtures.js';

interface Correction {
  mode: (typeof IMPORTANCE_SAMPLING_MODES)[number];
  clip_max: number;
  clip_min: number | null;
  weights: number[][];
  loss: number;
  gradient: number[][];
  metrics: Record<string, number>;
}
interface Fixture {
  old_log_probs: number[][];
  sampler_log_probs: (number | null)[][];
  corrections: Correction[];
}
const trl = readFixture<Fixture>('trl.json');
const policies = {
  learner: trainedValues(trl.old_log_probs),
  sampler: trainedValues(trl.sampler_log_probs),
};
const optionsOf = ({ mode, clip_max, clip_min }: Correction) =>
  importanceSampling({
    importanceSamplingMode: mode,
    importanceSamplingClipMax: clip_max,
    importanceSamplingClipMin: clip_min ?? undefined,
  });

await useBackend('wasm');
const model = chattyModel();

describe('importance weights', () => {
  it.each(trl.corrections)(
    "equal TRL's within 1e-6, with loss, gradient and metrics: $mode, $clip_min to $clip_max",
    (one) => {
      const options = optionsOf(one);
      const weights = importanceWeights(policies, options);
      expectClose(weights.flat(), trainedValues(one.weights).flat());
      const metrics = samplingMetrics(policies, options);
      for (const [name, value] of Object.entries(one.metrics))
        expect(metrics[name], name).toBeCloseTo(value, 6);

      const column = (rows: number[][]): tf.Tensor1D => tf.tensor1d(rows.flat());
      const learner = trainedValues(grpo.log_probs);
      const numTokens = learner.flat().length;
      const tokens = {
        oldLogProbs: column(policies.learner),
        referenceLogProbs: column(trainedValues(grpo.inputs.reference_log_probs)),
        advantages: column(learner.map((row, b) => row.map(() => grpo.advantages_unbiased[b]))),
        weights: column(learner.map((row) => row.map(() => 1 / numTokens))),
        importanceWeights: column(weights),
      };
      const { value, grad } = tf.valueAndGrad((x) =>
        grpoLoss(x as tf.Tensor1D, tokens, { clip: 0.2, beta: 0.01 }),
      )(column(learner));
      expectClose([value.dataSync()[0]], [one.loss]);
      expectClose([...grad.dataSync()], trainedValues(one.gradient).flat());
    },
  );

  it('cover limits exceeded on both sides, a sampler equal to the learner and a missing log-prob', () => {
    const all = trl.corrections.flatMap(({ weights }) => weights.flat());
    for (const limit of [0, 0.8, 0.9, 1.1, 1.2]) expect(all).toContain(limit);
    expect(policies.sampler[1]).toEqual(policies.learner[1]);
    expect(policies.sampler.flat().filter(Number.isNaN)).toHaveLength(1);
  });

  // Ratios 2, 1/4 and 1; of the sequence: 1/2.
  const learner = [[Math.log(2), Math.log(0.25), 0]];
  const byHand = { learner, sampler: [[0, 0, 0]] };
  const limits = { importanceSamplingClipMax: 1.5, importanceSamplingClipMin: 0.4 };
  it('are 1 with mode none', () => {
    const options = importanceSampling({ importanceSamplingMode: 'none', ...limits });
    expect([...importanceWeights(byHand, options)[0]]).toEqual([1, 1, 1]);
  });

  it('give the hand-computed effective sample size and ratio tail', () => {
    const options = importanceSampling({ importanceSamplingMode: 'token_truncate', ...limits });
    const metrics = samplingMetrics(byHand, options);
    // (2 + 1/4 + 1)^2 / (3 (4 + 1/16 + 1))
    expect(metrics['sampling/effective_sample_size']).toBeCloseTo(3.25 ** 2 / (3 * 5.0625), 12);
    expect(metrics['sampling/ratio_max']).toBeCloseTo(2, 12);
    expect(metrics['sampling/ratio_p99']).toBeCloseTo(1 + 0.98, 12);
    expect(metrics['sampling/ratio_out_of_limits']).toBeCloseTo(2 / 3, 12);
  });

  it('stay finite if a ratio would overflow', () => {
    const far = { learner: [[0], [0]], sampler: [[-2000], [-1]] };
    const metrics = samplingMetrics(far, importanceSampling({}));
    expect(metrics['sampling/effective_sample_size']).toBeCloseTo(0.5, 12);
    expect(importanceWeights(far, importanceSampling({}))).toEqual([[0], [Math.E]]);
  });

  it('are exactly 1 in every mode if sampler and learner are the same', () => {
    const same = { learner: policies.learner, sampler: policies.learner };
    for (const one of trl.corrections) {
      expect(new Set(importanceWeights(same, optionsOf(one)).flat())).toEqual(new Set([1]));
      expect(samplingMetrics(same, optionsOf(one))['sampling/effective_sample_size']).toBe(1);
    }
  });

  it('reject limits in the wrong order', () => {
    const settings = { groupSize: 4, importanceSamplingClipMin: 3 };
    expect(() => tinyTraining({ settings })).toThrow(
      /but got 3\.[^]*grpo.importanceSamplingClipMin/,
    );
  });

  it('name a row with too few log-probs from the sampler', () => {
    const short = { learner: [[0], [0, 0]], sampler: [[0], [0]] };
    expect(() => importanceWeights(short, importanceSampling({}))).toThrow(/2 trained.*row 1.*1/);
  });
});

describe('training with another sampler', () => {
  it('is rejected by trainers that do their own sampling', async () => {
    const config = tinyTraining({ trainer: 'ppo' });
    const task = { config, model, ...TASK, sampler: stale };
    await expect(createTrainer(task)).rejects.toThrow(/sampler.*ppo/);
  });

  const train = async (
    grpo: object,
    sampler: TrainingTask['sampler'],
    numSteps = 1,
  ): Promise<{ metrics: Metrics[]; weights: Float32Array[] }> => {
    const settings = { groupSize: 4, miniBatches: 1, learningRate: 0.02, ...grpo };
    const config = tinyTraining({ settings });
    const trainer = createGrpoTrainer({ config, model, ...TASK, sampler });
    const metrics = [];
    for (let step = 0; step < numSteps; step++) metrics.push((await trainer.next()).metrics);
    const weights = Object.values(trainer.session.trained.weights).map(
      (tensor) => tensor.dataSync().slice() as Float32Array,
    );
    trainer.dispose();
    return { metrics, weights };
  };
  /** Always samples with the initial model. */
  const stale = (): Policy =>
    new LocalPolicy('stale', model.weights, model.config, model.tokenizer);

  it('measures and changes nothing if this library samples', async () => {
    const masked = { importanceSamplingMode: 'token_mask', importanceSamplingClipMax: 1.0001 };
    const [plain, set] = [await train({}, undefined), await train(masked, undefined)];
    expect(set.weights).toEqual(plain.weights);
    const names = Object.keys(plain.metrics[0]);
    expect(names.filter((name) => name.startsWith('sampling/'))).toEqual([]);
  });

  it('finds no difference within 1e-4 in the first step, when the weights are the same', async () => {
    const [own, other] = [await train({}, undefined), await train({}, stale)];
    const [metrics] = other.metrics;
    expect(metrics['sampling/sampling_logp_difference/max']).toBeLessThan(1e-4);
    expect(metrics['sampling/effective_sample_size']).toBeGreaterThan(0.9999);
    expect(metrics['sampling/ratio_out_of_limits']).toBe(0);
    for (const name of ['loss', 'grad_norm', 'reward'])
      expect(metrics[name], name).toBeCloseTo(own.metrics[0][name], 3);
  });

  it('detects a stale sampler and masks ratios beyond the limit', async () => {
    const { metrics } = await train({}, stale, 3);
    const last = metrics.at(-1)!;
    expect(last['sampling/sampling_logp_difference/max']).toBeGreaterThan(1e-2);
    expect(last['sampling/effective_sample_size']).toBeLessThan(0.999);
    expect(last['sampling/ratio_max']).toBeGreaterThan(1);
    // Old log-probs are the learner's, so no ratio of the update is clipped.
    expect(last.clip_ratio).toBe(0);
    const limit = { importanceSamplingMode: 'sequence_mask', importanceSamplingClipMax: 1e-9 };
    const masked = await train({ ...limit, beta: 0 }, stale);
    expect(masked.metrics[0]).toMatchObject({ 'sampling/ratio_out_of_limits': 1, grad_norm: 0 });
  });
});
