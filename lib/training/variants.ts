/**
 * Variants of GRPO, named after TRL's settings. All are optional, so that configurations
 * and hashes of earlier runs stay valid.
 */
import { z } from 'zod';
import { importanceSampling, importanceSamplingSettings } from './importance-sampling.js';

/** Settings of a variant; {@link grpoVariant} has their defaults. */
export const variantSettings = {
  /** TRL's `loss_type`: how token losses are aggregated. Default: `dapo`, as in TRL. */
  lossType: z.enum(['dapo', 'bnpo', 'grpo', 'dr_grpo']).optional(),
  /** TRL's `epsilon_high`: the ratio's upper limit is 1 + this. Default: `clip`. */
  epsilonHigh: z.number().positive().optional(),
  /**
   * TRL's `importance_sampling_level`: a ratio per token (default), or per rollout (GSPO,
   * arXiv 2507.18071).
   */
  importanceSamplingLevel: z.enum(['token', 'sequence']).optional(),
  /**
   * TRL's `scale_rewards`: the standard deviation that divides advantages, of the group
   * (default) or the step (arXiv 2508.08221), or none (Dr. GRPO, arXiv 2503.20783).
   */
  scaleRewards: z.enum(['group', 'batch', 'none']).optional(),
  /**
   * TRL's `multi_objective_aggregation`: rewards are summed first (default), or each is
   * normalised first (GDPO, arXiv 2601.05242).
   */
  multiObjectiveAggregation: z.enum(['sum_then_normalize', 'normalize_then_sum']).optional(),
  /** TRL's `mask_truncated_completions`: leaves them out. Default: false. */
  maskTruncatedCompletions: z.boolean().optional(),
  /**
   * Where rewards other than the outcome count: everywhere (`none`, default), in correct
   * rollouts, or in groups with a correct one.
   */
  outcomeGate: z.enum(['none', 'rollout', 'group']).optional(),
  ...importanceSamplingSettings,
  /**
   * LLDS (arXiv 2512.04220, ICML 2026): weight of a penalty on tokens of rollouts with
   * advantage >= 0 whose log-prob falls during a step. Default: 0; the authors' script
   * has 0.2. Needs several mini-batches.
   */
  llds: z.number().min(0).optional(),
  /** LLDS: where the log-prob must have fallen in total: turn (default) or rollout. */
  lldsGate: z.enum(['action', 'response']).optional(),
};

type VariantSettings = z.infer<z.ZodObject<typeof variantSettings>>;

/** Fills in the defaults: the paper's objective. */
export const grpoVariant = ({
  lossType = 'dapo',
  importanceSamplingLevel = 'token',
  scaleRewards = 'group',
  multiObjectiveAggregation = 'sum_then_normalize',
  maskTruncatedCompletions = false,
  outcomeGate = 'none',
  llds = 0,
  lldsGate = 'action',
  clip,
  epsilonHigh = clip,
  beta,
  ...settings
}: VariantSettings & { clip: number; beta: number }) => ({
  ...importanceSampling(settings),
  lossType,
  importanceSamplingLevel,
  scaleRewards,
  multiObjectiveAggregation,
  maskTruncatedCompletions,
  outcomeGate,
  llds,
  lldsGate,
  clip,
  epsilonHigh,
  beta,
});
export type GrpoVariant = ReturnType<typeof grpoVariant>;
