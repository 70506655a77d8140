/**
 * Advantages by a value function (Schulman et al. 2016), over the tokens that the policy
 * wrote.
 */
import { mean, variance } from 'd3-array';

/**
 * Generalised advantage estimates of one rollout's tokens, and the returns that their
 * values are to meet: A_t = delta_t + gamma lambda A_(t+1), delta_t = r_t + gamma V_(t+1)
 * - V_t, and A_t + V_t. The value after the last token is 0. Tokens of the environment
 * are left out; with gamma = lambda = 1, as in the paper, that changes nothing.
 */
export function generalisedAdvantages(
  rewards: readonly number[],
  values: readonly number[],
  { gamma, lambda }: { gamma: number; lambda: number },
): { advantages: number[]; returns: number[] } {
  const advantages = new Array<number>(rewards.length);
  let after = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const delta = rewards[t] + gamma * (values[t + 1] ?? 0) - values[t];
    advantages[t] = after = delta + gamma * lambda * after;
  }
  return { advantages, returns: advantages.map((advantage, t) => advantage + values[t]) };
}

/** Numbers of all rows together with mean 0 and deviation 1 (of n - 1), as in verl. */
export function whitened(rows: readonly (readonly number[])[]): number[][] {
  const all = rows.flat();
  const [center, spread] = [mean(all) ?? 0, variance(all) ?? 0];
  return rows.map((row) => row.map((value) => (value - center) / Math.sqrt(spread + 1e-8)));
}

/**
 * Share of the variance of returns that values explain: 1 at best, 0 for a constant; 0
 * where returns are all equal.
 */
export function explainedVariance(returns: readonly number[], values: readonly number[]): number {
  const total = variance(returns) ?? 0;
  const left = variance(returns.map((value, i) => value - values[i])) ?? 0;
  return total > 0 ? 1 - left / total : 0;
}
