import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { Reward } from '../../lib/rewards/reward.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { formatTrajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { resolveRollout } from '../../lib/training/methods.js';
import { isTimedOut, splitIntoGroups, rollOutGroups } from '../../lib/training/rollout-groups.js';
import { chattyModel, COMPARISON, PASSAGES, SEQUENTIAL, SINGLE } from './tiny.js';

await useBackend('wasm');
const model = chattyModel();

it('splitIntoGroups splits into consecutive groups', () => {
  expect(splitIntoGroups([1, 2, 3, 4, 5, 6], 2)).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  expect(splitIntoGroups([], 3)).toEqual([]);
});

const WITHOUT_GRAPH = { ...SINGLE, id: 'no graph', metadata: {} };
const EMPTY_GRAPH = { ...SINGLE, id: 'empty graph', metadata: { graph: [] } };
const roll = async (
  rewards: readonly Reward[],
  questions = [COMPARISON, SEQUENTIAL, WITHOUT_GRAPH, EMPTY_GRAPH],
  retriever: Retriever = createBm25Retriever(PASSAGES),
) => {
  const policy = new LocalPolicy('chatty', model.weights, model.config, model.tokenizer);
  const before = tf.memory().numTensors;
  const rollout = {
    ...resolveRollout('parallelsearch', 'small-world'),
    maxSearchTurns: 3,
    maxNewTokens: 30,
    temperature: 1,
    retrievalDeadlineMs: 5,
  };
  const result = await rollOutGroups(policy, questions, {
    retriever,
    rollout,
    rewards,
    groupSize: 3,
    random: createRandom(1),
  });
  // The update does not use the context cache.
  const kept = tf.memory().numTensors - before;
  policy.dispose();
  return { ...result, kept };
};

it('answers each question G times, each with its own random numbers', async () => {
  const { trajectories, stats, kept } = await roll([{ name: 'plain', weight: 2, score: () => 3 }]);
  expect(trajectories.map(({ questionId }) => questionId)).toEqual(
    ['comparison', 'sequential', 'no graph', 'empty graph'].flatMap((id) => [id, id, id]),
  );
  const texts = trajectories.map(({ segments }) => JSON.stringify(segments));
  expect(new Set(texts).size).toBeGreaterThan(9);
  expect((await roll([])).trajectories.map(({ segments }) => JSON.stringify(segments))).toEqual(
    texts,
  );
  for (const trajectory of trajectories) {
    expect(trajectory.rewards).toEqual({ plain: 3, total: 6 });
    expect(trajectory).not.toHaveProperty('turnRewards');
  }
  expect(trajectories.map(({ questionType }) => questionType)).toEqual(
    ['parallelizable', 'sequential', undefined, undefined].flatMap((shape) => [
      shape,
      shape,
      shape,
    ]),
  );
  expect(stats.retrievalsRequested).toBeGreaterThan(0);
  expect(kept).toBe(0);
});

it('passes the whole group to each reward, and keeps turn rewards', async () => {
  const groups: (string | undefined)[][] = [];
  const shared: Reward = {
    name: 'shared',
    score: ({ searchTurns }, group) => {
      groups.push(group.map(({ question }) => question?.id));
      return { value: 0, turns: searchTurns.map((_, t) => t + 1) };
    },
  };
  const { trajectories } = await roll([shared]);
  expect(groups).toEqual(trajectories.map(({ questionId: id }) => [id, id, id]));
  expect(trajectories.some(({ searchTurns }) => searchTurns.length > 0)).toBe(true);
  for (const { searchTurns, turnRewards } of trajectories)
    expect(turnRewards ?? []).toEqual(searchTurns.map((_, t) => t + 1));
});

it('gives no reward to rollouts with timed-out searches, and hides them from the group', async () => {
  // Rollouts that search in their first turn hang; later searches return.
  let calls = 0;
  const retriever: Retriever = {
    name: 'hangs at first',
    retrieve: (queries) =>
      calls++ === 0 ? new Promise(() => {}) : Promise.resolve(queries.map(() => [])),
  };
  const seen: number[] = [];
  const reward: Reward = {
    name: 'shared',
    score: ({ searchTurns }, group) => {
      seen.push(group.length);
      return { value: 1, turns: searchTurns.map(() => 1) };
    },
  };
  const questions = [COMPARISON, SEQUENTIAL, WITHOUT_GRAPH, EMPTY_GRAPH];
  const { trajectories, stats } = await roll([reward], questions, retriever);
  const late = trajectories.filter(isTimedOut);
  expect(late.length).toBeGreaterThan(0);
  expect(late.length).toBeLessThan(trajectories.length);
  expect(stats.retrievalsTimedOut).toBeGreaterThanOrEqual(late.length);
  for (const trajectory of trajectories) {
    const value = isTimedOut(trajectory) ? NaN : 1;
    expect(trajectory.rewards).toEqual({ shared: value, total: value });
    const read = parseTrajectory(JSON.parse(formatTrajectory(trajectory)));
    expect(read.rewards).toEqual(isTimedOut(trajectory) ? undefined : trajectory.rewards);
    if (isTimedOut(trajectory)) expect(trajectory).not.toHaveProperty('turnRewards');
  }
  const sizes = splitIntoGroups(trajectories, 3).map(
    (group) => group.filter((trajectory) => !isTimedOut(trajectory)).length,
  );
  expect(seen).toEqual(sizes.flatMap((size) => Array.from({ length: size }, () => size)));
});

it('reports subQuestionRecall only for questions with a graph', async () => {
  const { trajectories } = await roll([]);
  for (const { questionId, subQuestionRecall } of trajectories)
    expect(typeof subQuestionRecall).toBe(questionId.endsWith('graph') ? 'undefined' : 'number');
});
