/** Signs of a run that goes wrong, looked for at every step. */
import type { GrpoMetrics } from './grpo.js';

interface Guard {
  metric: string;
  isBad: (value: number) => boolean;
  meaning: string;
}

const GUARDS: readonly Guard[] = [
  { metric: 'entropy', isBad: (x) => x < 0.001, meaning: 'entropy collapse: all samples are alike' },
  {
    metric: 'kl',
    isBad: (x) => x > 0.5,
    meaning: 'far from the reference: lower the learning rate or raise beta',
  },
  {
    metric: 'frac_reward_zero_std',
    isBad: (x) => x > 0.95,
    meaning: 'nearly no group has anything to teach',
  },
  {
    metric: 'completions/clipped_ratio',
    isBad: (x) => x > 0.5,
    meaning: 'half of the rollouts do not end in an answer',
  },
  {
    metric: 'turns',
    isBad: (x) => x < 0.5,
    meaning: 'the policy has stopped searching: lambdaS may be too high',
  },
  {
    metric: 'decomposition_ratio/sequential',
    isBad: (x) => x > 0.5,
    meaning: 'sequential questions are decomposed: over-parallelization',
  },
];

/**
 * What is alarming in a step's metrics, a sentence each.
 * @throws Error when a metric is not a number, since training cannot recover from that
 */
export function alarmsOf(metrics: GrpoMetrics): string[] {
  for (const [name, value] of Object.entries(metrics)) {
    if (!Number.isFinite(value))
      throw new Error(`Expected ${name} to be a number, but got ${value}. Lower the learning rate.`);
  }
  return GUARDS.filter(({ metric, isBad }) => metric in metrics && isBad(metrics[metric])).map(
    ({ metric, meaning }) => `${metric} ${metrics[metric].toFixed(3)}: ${meaning}`,
  );
}
