import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import type { Model } from '../../lib/policy/model-folder.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { Reward } from '../../lib/rewards/reward.js';
import { lossMask, tokenIds } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { withAdvantages } from '../../lib/training/advantages.js';
import {
  OnPolicyTrainer,
  policyRows,
  type Algorithm,
  type PolicyRow,
  type StepContext,
} from '../../lib/training/trainer.js';
import { groupsOf } from '../../lib/training/rollouts.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from './tiny.js';

let model: Model;
beforeAll(async () => {
  await useBackend('wasm');
  model = chattyModel();
});

/** An algorithm that updates nothing and remembers what it was asked. */
function observer(more: Partial<Algorithm<PolicyRow>> = {}) {
  const seen = {
    batches: [] as PolicyRow[][],
    contexts: [] as StepContext[],
    questions: [] as string[],
  };
  const algorithm: Algorithm<PolicyRow> = {
    name: 'observer',
    metrics: ['loss', 'unsaid'],
    assess: async (rewarded, { trained, groupSize, questions }) => {
      seen.questions = questions.map(({ id }) => id);
      const trajectories = withAdvantages(rewarded, groupSize);
      return { trajectories, rows: await policyRows(rewarded, trained), metrics: { extra: 7 } };
    },
    update: (rows, context) => {
      seen.batches.push([...rows]);
      seen.contexts.push(context);
      return Promise.resolve({ loss: seen.batches.length, unsaid: 0 });
    },
    ...more,
  };
  return { seen, algorithm };
}

const trainerOf = (
  algorithm: Algorithm<PolicyRow>,
  grpo: object = {},
  more: { seed?: number; rewards?: Reward[]; questions?: Question[] } = {},
): OnPolicyTrainer<PolicyRow> => {
  const { seed = 0, ...task } = more;
  const config = tinyTraining({
    seed,
    grpo: { questionsPerStep: 2, groupSize: 2, miniBatches: 3, learningRate: 0.8, ...grpo },
  });
  const retriever = createBm25Retriever(PASSAGES);
  return new OnPolicyTrainer(
    { config, model, questions: QUESTIONS, retriever, ...task },
    algorithm,
  );
};

/** What policies wrote in a step. */
const written = ({
  trajectories,
}: Awaited<ReturnType<OnPolicyTrainer<PolicyRow>['next']>>): string =>
  JSON.stringify(trajectories.map(({ segments }) => segments));

describe('OnPolicyTrainer', () => {
  it('deals all rows out to mini-batches, as evenly as can be and in an order of their own', async () => {
    const { seen, algorithm } = observer();
    const trainer = trainerOf(algorithm, { questionsPerStep: 4, groupSize: 4 });
    const { trajectories, metrics } = await trainer.next();
    expect(seen.batches.map((batch) => batch.length)).toEqual([6, 5, 5]);
    const texts = (rows: readonly { tokenIds: readonly number[] }[]): string[] =>
      rows.map((row) => row.tokenIds.join());
    const all = trajectories.map((t) => ({ tokenIds: tokenIds(t) }));
    expect(texts(seen.batches.flat()).sort()).toEqual(texts(all).sort());
    expect(texts(seen.batches.flat())).not.toEqual(texts(all));
    // Of the updates 1, 2 and 3.
    expect(metrics).toMatchObject({ loss: 2, unsaid: 0, extra: 7 });
    expect(trainer.step).toBe(1);
    trainer.dispose();
  });

  it('makes no empty mini-batch, and no update where the rollouts are not usable', async () => {
    const { seen, algorithm } = observer();
    const trainer = trainerOf(algorithm, { questionsPerStep: 1, miniBatches: 5 });
    await trainer.next();
    expect(seen.batches.map((batch) => batch.length)).toEqual([1, 1]);
    const told: object[] = [];
    const { metrics } = await trainer.next((metrics) => told.push(metrics) === 0);
    expect(seen.batches).toHaveLength(2);
    expect(metrics).toMatchObject({ loss: 0, unsaid: 0, learning_rate: 0.32 });
    expect(metrics).toMatchObject(told[0]);
    expect(told[0]).toHaveProperty('entropy');
    expect(told[0]).not.toHaveProperty('loss');
    expect(trainer.step).toBe(2);
    trainer.dispose();
  });

  it('warms the learning rate up, keeps it then, and halves it at every rollback', async () => {
    const { seen, algorithm } = observer();
    const trainer = trainerOf(algorithm, { miniBatches: 1, warmupSteps: 2, steps: 9 });
    expect(trainer.numSteps).toBe(9);
    const rates: number[] = [];
    for (const [step, rollbacks] of [
      [0, 0],
      [1, 0],
      [2, 0],
      [8, 0],
      [8, 1],
      [8, 2],
    ]) {
      Object.assign(trainer, { step, rollbacks });
      rates.push((await trainer.next()).metrics.learning_rate);
      expect(seen.contexts.at(-1)).toMatchObject({ step, learningRate: rates.at(-1) });
    }
    expect(rates).toEqual([0.4, 0.8, 0.8, 0.8, 0.4, 0.2]);
    trainer.dispose();
  });

  it('draws by the seed, the step, the rollback and the name of the algorithm', async () => {
    const first = async (
      { seed = 0, name = 'observer' } = {},
      at: { step?: number; rollbacks?: number } = {},
    ): Promise<string> => {
      const trainer = Object.assign(trainerOf(observer({ name }).algorithm, {}, { seed }), at);
      return written(await trainer.next().finally(() => trainer.dispose()));
    };
    const runs = await Promise.all([
      first(),
      first({ seed: 1 }),
      first({ name: 'other' }),
      first({}, { step: 1 }),
      first({}, { rollbacks: 1 }),
      first({}, { rollbacks: 2 }),
      first({}, { step: 1, rollbacks: 1 }),
    ]);
    expect(new Set(runs).size).toBe(runs.length);
    expect(await first()).toBe(runs[0]);
  });

  it('gives an algorithm with groups of its own size as many rollouts in all', async () => {
    const { seen, algorithm } = observer({ groupSize: 3 });
    const trainer = trainerOf(algorithm, { questionsPerStep: 3, groupSize: 5 });
    const { trajectories } = await trainer.next();
    expect(trajectories).toHaveLength(15);
    const groups = groupsOf(trajectories, 3).map(
      (group) => new Set(group.map((t) => t.questionId)),
    );
    expect(groups.map(([...ids]) => ids)).toEqual(seen.questions.map((id) => [id]));
    trainer.dispose();
    // 7 rollouts are two whole groups of 3.
    const few = trainerOf(algorithm, { questionsPerStep: 1, groupSize: 7 });
    expect((await few.next()).trajectories).toHaveLength(6);
    few.dispose();
  });

  it('samples from the policy as it is, or from the initial model where that is asked for', async () => {
    for (const samplesInitial of [false, true]) {
      const { seen, algorithm } = observer({ samplesInitial });
      const trainer = trainerOf(algorithm, { miniBatches: 1 });
      // Far from where it began.
      await trainer.trained.update(
        [{ tokenIds: [5, 9, 31], lossMask: [0, 1, 1] }],
        { learningRate: 1, maxGradNorm: 1 },
        (logProbs) => tf.sum(logProbs),
      );
      await trainer.next();
      const rows = seen.batches.flat();
      const distance = Math.max(
        ...rows.flatMap(({ oldLogProbs, referenceLogProbs }) =>
          oldLogProbs.map((old, i) => Math.abs(old - referenceLogProbs[i])),
        ),
      );
      if (samplesInitial) expect(distance).toBeLessThan(1e-4);
      else expect(distance).toBeGreaterThan(0.1);
      const logProbs = await trainer.logProbs(rows);
      const ofPolicy = logProbs.flatMap((row, r) =>
        row.map((x, i) => Math.abs(x - rows[r].oldLogProbs[i])),
      );
      expect(Math.max(...ofPolicy) < 1e-4).toBe(!samplesInitial);
      trainer.dispose();
    }
  });

  it('says how long rolling out and updating took', async () => {
    const slow = observer({
      update: () => {
        const end = performance.now() + 30;
        while (performance.now() < end);
        return Promise.resolve({});
      },
    });
    const trainer = trainerOf(slow.algorithm, { miniBatches: 1 });
    const start = performance.now();
    const { rollout_seconds: rollout, update_seconds: update } = (await trainer.next()).metrics;
    expect(rollout).toBeGreaterThan(0);
    expect(update).toBeGreaterThanOrEqual(0.03);
    expect(rollout + update).toBeLessThanOrEqual((performance.now() - start) / 1000);
    trainer.dispose();
  });
});

it('policyRows gives the tokens of each trajectory, those of the policy masked in, with the log-probabilities of both', async () => {
  const { seen, algorithm } = observer();
  const trainer = trainerOf(algorithm, { miniBatches: 1, questionsPerStep: 1 });
  const { trajectories } = await trainer.next();
  const rows = await policyRows(trajectories, trainer.trained);
  expect(rows).toHaveLength(2);
  for (const [i, row] of rows.entries()) {
    const trajectory = trajectories[i];
    expect(row.tokenIds).toEqual(tokenIds(trajectory));
    expect(row.lossMask).toEqual(lossMask(trajectory));
    expect(row.oldLogProbs).toEqual(
      trajectory.segments.flatMap((segment) => segment.logProbs ?? []),
    );
    expect(row.referenceLogProbs).toHaveLength(row.oldLogProbs.length);
    // The adapter is still nothing.
    row.oldLogProbs.forEach((old, k) => expect(row.referenceLogProbs[k]).toBeCloseTo(old, 4));
  }
  expect(seen.batches.flat()).toHaveLength(2);
  trainer.dispose();
});
