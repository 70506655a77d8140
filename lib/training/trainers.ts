/** Trainers by name, each loaded on first use. */
import type { TrainerName } from './methods.js';
import type { Trainer, TrainingTask } from './trainer.js';

type Create = (task: TrainingTask) => Trainer;

const TRAINERS: Readonly<Record<TrainerName, () => Promise<Create>>> = {
  grpo: async () => (await import('./grpo.js')).createGrpoTrainer,
  ppo: async () => (await import('./ppo.js')).createPpoTrainer,
  sft: async () => (await import('./supervised.js')).createSupervisedFineTuning,
  'rejection-sampling': async () => (await import('./supervised.js')).createRejectionSampling,
  demonstrations: async () => (await import('./supervised.js')).createDemonstrationTrainer,
  zerosearch: async () => (await import('./zerosearch.js')).createZeroSearch,
  'zerosearch-simulator': async () => (await import('./zerosearch.js')).createSimulatorTraining,
};

/**
 * Creates the trainer that a task's configuration names.
 * @throws RangeError for a sampler with a trainer other than `grpo`
 */
export async function createTrainer(task: TrainingTask): Promise<Trainer> {
  const { trainer } = task.config;
  if (task.sampler && trainer !== 'grpo')
    throw new RangeError(
      `Expected no sampler for the trainer ${trainer}, which does its own sampling. Leave it out, or use the trainer grpo.`,
    );
  return (await TRAINERS[trainer]())(task);
}
