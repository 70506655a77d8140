/**
 * Group-relative advantages (GRPO, Shao et al. 2024) of rollouts and their search turns.
 */
import { mean, sum } from 'd3-array';
import type { With } from '../rollout/trajectory.js';
import { isCorrect, splitIntoGroups } from './rollout-groups.js';
import type { GrpoVariant } from './variants.js';

type Scored = With<'rewards' | 'advantage'>;

interface Normalization {
  /** Whether variances are divided by n - 1 (torch.std, default) or by n. */
  unbiased?: boolean;
  /** Added to standard deviations. Default: 1e-6; TRL has 1e-4. */
  epsilon?: number;
  /** Which standard deviation divides: of the `group` (default), the `batch`, or none. */
  scaleRewards?: GrpoVariant['scaleRewards'];
}

const standardDeviation = (values: readonly number[], unbiased: boolean): number => {
  const center = mean(values)!;
  const squares = sum(values, (value) => (value - center) ** 2);
  return Math.sqrt(squares / (unbiased ? values.length - 1 : values.length));
};

/** Standard deviations below this are rounding errors, as in 0.1 + 0.2 and 0.3. */
const MIN_DEVIATION = 1e-9;

/**
 * Computes (value - group mean) / (standard deviation + epsilon); zeros if all values of
 * a group are equal or it has only one. Null values are left out and stay null.
 */
function normalised(
  groups: readonly (readonly (number | null)[])[],
  { unbiased = true, epsilon = 1e-6, scaleRewards = 'group' }: Normalization = {},
): (number | null)[][] {
  const isPresent = (value: number | null): value is number => value !== null;
  const batchDeviation =
    scaleRewards === 'batch' ? standardDeviation(groups.flat().filter(isPresent), unbiased) : 0;
  return groups.map((group) => {
    const present = group.filter(isPresent);
    const center = mean(present)!;
    const deviation = standardDeviation(present, unbiased);
    const scales = { group: deviation + epsilon, batch: batchDeviation + epsilon, none: 1 };
    return group.map((value) => {
      if (value === null) return null;
      return deviation >= MIN_DEVIATION ? (value - center) / scales[scaleRewards] : 0;
    });
  });
}

function checkGroups(rewards: readonly unknown[], groupSize: number): void {
  if (!Number.isInteger(groupSize) || groupSize < 2)
    throw new RangeError(`Expected groupSize to be an integer >= 2, but got ${groupSize}.`);
  if (rewards.length % groupSize !== 0)
    throw new RangeError(
      `Expected a multiple of groupSize ${groupSize} rewards, but got ${rewards.length}.`,
    );
}

/**
 * Advantages (r - group mean) / (group std + 1e-6), as in the authors' GRPO script; zeros
 * if all rewards of a group are equal. `rewards` holds one group of `groupSize` after
 * another; null (NaN in TRL) leaves a rollout out, with advantage 0.
 * @throws RangeError for a reward that is not finite, or incomplete groups
 */
export function groupAdvantages(
  rewards: readonly (number | null)[],
  groupSize: number,
  options: Normalization = {},
): number[] {
  checkGroups(rewards, groupSize);
  const wrong = rewards.findIndex((reward) => reward !== null && !Number.isFinite(reward));
  if (wrong >= 0)
    throw new RangeError(
      `Expected finite rewards, or null to leave a rollout out, but got ${rewards[wrong]}.`,
    );
  return normalised(splitIntoGroups(rewards, groupSize), options)
    .flat()
    .map((advantage) => advantage ?? 0);
}

/**
 * Advantages of rollouts with several rewards (GDPO, arXiv 2601.05242; TRL's
 * `normalize_then_sum`): each reward is normalised within its group, the weighted sum
 * over the whole step.
 * @param rewards for each rollout, the value of each reward; null leaves the rollout out
 * @param options.weights one per reward. The scale of a reward cancels out
 */
export function decoupledAdvantages(
  rewards: readonly (readonly number[] | null)[],
  groupSize: number,
  { weights, ...options }: Normalization & { weights: readonly number[] },
): number[] {
  checkGroups(rewards, groupSize);
  const columns = weights.map((_, k) =>
    groupAdvantages(
      rewards.map((values) => values && values[k]),
      groupSize,
      options,
    ),
  );
  const sums = rewards.map(
    (values, i) => values && sum(weights, (weight, k) => weight * columns[k][i]),
  );
  const [advantages] = normalised([sums], options);
  // In a group without variance all sums are 0, and only rounding would move them.
  return advantages.map((advantage, i) => (sums[i] === 0 ? 0 : (advantage ?? 0)));
}

/**
 * Advantages of the search turns of each group: the values of turn t are normalised over
 * the rollouts of the group that have a turn t.
 * @param groups for each group and rollout, one value per search turn
 */
export function turnAdvantages(
  groups: readonly (readonly (readonly number[])[])[],
  options: Normalization = {},
): number[][][] {
  const numTurns = Math.max(0, ...groups.flat().map((turns) => turns.length));
  const byTurn = Array.from({ length: numTurns }, (_, t) =>
    normalised(
      groups.map((group) => group.map((turns) => turns[t] ?? null)),
      options,
    ),
  );
  return groups.map((group, g) =>
    group.map((turns, row) => turns.map((_, t) => byTurn[t][g][row]!)),
  );
}

interface AdvantageOptions extends Normalization {
  /** Default: `sum_then_normalize`. */
  multiObjectiveAggregation?: GrpoVariant['multiObjectiveAggregation'];
  /**
   * The rewards and their weights. Default: all rewards in the trajectories, weight 1.
   */
  rewards?: readonly { name: string; weight?: number }[];
  /** Default: `none`. */
  outcomeGate?: GrpoVariant['outcomeGate'];
  /** Selects rollouts to leave out, with advantage 0. Default: none. */
  isMasked?: (trajectory: With<'rewards'>) => boolean;
}

/** Adds advantages to trajectories ordered by group; rewards are unchanged. */
export function withAdvantages(
  trajectories: readonly With<'rewards'>[],
  groupSize: number,
  { multiObjectiveAggregation, isMasked = () => false, ...options }: AdvantageOptions = {},
): Scored[] {
  const { rewards = rewardNames(trajectories), outcomeGate = 'none', ...normalization } = options;
  const masked = trajectories.map(isMasked);
  const correct = trajectories.map((trajectory, i) => !masked[i] && isCorrect(trajectory));
  const isOpen = openGates(correct, groupSize, outcomeGate);
  const weights = rewards.map(({ weight = 1 }) => weight);
  const components = trajectories.map((trajectory, i) =>
    rewards.map(({ name }) => (isOpen[i] || name === 'outcome' ? trajectory.rewards[name] : 0)),
  );
  const total = (i: number): number =>
    isOpen[i] ? trajectories[i].rewards.total : sum(weights, (w, k) => w * components[i][k]);
  const unlessMasked = <T>(value: (i: number) => T): (T | null)[] =>
    masked.map((isLeftOut, i) => (isLeftOut ? null : value(i)));
  const rolloutAdvantages =
    multiObjectiveAggregation === 'normalize_then_sum'
      ? decoupledAdvantages(
          unlessMasked((i) => components[i]),
          groupSize,
          { ...normalization, weights },
        )
      : groupAdvantages(unlessMasked(total), groupSize, normalization);
  const turnValues = trajectories.map(({ turnRewards = [] }, i) =>
    masked[i] ? [] : turnRewards.map((value) => (isOpen[i] ? value : 0)),
  );
  const advantagesByTurn = turnAdvantages(
    splitIntoGroups(turnValues, groupSize),
    normalization,
  ).flat();
  return trajectories.map((trajectory, i) => ({
    ...trajectory,
    advantage: rolloutAdvantages[i],
    ...(advantagesByTurn[i].length > 0 && { turnAdvantages: advantagesByTurn[i] }),
  }));
}

const rewardNames = ([first]: readonly With<'rewards'>[]): { name: string; weight?: number }[] =>
  Object.keys(first?.rewards ?? {})
    .filter((name) => name !== 'total')
    .map((name) => ({ name }));

/** For each rollout, whether rewards other than the outcome count. */
function openGates(
  correct: readonly boolean[],
  groupSize: number,
  outcomeGate: GrpoVariant['outcomeGate'],
): readonly boolean[] {
  if (outcomeGate === 'none') return correct.map(() => true);
  if (outcomeGate === 'rollout') return correct;
  return splitIntoGroups(correct, groupSize).flatMap((group) =>
    group.map(() => group.includes(true)),
  );
}

/** Whether a group's rollouts are equally good: nothing to learn. */
export const isZeroVariance = (group: readonly Scored[]): boolean =>
  group.every(({ advantage, turnAdvantages = [] }) =>
    [advantage, ...turnAdvantages].every((a) => a === 0),
  );

/**
 * Share of trained groups without a correct rollout, or 0 if none is trained. Their
 * advantages come from shaping rewards alone, which improve the form of wrong answers.
 */
export function phantomAdvantages(groups: readonly (readonly With<'rewards'>[])[]): number {
  const numPhantoms = groups.filter((group) => !group.some(isCorrect)).length;
  return numPhantoms / Math.max(1, groups.length);
}

/**
 * The advantage of each policy token: the rollout's, plus the turn's for tokens of a
 * search turn (MT-GRPO, Zeng et al. 2025, arXiv 2505.11821; it has a coefficient, and
 * only one turn before the answer).
 */
export function tokenAdvantages({ segments, advantage, turnAdvantages }: Scored): number[] {
  let turn = 0;
  return segments.flatMap(({ kind, tokenIds }) => {
    if (kind === 'information') turn++;
    return kind === 'policy' ? tokenIds.map(() => advantage + (turnAdvantages?.[turn] ?? 0)) : [];
  });
}
