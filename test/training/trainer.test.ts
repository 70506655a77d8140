import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { lossMask, tokenIds } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { withAdvantages } from '../../lib/training/advantages.js';
import { Ranks } from '../../lib/training/ranks.js';
import {
  assignAdvantages,
  buildTrainer,
  TrainingSession,
  type IsUsable,
  type PolicyRow,
  type StepResult,
} from '../../lib/training/trainer.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';

await useBackend('wasm');
const model = chattyModel();

const createSession = (
  settings: object = {},
  { seed = 0, name = 'observer' } = {},
): TrainingSession => {
  const config = tinyTraining({
    seed,
    settings: { questionsPerStep: 2, groupSize: 2, miniBatches: 3, learningRate: 0.8, ...settings },
  });
  return new TrainingSession({ config, model, ...TASK }, name);
};

/** A step without an update that keeps its mini-batches. */
async function observe(
  session: TrainingSession,
  { isInitial = false, isUsable }: { isInitial?: boolean; isUsable?: IsUsable } = {},
): Promise<StepResult & { batches: PolicyRow[][]; learningRate: number }> {
  const batches: PolicyRow[][] = [];
  const trainer = buildTrainer<PolicyRow>(session, {
    isOnPolicy: !isInitial,
    sampling: () => ({ policy: isInitial ? session.trained.useInitialPolicy() : undefined }),
    prepare: async ({ trajectories }) => ({
      trajectories: withAdvantages(trajectories, session.settings.groupSize),
      rows: await session.policyRows(trajectories),
      metrics: { extra: 7 },
    }),
    update: (rows) => {
      batches.push([...rows]);
      return Promise.resolve({ loss: batches.length, constant: 0 });
    },
    updateMetrics: ['loss', 'constant'],
  });
  const result = await trainer.next(isUsable);
  return { ...result, batches, learningRate: result.metrics.learning_rate };
}

describe('TrainingSession', () => {
  it('distributes shuffled rows evenly over the mini-batches', async () => {
    const session = createSession({ questionsPerStep: 4, groupSize: 4 });
    const { trajectories, metrics, batches } = await observe(session);
    expect(batches.map((batch) => batch.length)).toEqual([6, 5, 5]);
    const texts = (rows: readonly { tokenIds: readonly number[] }[]): string[] =>
      rows.map((row) => row.tokenIds.join());
    const all = trajectories.map((t) => ({ tokenIds: tokenIds(t) }));
    expect(texts(batches.flat()).sort()).toEqual(texts(all).sort());
    expect(texts(batches.flat())).not.toEqual(texts(all));
    // The mean of the updates 1, 2 and 3.
    expect(metrics).toMatchObject({ loss: 2, constant: 0, extra: 7 });
    expect(session.step).toBe(1);
    session.dispose();
  });

  it('measures the seconds of sampling and of the rest', async () => {
    const session = createSession();
    const start = performance.now();
    const { metrics } = await observe(session);
    const total = (performance.now() - start) / 1000;
    expect(metrics.rollout_seconds).toBeGreaterThan(0);
    expect(metrics.update_seconds).toBeGreaterThan(0);
    expect(metrics.rollout_seconds + metrics.update_seconds).toBeLessThanOrEqual(total);
    expect(metrics.rollout_seconds + metrics.update_seconds).toBeGreaterThan(total / 4);
    session.dispose();
  });

  it('records the questions of a step unless their answers came from another search', async () => {
    const session = createSession();
    const step = session.begin();
    expect((await session.sample(step)).questions).toEqual(
      step.questions.flatMap((question) => [question, question]),
    );
    const search = () => Promise.resolve([]);
    expect((await session.sample(step, { search })).questions).toBeUndefined();
    session.dispose();
  });

  it('has the trained policy, and gives other ranks its step', async () => {
    const session = createSession();
    expect(session.policy).toBe(session.trained.useCurrentPolicy());
    const sent: unknown[] = [];
    const channel = { send: (value: unknown) => sent.push(value), receive: () => sent.pop() };
    Object.assign(session, { ranks: new Ranks(0, 1, [channel as never]), step: 3, rollbacks: 1 });
    await session.synchronise();
    expect(sent[0]).toEqual({ step: 3, rollbacks: 1 });
    Object.assign(session, { ranks: new Ranks(1, 1, [channel as never]), step: 0, rollbacks: 0 });
    await session.synchronise();
    expect([session.step, session.rollbacks]).toEqual([3, 1]);
    session.dispose();
  });

  it('makes no empty mini-batch, and no update if the rollouts are unusable', async () => {
    const session = createSession({ questionsPerStep: 1, miniBatches: 5 });
    const { batches } = await observe(session);
    expect(batches.map((batch) => batch.length)).toEqual([1, 1]);
    const judged: object[] = [];
    const isUsable: IsUsable = (metrics) => judged.push(metrics) === 0;
    const skipped = await observe(session, { isUsable });
    expect(skipped.batches).toEqual([]);
    expect(skipped.metrics).toMatchObject({ loss: 0, constant: 0, learning_rate: 0.32 });
    expect(skipped.metrics).toMatchObject(judged[0]);
    expect(judged[0]).toHaveProperty('entropy');
    expect(judged[0]).not.toHaveProperty('loss');
    expect(session.step).toBe(2);
    session.dispose();
  });

  it('warms up the learning rate, then keeps it, and halves it at every rollback', async () => {
    const session = createSession({ miniBatches: 1, warmupSteps: 2, steps: 9 });
    expect(session.numSteps).toBe(9);
    const rates: number[] = [];
    for (const [step, rollbacks] of [
      [0, 0],
      [1, 0],
      [2, 0],
      [8, 0],
      [8, 1],
      [8, 2],
    ]) {
      Object.assign(session, { step, rollbacks });
      rates.push(session.begin().learningRate);
    }
    expect(rates).toEqual([0.4, 0.8, 0.8, 0.8, 0.4, 0.2]);
    Object.assign(session, { step: 9, rollbacks: 0 });
    expect(session.begin({ isDecaying: true }).learningRate).toBeCloseTo(0, 6);
    session.dispose();
  });

  it('samples by seed, step, rollback and stream name', async () => {
    const first = async (
      options: { seed?: number; name?: string } = {},
      at: { step?: number; rollbacks?: number } = {},
    ): Promise<string> => {
      const session = Object.assign(createSession({}, options), at);
      const { trajectories } = await observe(session).finally(() => session.dispose());
      return JSON.stringify(trajectories.map(({ segments }) => segments));
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

  it.each([false, true])('samples the current policy or the initial one: %s', async (isInitial) => {
    const session = createSession({ miniBatches: 1 });
    // Far from its start.
    await session.trained.update(
      [{ tokenIds: [5, 9, 31], lossMask: [0, 1, 1] }],
      { learningRate: 1, maxGradNorm: 1 },
      (logProbs) => ({ loss: tf.sum(logProbs) }),
    );
    const { batches } = await observe(session, { isInitial });
    const rows = batches.flat();
    const distance = Math.max(
      ...rows.flatMap(({ oldLogProbs, referenceLogProbs }) =>
        oldLogProbs.map((old, i) => Math.abs(old - referenceLogProbs[i])),
      ),
    );
    if (isInitial) expect(distance).toBeLessThan(1e-4);
    else expect(distance).toBeGreaterThan(0.1);
    const logProbs = await session.trained.logProbs(rows);
    const fromPolicy = logProbs.flatMap((row, r) =>
      row.map((x, i) => Math.abs(x - rows[r].oldLogProbs[i])),
    );
    expect(Math.max(...fromPolicy) < 1e-4).toBe(!isInitial);
    session.dispose();
  });

  it('policyRows has tokens, mask and log-probs under both policies', async () => {
    const session = createSession({ miniBatches: 1, questionsPerStep: 1 });
    const { trajectories } = await observe(session);
    const rows = await session.policyRows(trajectories);
    expect(rows).toHaveLength(2);
    for (const [i, row] of rows.entries()) {
      const trajectory = trajectories[i];
      expect(row.tokenIds).toEqual(tokenIds(trajectory));
      expect(row.lossMask).toEqual(lossMask(trajectory));
      expect(row.oldLogProbs).toEqual(
        trajectory.segments.flatMap((segment) => segment.logProbs ?? []),
      );
      // The adapter has no effect yet.
      row.oldLogProbs.forEach((old, k) => expect(row.referenceLogProbs[k]).toBeCloseTo(old, 4));
    }
    session.dispose();
  });
});

it('assignAdvantages gives each trajectory its advantage by index', () => {
  const trajectories = [{ answer: 'a' }, { answer: 'b' }] as never[] as Parameters<
    typeof assignAdvantages
  >[0];
  expect(assignAdvantages(trajectories, ({ answer }, i) => (answer === 'b' ? i : 5))).toEqual([
    { answer: 'a', advantage: 5 },
    { answer: 'b', advantage: 1 },
  ]);
});
