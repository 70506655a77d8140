import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { presetRewards } from '../../lib/rewards/presets.js';
import type { Reward } from '../../lib/rewards/reward.js';
import type { With } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { isZeroVariance, tokenAdvantages } from '../../lib/training/advantages.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import { isTruncated } from '../../lib/training/metrics.js';
import { isTimedOut, splitIntoGroups } from '../../lib/training/rollout-groups.js';
import type { Trainer, TrainingTask } from '../../lib/training/trainer.js';
import { chattyModel, LENGTH_REWARD, SINGLE, TASK, tinyTraining } from './tiny.js';

const GROUP_SIZE = 4;
await useBackend('wasm');
const model = chattyModel();

const trainerOf = (grpo: object = {}, more: Partial<TrainingTask> = {}): Trainer =>
  createGrpoTrainer({
    config: tinyTraining({ settings: { groupSize: GROUP_SIZE, ...grpo } }),
    model,
    ...TASK,
    ...more,
  });

type Step = Awaited<ReturnType<Trainer['next']>>;
async function firstStep(...args: Parameters<typeof trainerOf>): Promise<Step> {
  const trainer = trainerOf(...args);
  const step = await trainer.next();
  trainer.dispose();
  return step;
}

/**
 * The loss for ratios of 1 and a KL of 0: minus the mean advantage of the trained tokens.
 */
function onPolicyLoss(
  trajectories: readonly With<'rewards' | 'advantage'>[],
  groupSize = GROUP_SIZE,
): number {
  const useful = splitIntoGroups(trajectories, groupSize).filter((group) => !isZeroVariance(group));
  const advantages = useful.flat().flatMap(tokenAdvantages);
  return -advantages.reduce((a, b) => a + b, 0) / advantages.length;
}

describe('GRPO', () => {
  it.each([1, 2])(
    'starts at the reference at temperature %d: the loss is minus the mean advantage, KL 0 within 1e-6',
    async (temperature) => {
      const { metrics, trajectories } = await firstStep({ miniBatches: 1, temperature });
      expect(metrics.kl).toBeLessThan(1e-6);
      expect(metrics.clip_ratio).toBe(0);
      expect(metrics.grad_norm).toBeGreaterThan(0);
      expect(Math.abs(metrics.loss)).toBeGreaterThan(1e-4);
      expect(metrics.loss).toBeCloseTo(onPolicyLoss(trajectories), 5);
    },
  );

  it('averages over all tokens of a mini-batch in any number of passes, within 1e-5', async () => {
    const [inOne, inMany] = [
      await firstStep({ miniBatches: 1, maxTokensPerPass: 1e6 }),
      await firstStep({ miniBatches: 1, maxTokensPerPass: 100 }),
    ];
    for (const name of ['reward', 'loss', 'grad_norm', 'entropy'])
      expect(inMany.metrics[name], name).toBeCloseTo(inOne.metrics[name], 5);
  });

  it('reports KL and clip ratio over all tokens of a mini-batch in any number of passes, within 1e-5', async () => {
    const second = async (maxTokensPerPass: number): Promise<Step['metrics']> => {
      const trainer = trainerOf({ miniBatches: 2, maxTokensPerPass, learningRate: 0.02 });
      await trainer.next();
      const { metrics } = await trainer.next();
      trainer.dispose();
      return metrics;
    };
    const [inOne, inMany] = [await second(1e6), await second(100)];
    for (const name of ['kl', 'clip_ratio']) {
      expect(inOne[name], name).toBeGreaterThan(1e-3);
      expect(inMany[name], name).toBeCloseTo(inOne[name], 5);
    }
  });

  it('trains on turn rewards if the totals are all equal', async () => {
    const alike: Reward = {
      name: 'queries per turn',
      score: ({ searchTurns }) => ({
        value: 0,
        turns: searchTurns.map((queries) => queries.join().length),
      }),
    };
    const rare = { miniBatches: 1, questionsPerStep: 10, groupSize: 8 };
    const { metrics, trajectories } = await firstStep(rare, { rewards: [alike] });
    expect(metrics.reward_std).toBe(0);
    expect(trajectories.some(({ turnAdvantages }) => turnAdvantages?.some((a) => a !== 0))).toBe(
      true,
    );
    expect(metrics.grad_norm).toBeGreaterThan(0);
    expect(metrics.loss).toBeCloseTo(onPolicyLoss(trajectories, 8), 5);
  });

  it('moves the policy, but not the model, and leaks no tensors', async () => {
    const values = Object.entries(model.weights).map(
      ([key, t]) => [key, t.dataSync().slice()] as const,
    );
    const before = tf.memory().numTensors;
    const trainer = trainerOf();
    const sequence = { tokenIds: [5, 9, 31, 7], lossMask: [0, 1, 1, 1] };
    const [initial] = await trainer.session.trained.logProbs([sequence]);
    const numTensors: number[] = [];
    let last = (await trainer.next()).metrics;
    for (let step = 1; step < 4; step++) {
      last = (await trainer.next()).metrics;
      await trainer.session.trained.logProbs([sequence]);
      numTensors.push(tf.memory().numTensors);
    }
    expect(last.kl).toBeGreaterThan(0);
    expect((await trainer.session.trained.logProbs([sequence]))[0]).not.toEqual(initial);
    expect(numTensors[2]).toBe(numTensors[1]);
    trainer.dispose();
    expect(tf.memory().numTensors).toBe(before);
    for (const [key, old] of values) expect(model.weights[key].dataSync(), key).toEqual(old);
  });

  it('skips groups of equal rewards: without any reward, the policy does not change', async () => {
    const config = tinyTraining({ rewards: { preset: 'search-r1' } });
    const never = { ...SINGLE, goldenAnswers: ['never written'] };
    const trainer = trainerOf({}, { config, questions: [never] });
    const { metrics } = await trainer.next();
    expect(metrics).toMatchObject({
      frac_reward_zero_std: 1,
      reward_std: 0,
      loss: 0,
      grad_norm: 0,
    });
    for (const [key, tensor] of Object.entries(trainer.session.trained.weights))
      if (key.endsWith('.B')) expect(Math.max(...tensor.dataSync().map(Math.abs)), key).toBe(0);
    trainer.dispose();
  });

  it.each(['grpo', 'dr_grpo', 'dapo', undefined] as const)(
    "starts with TRL's loss %s (default: dapo), per token and per sequence, also in four mini-batches with fixed weights",
    async (lossType) => {
      for (const [importanceSamplingLevel, miniBatches] of [
        ['token', 1],
        ['sequence', 1],
        ['token', 4],
      ]) {
        const fixed = miniBatches === 1 ? {} : { learningRate: 1e-12 };
        const settings = { miniBatches, lossType, importanceSamplingLevel, ...fixed };
        const { metrics, trajectories } = await firstStep(settings);
        const rows = splitIntoGroups(trajectories, GROUP_SIZE)
          .filter((group) => !isZeroVariance(group))
          .flat()
          .map(tokenAdvantages);
        const add = (values: number[]): number => values.reduce((a, b) => a + b, 0);
        const numTokens = rows.flat().length;
        // Two search turns and the answer, ten tokens each.
        const expected = {
          grpo: add(rows.map((row) => add(row) / row.length)) / rows.length,
          dapo: add(rows.flat()) / numTokens,
          dr_grpo: add(rows.flat()) / (rows.length * 30),
        };
        // Rollouts of equal weight add up to the mean advantage of groups: 0.
        if (lossType !== 'grpo') expect(Math.abs(metrics.loss)).toBeGreaterThan(1e-4);
        expect(metrics.loss).toBeCloseTo(-expected[lossType ?? 'dapo'], 5);
        expect(metrics.grad_norm).toBeGreaterThan(0);
      }
    },
  );

  it('leaves truncated rollouts out of training and comparison with maskTruncatedCompletions', async () => {
    const settings = { miniBatches: 1, maskTruncatedCompletions: true, questionsPerStep: 24 };
    const rollout = { maxNewTokens: 30 };
    const config = tinyTraining({ settings: { ...settings, groupSize: GROUP_SIZE }, rollout });
    const { metrics, trajectories } = await firstStep({}, { config, rewards: [LENGTH_REWARD] });
    const isKept = (t: (typeof trajectories)[number]): boolean => !isTruncated(t, 30);
    const kept = trajectories.filter(isKept);
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.length).toBeLessThan(trajectories.length);
    for (const trajectory of trajectories)
      if (!isKept(trajectory)) expect(trajectory.advantage).toBe(0);
    const useful = splitIntoGroups(trajectories, GROUP_SIZE)
      .filter((group) => !isZeroVariance(group))
      .map((group) => group.filter(isKept));
    for (const group of useful)
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 8);
    const advantages = useful.flat().flatMap(tokenAdvantages);
    expect(Math.abs(metrics.loss)).toBeGreaterThan(1e-4);
    expect(metrics.loss).toBeCloseTo(-advantages.reduce((a, b) => a + b, 0) / advantages.length, 5);
  });

  it('leaves rollouts with timed-out searches out of group statistics, loss and metrics', async () => {
    const bm25 = TASK.retriever;
    let hanging: AbortSignal | undefined;
    // In the second turn, so that the first one is part of the rollouts left out.
    let calls = 0;
    const retriever: Retriever = {
      name: 'hangs',
      retrieve: (queries, options) => {
        if (++calls !== 2) return bm25.retrieve(queries, options);
        hanging = options.signal;
        return new Promise(() => {});
      },
    };
    const settings = { miniBatches: 1, questionsPerStep: 10, groupSize: 8 };
    // Long enough for the first turn on a busy machine; the second waits for half of it.
    const config = tinyTraining({ settings, retrievalDeadlineMs: 1000 });
    const rewards = [LENGTH_REWARD];
    const { metrics, trajectories } = await firstStep({}, { config, retriever, rewards });
    expect(hanging!.reason).toMatchObject({ name: 'TimeoutError' });
    const kept = trajectories.filter((t) => !isTimedOut(t));
    const numLate = trajectories.length - kept.length;
    expect(numLate).toBeGreaterThan(0);
    expect(metrics.retrieval_timeouts).toBeGreaterThanOrEqual(numLate);
    expect(metrics.frac_rollouts_timed_out).toBeCloseTo(numLate / trajectories.length);
    const add = (values: number[]): number => values.reduce((a, b) => a + b, 0);
    expect(metrics.reward).toBeCloseTo(add(kept.map((t) => t.rewards.total)) / kept.length, 6);
    for (const t of trajectories) if (isTimedOut(t)) expect(t.advantage).toBe(0);
    const groups = splitIntoGroups(trajectories, 8);
    expect(groups.some((group) => group.some(isTimedOut) && !isZeroVariance(group))).toBe(true);
    const useful = groups
      .filter((group) => !isZeroVariance(group))
      .map((group) => group.filter((t) => !isTimedOut(t)));
    for (const group of useful) expect(add(group.map((t) => t.advantage))).toBeCloseTo(0, 8);
    const advantages = useful.flat().flatMap(tokenAdvantages);
    expect(Math.abs(metrics.loss)).toBeGreaterThan(1e-4);
    expect(metrics.loss).toBeCloseTo(-add(advantages) / advantages.length, 5);
  });

  it.each(['rollout', 'group'])(
    'skips groups without a correct rollout with outcomeGate %s',
    async (outcomeGate) => {
      const never = { ...SINGLE, goldenAnswers: ['never written'] };
      const [open, gated] = [
        await firstStep({}, { questions: [never] }),
        await firstStep({ outcomeGate }, { questions: [never] }),
      ];
      expect(open.metrics.phantom_advantages).toBe(1);
      expect(open.metrics.grad_norm).toBeGreaterThan(0);
      expect(gated.metrics).toMatchObject({
        phantom_advantages: 0,
        frac_reward_zero_std: 1,
        grad_norm: 0,
        // Recorded without the gate.
        reward: open.metrics.reward,
      });
    },
  );

  it('samples the passages per query of each step by the seed', async () => {
    const bm25 = TASK.retriever;
    const drawTopKs = async (settings: object): Promise<number[]> => {
      const asked: number[] = [];
      const retriever: Retriever = {
        ...bm25,
        retrieve: (queries, options) => {
          asked.push(options.topK);
          return bm25.retrieve(queries, options);
        },
      };
      const few = { questionsPerStep: 1, groupSize: 2 };
      const trainer = trainerOf({ ...few, ...settings }, { retriever });
      for (let step = 0; step < 5; step++) await trainer.next();
      trainer.dispose();
      return asked;
    };
    const drawn = await drawTopKs({ topKs: [1, 5] });
    expect(new Set(drawn)).toEqual(new Set([1, 5]));
    expect(await drawTopKs({ topKs: [1, 5] })).toEqual(drawn);
    expect(new Set(await drawTopKs({})).size).toBe(1);
  });

  it('rejects an outcome gate without an outcome reward', () => {
    const rewards: Reward[] = [{ name: 'length', score: () => 1 }];
    expect(() => trainerOf({ outcomeGate: 'group' }, { rewards })).toThrow(/"outcome".*length/);
    expect(() =>
      trainerOf({ scaleRewards: 'none', multiObjectiveAggregation: 'normalize_then_sum' }),
    ).toThrow(/grpo.scaleRewards/);
  });

  it('rejects an outcome gate if the outcome reward weighs nothing', () => {
    const rewards: Reward[] = [{ name: 'outcome', weight: 0, score: () => 1 }];
    expect(() => trainerOf({ outcomeGate: 'group' }, { rewards })).toThrow(/"outcome"/);
  });

  it('only reports phantom advantages and update metrics that apply', async () => {
    const rewards: Reward[] = [{ name: 'length', score: () => 1 }];
    const other = await firstStep({}, { rewards });
    expect(other.metrics).not.toHaveProperty('phantom_advantages');
    const { metrics } = await firstStep({});
    expect(metrics.phantom_advantages).toBeGreaterThanOrEqual(0);
    expect(Object.keys(metrics)).toEqual(expect.arrayContaining(['loss', 'kl', 'grad_norm']));
  });

  it('rejects rewards with the same name', () => {
    const rewards = [...presetRewards('paper'), ...presetRewards('paper')];
    expect(() => trainerOf({}, { rewards })).toThrow(/outcome/);
  });
});
