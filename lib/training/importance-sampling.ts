/**
 * Importance sampling for rollouts of another sampler, such as vLLM or a recording, whose
 * log-probs differ from the learner's even for the same weights (Yao et al. 2025, "Your
 * Efficient RL Framework Secretly Brings You Off-Policy RL Training"). As in TRL's
 * `vllm_importance_sampling_*`, the ratio learner / sampler is a constant factor of each
 * token's surrogate. This library's own sampler needs none: its weights are exactly 1.
 */
import { max, mean, min, quantileSorted, sum } from 'd3-array';
import { z } from 'zod';

/** TRL's modes; `none` is `vllm_importance_sampling_correction: false`. */
export const IMPORTANCE_SAMPLING_MODES = [
  'sequence_mask',
  'sequence_truncate',
  'token_mask',
  'token_truncate',
  'none',
] as const;

/** Settings with TRL's names, without the prefix `vllm_`. */
export const importanceSamplingSettings = {
  /**
   * TRL's `vllm_importance_sampling_mode`: ratios outside the limits are set to the limit
   * (`truncate`) or to 0 (`mask`), per token or per rollout, whose ratio is the product.
   * Default: `sequence_mask`, as in TRL. Only for rollouts of another sampler.
   */
  importanceSamplingMode: z.enum(IMPORTANCE_SAMPLING_MODES).optional(),
  /** TRL's `vllm_importance_sampling_clip_max` (before 1.6: `_cap`). Default: 3. */
  importanceSamplingClipMax: z.number().positive().optional(),
  /** TRL's `vllm_importance_sampling_clip_min`. Default: no lower limit. */
  importanceSamplingClipMin: z.number().positive().optional(),
};

/** Fills in the defaults, which are TRL's. */
export const importanceSampling = ({
  importanceSamplingMode = 'sequence_mask',
  importanceSamplingClipMax = 3,
  importanceSamplingClipMin = 0,
}: z.infer<z.ZodObject<typeof importanceSamplingSettings>>) => ({
  importanceSamplingMode,
  importanceSamplingClipMax,
  importanceSamplingClipMin,
});
export type ImportanceSampling = ReturnType<typeof importanceSampling>;

/** Log-probs (nats) of each row's trained tokens under both policies. */
interface Policies {
  learner: readonly (readonly number[])[];
  /** NaN if the sampler gave none; such a token gets ratio 1, as in TRL. */
  sampler: readonly (readonly number[])[];
}

const isSequenceMode = (mode: ImportanceSampling['importanceSamplingMode']): boolean =>
  mode.startsWith('sequence');

/** One log ratio per token of each row. @throws RangeError if the token counts differ */
function logRatios({ learner, sampler }: Policies): number[][] {
  return learner.map((logProbs, row) => {
    if (sampler[row].length !== logProbs.length)
      throw new RangeError(
        `Expected a log-prob of the sampler for each of ${logProbs.length} trained tokens in row ${row}, but got ${sampler[row].length}. Use an engine that returns token ids with log-probs, or train without a sampler.`,
      );
    return logProbs.map((logProb, t) => {
      const difference = logProb - sampler[row][t];
      return Number.isNaN(sampler[row][t]) ? 0 : difference;
    });
  });
}

/** The log ratios of each row at the mode's level: one per token, or one per sequence. */
const atLevel = (
  ratios: readonly (readonly number[])[],
  mode: ImportanceSampling['importanceSamplingMode'],
): number[][] => ratios.map((row) => (isSequenceMode(mode) ? [sum(row)] : [...row]));

/**
 * The weight of each trained token: learner / sampler, truncated or masked. Weights are
 * exactly 1 if both have the same log-probs, and with mode `none`.
 */
export function importanceWeights(policies: Policies, options: ImportanceSampling): number[][] {
  const { importanceSamplingMode: mode } = options;
  const { importanceSamplingClipMax: clipMax, importanceSamplingClipMin: clipMin } = options;
  const limit = (ratio: number): number => {
    if (ratio >= clipMin && ratio <= clipMax) return ratio;
    return mode.endsWith('mask') ? 0 : Math.min(Math.max(ratio, clipMin), clipMax);
  };
  const levels = atLevel(logRatios(policies), mode);
  return policies.learner.map((logProbs, row) =>
    logProbs.map((_, t) => {
      if (mode === 'none') return 1;
      return limit(Math.exp(levels[row][isSequenceMode(mode) ? 0 : t]));
    }),
  );
}

/**
 * Effective sample size as a share of n, (sum w)^2 / (n sum w^2); 1 if all weights are
 * equal. Takes log ratios, so that no ratio overflows.
 */
function effectiveSampleSize(logWeights: readonly number[]): number {
  const largest = max(logWeights) ?? 0;
  const weights = logWeights.map((value) => Math.exp(value - largest));
  return sum(weights) ** 2 / (weights.length * sum(weights, (weight) => weight ** 2));
}

/**
 * Metrics of the distance between sampler and learner, with TRL's names where it has
 * them: differences of log-probs (nats), and the ratios after the correction. Further,
 * for the uncorrected ratios at the mode's level (tokens or sequences; `none`: tokens):
 * effective sample size (share), tail, and share outside the limits. Empty without
 * tokens.
 */
export function samplingMetrics(
  policies: Policies,
  options: ImportanceSampling,
): Record<string, number> {
  const { importanceSamplingMode: mode } = options;
  const { importanceSamplingClipMax: clipMax, importanceSamplingClipMin: clipMin } = options;
  const perToken = logRatios(policies);
  const scored = perToken.map((row, i) =>
    row.filter((_, t) => !Number.isNaN(policies.sampler[i][t])),
  );
  const differences = scored.flat().map(Math.abs);
  if (differences.length === 0) return {};
  const logs = atLevel(scored, mode).flat();
  const ratios = logs.map(Math.exp).sort((a, b) => a - b);
  const weights = importanceWeights(policies, options);
  const corrected = isSequenceMode(mode)
    ? weights.flatMap((row) => row.slice(0, 1))
    : weights.flat();
  return {
    'sampling/sampling_logp_difference/mean': mean(differences)!,
    'sampling/sampling_logp_difference/max': max(differences)!,
    'sampling/importance_sampling_ratio/min': min(corrected)!,
    'sampling/importance_sampling_ratio/mean': mean(corrected)!,
    'sampling/importance_sampling_ratio/max': max(corrected)!,
    'sampling/effective_sample_size': effectiveSampleSize(logs),
    'sampling/ratio_p99': quantileSorted(ratios, 0.99)!,
    'sampling/ratio_max': ratios.at(-1)!,
    'sampling/ratio_out_of_limits': mean(ratios, (r) => Number(r < clipMin || r > clipMax))!,
  };
}

/**
 * Prepares rows of another sampler for the update: their old log-probs become the
 * learner's, and each token gets an importance weight.
 * @param learner log-probs of the rows' trained tokens under the policy being trained
 * @throws RangeError if a row's numbers of log-probs and trained tokens differ
 */
export function correctSampling<Row extends { oldLogProbs: number[] }>(
  rows: readonly Row[],
  learner: readonly number[][],
  options: ImportanceSampling,
): { rows: (Row & { importanceWeights: number[] })[]; metrics: Record<string, number> } {
  const policies = { learner, sampler: rows.map(({ oldLogProbs }) => oldLogProbs) };
  const weights = importanceWeights(policies, options);
  const corrected = rows.map((row, i) => ({
    ...row,
    oldLogProbs: learner[i],
    importanceWeights: weights[i],
  }));
  return { rows: corrected, metrics: samplingMetrics(policies, options) };
}
