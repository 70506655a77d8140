/** Signs of a run that goes wrong, looked for at every step. */
import type { Metrics } from './metrics.js';

/** A bound that a metric of a healthy run keeps. */
export interface Guard {
  metric: string;
  /** On which side of the limit a value is alarming. */
  bad: 'above' | 'below';
  limit: number;
  meaning: string;
}

export const GUARDS: readonly Guard[] = [
  { metric: 'entropy', bad: 'below', limit: 0.001, meaning: 'entropy collapse: all samples are alike' },
  {
    metric: 'kl',
    bad: 'above',
    limit: 0.5,
    meaning: 'far from the reference: lower the learning rate or raise beta',
  },
  {
    metric: 'frac_reward_zero_std',
    bad: 'above',
    limit: 0.95,
    meaning: 'nearly no group has anything to teach',
  },
  {
    metric: 'completions/clipped_ratio',
    bad: 'above',
    limit: 0.5,
    meaning: 'half of the rollouts do not end in an answer',
  },
  {
    metric: 'turns',
    bad: 'below',
    limit: 0.5,
    meaning: 'the policy has stopped searching: lambdaS may be too high',
  },
  {
    metric: 'decomposition_ratio/sequential',
    bad: 'above',
    limit: 0.5,
    meaning: 'sequential questions are decomposed: over-parallelization',
  },
];

/** Whether a value is on the bad side of a guard's limit. */
export const isAlarming = ({ bad, limit }: Guard, value: number): boolean =>
  bad === 'above' ? value > limit : value < limit;

/**
 * What is alarming in a step's metrics, a sentence each.
 * @throws Error when a metric is not a number, since training cannot recover from that
 */
export function alarmsOf(metrics: Metrics): string[] {
  for (const [name, value] of Object.entries(metrics)) {
    if (!Number.isFinite(value))
      throw new Error(`Expected ${name} to be a number, but got ${value}. Lower the learning rate.`);
  }
  return GUARDS.filter((guard) => guard.metric in metrics && isAlarming(guard, metrics[guard.metric])).map(
    ({ metric, meaning }) => `${metric} ${metrics[metric].toFixed(3)}: ${meaning}`,
  );
}
