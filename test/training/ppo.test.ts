import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import type { With } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { createPpoTrainer, tokenRewards } from '../../lib/training/ppo.js';
import type { Trainer } from '../../lib/training/trainer.js';
import { temporaryFolder } from '../folder.js';
import { chattyModel, QUESTIONS, TASK, tinyTraining } from './tiny.js';

const folder = temporaryFolder();
await useBackend('wasm');
const model = chattyModel();

const trainerOf = (more: object = {}, questions = QUESTIONS): Trainer =>
  createPpoTrainer({
    config: tinyTraining({ trainer: 'ppo', ...more }),
    model,
    ...TASK,
    questions,
  });
const headOf = ({ session }: Trainer): number[] => [
  ...session.trained.weights['value.weight'].dataSync(),
];

describe('tokenRewards', () => {
  it('are at the last token of each search turn and of the rollout, 0 elsewhere', () => {
    const segment = (kind: string, length: number) => ({
      kind,
      tokenIds: Array<number>(length).fill(7),
      text: '',
    });
    const trajectory = {
      segments: [
        segment('prompt', 4),
        segment('policy', 3),
        segment('information', 5),
        segment('policy', 1),
        segment('notice', 2),
        segment('policy', 2),
      ],
      rewards: { total: 1 },
      turnRewards: [0.5],
    };
    expect(tokenRewards(trajectory as unknown as With<'rewards'>)).toEqual([0, 0, 0.5, 0, 0, 1]);
  });
});

describe('PPO', () => {
  it('uses as many questions as GRPO has rollouts; values start at 0 and are learned', async () => {
    const trainer = trainerOf({ settings: { miniBatches: 1 } });
    expect(headOf(trainer).every((weight) => weight === 0)).toBe(true);
    const { metrics, trajectories } = await trainer.next();
    expect(trajectories).toHaveLength(12);
    expect(metrics.kl).toBeLessThan(1e-6);
    expect(metrics.explained_variance).toBe(0);
    expect(metrics.value_loss).toBeGreaterThan(0);
    expect(metrics.grad_norm).toBeGreaterThan(0);
    expect(headOf(trainer).some((weight) => weight !== 0)).toBe(true);
    expect((await trainer.next()).metrics.explained_variance).not.toBe(0);
    trainer.dispose();
  });

  it('learns nothing if there is no reward, the values are right and beta is 0', async () => {
    const never = QUESTIONS.map((question) => ({ ...question, goldenAnswers: ['never written'] }));
    const equal = trainerOf({ settings: { beta: 0 }, rewards: { preset: 'search-r1' } }, never);
    const { metrics } = await equal.next();
    expect(metrics).toMatchObject({ reward: 0, loss: 0, value_loss: 0, grad_norm: 0 });
    equal.dispose();
  });

  it('keeps its value head in a checkpoint and leaks no tensors', async () => {
    const before = tf.memory().numTensors;
    const trainer = trainerOf();
    await trainer.next();
    const { weights, optimizer } = trainer.session.trained;
    await rm(join(folder, 'ppo'), { recursive: true, force: true });
    await saveCheckpoint(join(folder, 'ppo'), weights, optimizer, { nextStep: 1, hash: 'h' });
    const saved = headOf(trainer);
    await trainer.next();
    expect(headOf(trainer)).not.toEqual(saved);
    const checkpoint = await resumeCheckpoint(join(folder, 'ppo'), 'h');
    trainer.session.trained.restore(checkpoint!);
    expect(headOf(trainer)).toEqual(saved);
    trainer.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});
