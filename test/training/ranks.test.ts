/** Several ranks in one process: the result is bit-identical to that of one rank. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toNamedArrays } from '../../lib/policy/model/weights.js';
import { useBackend } from '../../lib/tensor/backend.js';
import type { TrainConfig } from '../../lib/training/config.js';
import { ALONE, Ranks } from '../../lib/training/ranks.js';
import type { StepResult, Trainer } from '../../lib/training/trainer.js';
import { createTrainer } from '../../lib/training/trainers.js';
import { cases, isFull } from '../full.js';
import { connect } from './channels.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';

function connectRanks(size: number): Ranks[] {
  const pairs = Array.from({ length: size - 1 }, connect);
  const followers = pairs.map(([channel]) => channel);
  const leader = new Ranks(0, size, followers);
  return [leader, ...pairs.map(([, channel], i) => new Ranks(i + 1, size, [channel]))];
}

await useBackend('wasm');
const model = chattyModel();

let trainers: Trainer[] = [];
afterEach(() => {
  for (const trainer of trainers) trainer.dispose();
  trainers = [];
});

const isTimeless = ([name]: [string, unknown]): boolean => !name.endsWith('_seconds');

const NUM_STEPS = cases(1, 2);

/** Metrics, trajectories and weights after `NUM_STEPS`. */
async function train(config: TrainConfig, size: number): Promise<unknown> {
  const ranks = size === 1 ? [ALONE] : connectRanks(size);
  trainers = await Promise.all(
    ranks.map((one) => createTrainer({ config, model, ...TASK, ranks: one })),
  );
  const generations = trainers.map(({ session }) =>
    vi.spyOn(session.trained.localPolicy, 'generate'),
  );
  const steps: StepResult[] = [];
  for (let step = 0; step < NUM_STEPS; step++)
    steps.push((await Promise.all(trainers.map((trainer) => trainer.next())))[0]);
  const weights = await Promise.all(
    trainers.map(({ session }) => toNamedArrays(session.trained.weights)),
  );
  for (const others of weights.slice(1)) expect(others).toEqual(weights[0]);
  // 40 rows are two batches: a third rank gets none.
  const isUsed = generations.map(({ mock }) => mock.calls.length > 0);
  const isSampled = config.trainer !== 'demonstrations';
  expect(isUsed).toEqual([isSampled, isSampled, false].slice(0, size));
  return {
    metrics: steps.map(({ metrics }) =>
      Object.fromEntries(Object.entries(metrics).filter(isTimeless)),
    ),
    trajectories: steps.map(({ trajectories }) => trajectories),
    weights: weights[0],
  };
}

describe('ranks', () => {
  // More rows than a batch, and several passes.
  const groups = { questionsPerStep: 10, groupSize: 4, maxTokensPerPass: 512 };
  const rows = { questionsPerStep: 40, groupSize: 1, maxTokensPerPass: 512 };
  const trainers = [
    ['grpo', groups],
    ['demonstrations', rows],
    ['ppo', rows],
    ['sft', rows],
    ['rejection-sampling', groups],
  ] as const;
  it.each(trainers.slice(0, cases(1, 5)))(
    'train the same weights by %s as a single process',
    async (trainer, settings) => {
      const config = tinyTraining({ trainer, settings });
      const alone = await train(config, 1);
      expect(await train(config, 2)).toEqual(alone);
      if (isFull && trainer === 'grpo') expect(await train(config, 3)).toEqual(alone);
    },
  );

  it('share work by its cost and give results in order', async () => {
    const costs = { a: 1, b: 5, c: 2, d: 2, e: 1 };
    const done: string[] = [];
    const results = await Promise.all(
      connectRanks(3).map(async (ranks) => {
        const compute = async (item: keyof typeof costs): Promise<string> => {
          done.push(`${item} on ${ranks.rank}`);
          return item.toUpperCase();
        };
        const work = { cost: (item: keyof typeof costs) => costs[item], compute };
        const pairs: [string, string][] = [];
        for await (const pair of ranks.spread<keyof typeof costs, string>(
          ['a', 'b', 'c', 'd', 'e'],
          work,
        ))
          pairs.push(pair);
        return pairs;
      }),
    );
    expect(done.sort()).toEqual(['a on 1', 'b on 2', 'c on 1', 'd on 0', 'e on 0']);
    expect(results).toEqual([[...'abcde'].map((item) => [item, item.toUpperCase()]), [], []]);
  });
});
