import { z } from 'zod';

/**
 * What ZeroSearch has beside the options that it shares with GRPO; numbers as in its
 * released scripts.
 */
export const zeroSearchSchema = z.strictObject({
  /**
   * The adapter that plays the search engine: one of `data/checkpoints` or a folder,
   * trained from the same model.
   */
  simulator: z.string().min(1),
  /** Share of queries that get noisy documents, in the first step and after the last. */
  startNoise: z.number().min(0).max(1).default(0),
  endNoise: z.number().min(0).max(1).default(0.5),
  /** How late the noise comes: the larger, the later. */
  noiseBase: z.number().gt(1).default(4),
  /** Of the policy that writes documents. */
  temperature: z.number().min(0).default(0.8),
});

export type ZeroSearchOptions = z.infer<typeof zeroSearchSchema>;
