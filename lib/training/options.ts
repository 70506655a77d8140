import { z } from 'zod';
import type { RewardsConfig } from '../rewards/presets.js';
import type { RolloutConfig } from '../rollout/options.js';

const positive = z.number().positive();
const count = z.int().min(1);
const share = z.number().min(0).max(1);

/** Shares of the training questions, by what there is to learn from them; hybrids are left out, as HotpotQA has none. */
export const questionMixSchema = z.strictObject({
  singleHop: share.default(0.15),
  sequential: share.default(0.3),
  /** Comparisons of 2, 3, 4 and 5 entities. */
  comparisons: z.tuple([share, share, share, share]).default([0.2, 0.15, 0.1, 0.1]),
});
export type QuestionMix = z.infer<typeof questionMixSchema>;

export const grpoSchema = z.strictObject({
  steps: count,
  questionsPerStep: count.default(8),
  /** G, rollouts per question: 5 in Search-R1's GRPO script. */
  groupSize: z.int().min(2).default(8),
  /** Updates a step, each on its share of the rollouts. */
  miniBatches: count.default(2),
  learningRate: positive.default(2e-4),
  warmupSteps: z.int().min(0).default(5),
  /** App. A.4. */
  clip: positive.default(0.2),
  /** App. A.4. */
  beta: z.number().min(0).default(0.001),
  /** App. A.4. */
  temperature: positive.default(1),
  maxGradNorm: positive.default(1),
  maxTokensPerPass: count.default(8192),
  mix: questionMixSchema.prefault({}),
});

export const loraSchema = z.strictObject({ rank: count.default(16), alpha: positive.default(32) });

/** As much of a training configuration as training itself reads. */
export interface GrpoConfig {
  method: string;
  model: string;
  seed: number;
  rollout: RolloutConfig;
  rewards: RewardsConfig;
  grpo: z.infer<typeof grpoSchema>;
  lora: z.infer<typeof loraSchema>;
  checkpointEvery: number;
}
