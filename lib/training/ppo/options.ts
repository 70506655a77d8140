import { z } from 'zod';

/** What proximal policy optimisation has beside the options that it shares with GRPO. */
export const ppoSchema = z.strictObject({
  /**
   * Of the value head: ten times the policy's (App. A.4), and warmed up over fewer steps.
   */
  valueLearningRate: z.number().positive().default(1e-2),
  valueWarmupSteps: z.int().min(0).default(3),
  /**
   * Weight of the value loss, whose gradient reaches the policy's body too: TRL's for a
   * shared body.
   */
  valueWeight: z.number().min(0).default(0.1),
  /**
   * How far a value may move from the old one before its loss stops falling, as in
   * Search-R1's script.
   */
  valueClip: z.number().positive().default(0.5),
  /** App. A.4. */
  gamma: z.number().min(0).max(1).default(1),
  /** App. A.4. */
  lambda: z.number().min(0).max(1).default(1),
});

export type PpoOptions = z.infer<typeof ppoSchema>;
