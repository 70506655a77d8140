import { z } from 'zod';
import { questionMixSchema } from '../question-sampler.js';

const positive = z.number().positive();
const count = z.int().min(1);

export const grpoSchema = z.strictObject({
  steps: count,
  questionsPerStep: count.max(10_000).default(8),
  /** G, rollouts per question: 5 in Search-R1's GRPO script. */
  groupSize: z.int().min(2).max(10_000).default(8),
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
