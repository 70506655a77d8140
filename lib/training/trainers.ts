/**
 * The ways to train a policy. Each is loaded when it is used, so that reading a
 * configuration loads no TensorFlow.js.
 */
import { createRegistry } from '../registry.js';
import type { Trainer, TrainingTask } from './trainer.js';

interface TrainerKind {
  name: string;
  create: (task: TrainingTask) => Trainer | Promise<Trainer>;
}

export const TRAINERS = createRegistry<TrainerKind>('trainer', [
  {
    name: 'grpo',
    create: async (task) => new (await import('./grpo/trainer.js')).GrpoTrainer(task),
  },
  {
    name: 'ppo',
    create: async (task) => (await import('./ppo/trainer.js')).createPpoTrainer(task),
  },
  {
    name: 'sft',
    create: async (task) => (await import('./imitation.js')).createSupervisedFineTuning(task),
  },
  {
    name: 'rejection-sampling',
    create: async (task) => (await import('./imitation.js')).createRejectionSampling(task),
  },
  {
    name: 'demonstrations',
    create: async (task) =>
      (await import('./demonstrations/trainer.js')).createDemonstrationTrainer(task),
  },
  {
    name: 'zerosearch',
    create: async (task) => (await import('./zerosearch/trainer.js')).createZeroSearch(task),
  },
  {
    name: 'zerosearch-simulator',
    create: async (task) =>
      (await import('./zerosearch/simulator.js')).createSimulatorTraining(task),
  },
]);

/** The trainer that a task's configuration names. @throws RangeError for an unknown one */
export const createTrainer = async (task: TrainingTask): Promise<Trainer> =>
  TRAINERS.get(task.config.trainer ?? 'grpo').create(task);
