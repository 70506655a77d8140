/** What any trainer reads of a configuration. */
import { z } from 'zod';
import { rewardsSchema } from '../rewards/presets.js';
import { rolloutSchema } from '../rollout/options.js';
import { grpoSchema } from './grpo/options.js';
import { guardsSchema } from './guards.js';
import { ppoSchema } from './ppo/options.js';
import { zeroSearchSchema } from './zerosearch/options.js';

/** Name of a configuration's file beside the adapter that was trained with it. */
export const TRAIN_CONFIG_FILE = 'train_config.json';

const loraSchema = z.strictObject({
  rank: z.int().min(1).max(4096).default(16),
  alpha: z.number().positive().default(32),
  /**
   * Modules with an adapter, by the names that the model's tensors have; all by default.
   */
  targetModules: z.array(z.string().min(1)).min(1).optional(),
  /** Layers with an adapter, from 0; all by default. */
  layersToTransform: z.array(z.int().min(0)).min(1).optional(),
});

/**
 * The fields of a configuration that say how to train; a trainer with options of its own
 * adds them here.
 */
export const trainingFields = {
  /** A committed initial model, or a folder in Hugging Face format. */
  model: z.string().min(1),
  /** The trainer's name, `grpo` by default. */
  trainer: z.string().optional(),
  seed: z.int().default(1),
  rollout: rolloutSchema,
  rewards: rewardsSchema,
  /** Rollouts, steps and updates, of whichever trainer. */
  grpo: grpoSchema,
  /** Of the trainer `ppo`. */
  ppo: ppoSchema.optional(),
  /** Of the trainer `zerosearch`. */
  zerosearch: zeroSearchSchema.optional(),
  lora: loraSchema.prefault({}),
  /** Absent by default, so that runs without it keep their hash. */
  guards: guardsSchema,
};

/** As much of a training configuration as training itself reads. */
export interface TrainingConfig extends z.infer<z.ZodObject<typeof trainingFields>> {
  method: string;
  checkpointEvery: number;
}
