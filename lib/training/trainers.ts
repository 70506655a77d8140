/** The ways to train a policy. A new one is a folder beside `grpo/` and its line here. */
import { createRegistry } from '../registry.js';
import { createDemonstrationTrainer } from './demonstrations/trainer.js';
import { GrpoTrainer } from './grpo/trainer.js';
import { createRejectionSampling, createSupervisedFineTuning } from './imitation.js';
import { createPpoTrainer } from './ppo/trainer.js';
import { createSimulatorTraining } from './zerosearch/simulator.js';
import { createZeroSearch } from './zerosearch/trainer.js';
import type { Trainer, TrainingTask } from './trainer.js';

export const TRAINERS = createRegistry<{ name: string; create: (task: TrainingTask) => Trainer }>(
  'trainer',
  [
    { name: 'grpo', create: (task) => new GrpoTrainer(task) },
    { name: 'ppo', create: createPpoTrainer },
    { name: 'sft', create: createSupervisedFineTuning },
    { name: 'rejection-sampling', create: createRejectionSampling },
    { name: 'demonstrations', create: createDemonstrationTrainer },
    { name: 'zerosearch', create: createZeroSearch },
    { name: 'zerosearch-simulator', create: createSimulatorTraining },
  ],
);

/**
 * The trainer that a task's configuration names. @throws RangeError that lists those
 * there are
 */
export const createTrainer = (task: TrainingTask): Trainer =>
  TRAINERS.get(task.config.trainer ?? 'grpo').create(task);
