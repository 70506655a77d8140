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

export const GUARDS: readonly Guard[] = (
  [
    ['entropy', 'below', 0.001, 'entropy collapse: all samples are alike'],
    ['kl', 'above', 0.5, 'far from the reference: lower the learning rate or raise beta'],
    ['frac_reward_zero_std', 'above', 0.95, 'nearly no group has anything to teach'],
    ['completions/clipped_ratio', 'above', 0.5, 'half of the rollouts do not end in an answer'],
    ['turns', 'below', 0.5, 'the policy has stopped searching: lambdaS may be too high'],
    [
      'decomposition_ratio/sequential',
      'above',
      0.5,
      'sequential questions are decomposed: over-parallelization',
    ],
  ] as const
).map(([metric, bad, limit, meaning]) => ({ metric, bad, limit, meaning }));

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
