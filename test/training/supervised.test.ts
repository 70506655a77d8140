import { describe, expect, it, vi } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import type { TrainerName } from '../../lib/training/methods.js';
import { toSequence } from '../../lib/training/sequences.js';
import type { Trainer } from '../../lib/training/trainer.js';
import { createTrainer } from '../../lib/training/trainers.js';
import { chattyModel, SINGLE, TASK, tinyTraining, TOKENIZER } from './tiny.js';

await useBackend('wasm');
const model = chattyModel();

const trainerOf = (
  trainer: TrainerName,
  goldenAnswers: string[],
  settings: object = {},
): Promise<Trainer> =>
  createTrainer({
    config: tinyTraining({ trainer, settings, rewards: { preset: 'search-r1' } }),
    model,
    ...TASK,
    questions: [{ ...SINGLE, goldenAnswers }],
  });

describe('rejection sampling', () => {
  it('imitates the correct ones of five rollouts per question, always by the initial model', async () => {
    // What the chatty model often writes.
    const trainer = await trainerOf('rejection-sampling', ['Reed'], { questionsPerStep: 6 });
    const first = await trainer.next();
    const { trajectories, metrics } = first;
    expect(trajectories).toHaveLength(30);
    const right = trajectories.filter(({ rewards }) => rewards.outcome === 1);
    expect(right.length).toBeGreaterThan(0);
    expect(trajectories.map(({ advantage }) => advantage)).toEqual(
      trajectories.map(({ rewards }) => rewards.outcome),
    );
    expect(metrics.loss).toBeGreaterThan(0);
    expect(metrics).not.toHaveProperty('entropy');
    // The recorded log-probs are the initial model's, even after the adapter has learned.
    const [later] = (await trainer.next()).trajectories;
    const { trained } = trainer.session;
    const [reference] = await trained.referenceLogProbs([toSequence(later)]);
    const own = later.segments.flatMap(({ logProbs = [] }) => logProbs);
    own.forEach((logProb, i) => expect(logProb).toBeCloseTo(reference[i], 4));
    trainer.dispose();
  });

  it('learns nothing in a step without a correct rollout', async () => {
    const trainer = await trainerOf('rejection-sampling', ['never written']);
    expect((await trainer.next()).metrics).toMatchObject({
      loss: 0,
      grad_norm: 0,
      frac_reward_zero_std: 1,
    });
    trainer.dispose();
  });
});

it('supervised fine-tuning makes gold answers likelier', async () => {
  const trainer = await trainerOf('sft', ['1960'], { steps: 8, questionsPerStep: 4 });
  const [prompt, answer] = ['When?', '<answer> 1960 </answer>'].map((text) =>
    TOKENIZER.encode(text),
  );
  const sequence = {
    tokenIds: [...prompt, ...answer],
    lossMask: [...prompt.map(() => 0), ...answer.map(() => 1)],
  };
  const sumOf = async (): Promise<number> =>
    (await trainer.session.trained.logProbs([sequence]))[0].reduce((a, b) => a + b, 0);
  const before = await sumOf();
  const first = await trainer.next();
  let last = first;
  for (let step = 1; step < 8; step++) last = await trainer.next();
  expect(last.metrics.loss).toBeLessThan(first.metrics.loss);
  expect(await sumOf()).toBeGreaterThan(before);
  trainer.dispose();
});

it('supervised fine-tuning asks in the chat template, like a rollout', async () => {
  const wrap = (text: string) => `answer ${text} now`;
  const encodeChat = (text: string) => ({
    text: wrap(text),
    tokenIds: TOKENIZER.encode(wrap(text)),
  });
  const trainer = await createTrainer({
    config: tinyTraining({
      trainer: 'sft',
      settings: { steps: 1, questionsPerStep: 1 },
      rewards: { preset: 'search-r1' },
      rollout: { prompt: 'drill', promptForm: 'chat' },
    }),
    model: { ...model, tokenizer: { ...TOKENIZER, encodeChat } },
    ...TASK,
    questions: [{ ...SINGLE, goldenAnswers: ['1960'] }],
  });
  const update = vi.spyOn(trainer.session.trained, 'update');
  const [{ segments }] = (await trainer.next()).trajectories;
  const answer = TOKENIZER.encode('<answer> 1960 </answer>');
  const [row] = update.mock.calls[0][0];
  expect(segments[0].text).toMatch(/^answer .* now$/s);
  expect(row.tokenIds).toEqual([...segments[0].tokenIds, ...answer]);
  expect(row.lossMask).toEqual([...segments[0].tokenIds.map(() => 0), ...answer.map(() => 1)]);
  trainer.dispose();
});
