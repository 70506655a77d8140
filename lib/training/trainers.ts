/** The trainers by name. */
import { createGrpoTrainer } from './grpo.js';
import type { TrainerName } from './methods.js';
import { createPpoTrainer } from './ppo.js';
import {
  createDemonstrationTrainer,
  createRejectionSampling,
  createSupervisedFineTuning,
} from './supervised.js';
import type { Trainer, TrainingTask } from './trainer.js';
import { createSimulatorTraining, createZeroSearch } from './zerosearch.js';

const TRAINERS: Readonly<Record<TrainerName, (task: TrainingTask) => Trainer>> = {
  grpo: createGrpoTrainer,
  ppo: createPpoTrainer,
  sft: createSupervisedFineTuning,
  'rejection-sampling': createRejectionSampling,
  demonstrations: createDemonstrationTrainer,
  zerosearch: createZeroSearch,
  'zerosearch-simulator': createSimulatorTraining,
};

/** The trainer that a task's configuration names. */
export const createTrainer = (task: TrainingTask): Trainer => TRAINERS[task.config.trainer](task);
