import { expect, it } from 'vitest';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { lossMask, tokenIds } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { createTrainer } from '../../lib/training/trainers.js';
import { COMPARISON, PASSAGES, QUESTIONS, SEQUENTIAL, tinyModel, tinyTraining } from './tiny.js';

await useBackend('wasm');
const model = tinyModel();

const trainerOf = (
  questions: typeof QUESTIONS,
  { passages = PASSAGES, settings = {}, maxPassageWords = 99 } = {},
) => {
  const config = tinyTraining({
    trainer: 'demonstrations',
    rewards: { preset: 'search-r1' },
    settings,
  });
  const rollout = { ...config.rollout, maxSearchTurns: 4, maxPassageWords };
  return createTrainer({
    config: { ...config, rollout },
    model,
    questions,
    retriever: createBm25Retriever(passages),
  });
};

it('makes demonstrations likelier under each prompt', async () => {
  const trainer = await trainerOf([COMPARISON, SEQUENTIAL], { settings: { questionsPerStep: 4 } });
  const steps = [];
  for (let step = 0; step < 5; step++) steps.push(await trainer.next());
  const prompts = steps.map(
    ({ trajectories }) => trajectories[0].segments[0].text.split('Question')[0],
  );
  expect(prompts).toEqual([0, 1, 0, 1, 4].map((i) => prompts[i]));
  expect(new Set(prompts).size).toBe(3);
  for (const { metrics, trajectories } of steps) {
    expect(metrics).toMatchObject({ reward: 1, demonstrations: 4, 'completions/clipped_ratio': 0 });
    expect(trajectories).toHaveLength(4);
    // The expert has no log-probs.
    expect(metrics).not.toHaveProperty('entropy');
  }
  // Search-R1's prompt only allows one query per turn.
  expect(steps[1].metrics.decomposition_ratio).toBe(0);
  // The last prompt allows no search.
  expect(steps.map(({ metrics }) => metrics.turns > 0)).toEqual([true, true, true, true, false]);
  expect(steps[3].metrics.loss).toBeLessThan(steps[1].metrics.loss);
  const [first] = steps[0].trajectories;
  const sequence = { tokenIds: tokenIds(first), lossMask: lossMask(first) };
  const sum = ([row]: number[][]): number => row.reduce((a, b) => a + b, 0);
  expect(sum(await trainer.session.trained.logProbs([sequence]))).toBeGreaterThan(
    sum(await trainer.session.trained.referenceLogProbs([sequence])),
  );
  trainer.dispose();
});

it('skips what the passages did not show', async () => {
  const trainer = await trainerOf([SEQUENTIAL], { passages: PASSAGES.slice(2, 4) });
  expect((await trainer.next()).metrics).toMatchObject({ demonstrations: 0, loss: 0 });
  trainer.dispose();
});

it.each([
  ['the answer', ['1904'], 8, 2],
  ['one of the answers', ['1922', '1904'], 8, 2],
  ['part of the answer', ['4 May 1904'], 8, 0],
  ['the passage cut before the answer', ['1904'], 5, 0],
])('only learns from what was shown: %s', async (_, answers, maxPassageWords, demonstrations) => {
  const [film, birth] = SEQUENTIAL.metadata.graph!;
  const metadata = { ...SEQUENTIAL.metadata, graph: [film, { ...birth, answers }] };
  const trainer = await trainerOf([{ ...SEQUENTIAL, metadata }], {
    maxPassageWords,
    settings: { questionsPerStep: 2 },
  });
  const { metrics } = await trainer.next();
  expect([metrics.demonstrations, metrics.loss > 0]).toEqual([demonstrations, demonstrations > 0]);
  trainer.dispose();
});

it('decays the learning rate to zero', async () => {
  const settings = { steps: 5, warmupSteps: 1, questionsPerStep: 2, learningRate: 0.02 };
  const trainer = await trainerOf([SEQUENTIAL], { settings });
  const rates: number[] = [];
  for (let step = 0; step < 5; step++) rates.push((await trainer.next()).metrics.learning_rate);
  expect(rates).toEqual(
    [0.02, 0.02, 0.015, 0.01, 0.005].map((rate) => expect.closeTo(rate, 12) as number),
  );
  trainer.dispose();
});

it('needs questions with dependency graphs', async () => {
  await expect(trainerOf([{ ...SEQUENTIAL, metadata: {} }])).rejects.toThrow(/dependency graphs/);
});
