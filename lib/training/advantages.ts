/**
 * Group-relative advantages (GRPO, Shao et al. 2024) of rollouts and their search turns.
 */
import { mean, sum } from 'd3-array';
import type { With } from '../rollout/trajectory.js';
import { splitIntoGroups } from './rollout-groups.js';

type Scored = With<'rewards' | 'advantage'>;

/**
 * (value - mean) / (standard deviation + 1e-6); zeros if all values are equal or there is
 * only one.
 */
function normalised(values: readonly number[], unbiased = true): number[] {
  const center = mean(values)!;
  const squares = sum(values, (value) => (value - center) ** 2);
  const deviation = Math.sqrt(squares / (unbiased ? values.length - 1 : values.length));
  return values.map((value) => (deviation >= 1e-9 ? (value - center) / (deviation + 1e-6) : 0));
}

/**
 * Advantages (r - group mean) / (group std + 1e-6), as in the authors' GRPO script.
 * `rewards` is one group of `groupSize` after another. Zeros if a group's rewards are
 * equal.
 * @param options.unbiased divides the variance by groupSize - 1 (torch.std, default) or
 * by groupSize
 */
export function groupAdvantages(
  rewards: readonly number[],
  groupSize: number,
  { unbiased = true }: { unbiased?: boolean } = {},
): number[] {
  if (!Number.isInteger(groupSize) || groupSize < 2) {
    throw new RangeError(`Expected groupSize to be an integer >= 2, but got ${groupSize}.`);
  }
  if (rewards.length % groupSize !== 0) {
    throw new RangeError(
      `Expected a multiple of groupSize ${groupSize} rewards, but got ${rewards.length}.`,
    );
  }
  return splitIntoGroups(rewards, groupSize).flatMap((group) => normalised(group, unbiased));
}

/**
 * Advantages of the search turns of one group: the values of turn t, normalised over the
 * rollouts that have a turn t.
 * @param values per rollout, one per search turn
 */
export function turnAdvantages(values: readonly (readonly number[])[]): number[][] {
  const advantages = values.map((turns) => turns.map(() => 0));
  const numTurns = Math.max(0, ...values.map((turns) => turns.length));
  for (let t = 0; t < numTurns; t++) {
    const rows = values.flatMap((turns, row) => (t < turns.length ? [row] : []));
    normalised(rows.map((row) => values[row][t])).forEach((a, i) => (advantages[rows[i]][t] = a));
  }
  return advantages;
}

/** Adds advantages to trajectories ordered by group. */
export function withAdvantages(
  trajectories: readonly With<'rewards'>[],
  groupSize: number,
): Scored[] {
  const totals = trajectories.map(({ rewards }) => rewards.total);
  const rolloutAdvantages = groupAdvantages(totals, groupSize);
  const advantagesByTurn = splitIntoGroups(trajectories, groupSize).flatMap((group) =>
    turnAdvantages(group.map(({ turnRewards }) => turnRewards ?? [])),
  );
  return trajectories.map((trajectory, i) => ({
    ...trajectory,
    advantage: rolloutAdvantages[i],
    ...(advantagesByTurn[i].length > 0 ? { turnAdvantages: advantagesByTurn[i] } : {}),
  }));
}

/**
 * Whether all rollouts of a group are equally good, so that there is nothing to learn.
 */
export const isZeroVariance = (group: readonly Scored[]): boolean =>
  group.every(({ advantage, turnAdvantages = [] }) =>
    [advantage, ...turnAdvantages].every((a) => a === 0),
  );

/**
 * The advantage of each policy token: the rollout's, plus the turn's for tokens of a
 * search turn (MT-GRPO, Zeng et al. 2025, arXiv 2505.11821, which adds a coefficient and
 * has one turn before the answer).
 */
export function tokenAdvantages({ segments, advantage, turnAdvantages }: Scored): number[] {
  let turn = 0;
  return segments.flatMap(({ kind, tokenIds }) => {
    if (kind === 'information') turn++;
    return kind === 'policy' ? tokenIds.map(() => advantage + (turnAdvantages?.[turn] ?? 0)) : [];
  });
}
