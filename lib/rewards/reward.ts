import { sum } from 'd3-array';
import type { Rollout } from './rollout.js';

/**
 * A reward with credit for each search turn, beside what the rollout is worth as a whole.
 */
export interface TurnReward {
  /** Of the whole rollout. */
  value: number;
  /** Of each executed search turn, as many as the rollout's `searchTurns`. */
  turns: readonly number[];
}

/** One of the rewards whose weighted sum is trained on. */
export interface Reward {
  /**
   * Names the component in records and the metric `rewards/NAME`. Part of a run's hash,
   * since a function has none: a checkpoint goes on only under the same names, so change
   * the name with `score`.
   */
  readonly name: string;
  /**
   * Weight in the total, 1 by default; 0 makes it a metric that is recorded and not
   * trained on.
   */
  readonly weight?: number;
  /** @param group all rollouts of the same question, `rollout` among them */
  score(rollout: Rollout, group: readonly Rollout[]): number | TurnReward;
}

/** What each reward gave, by its name and before its weight, and their weighted sum. */
export type RewardComponents = Record<string, number> & { total: number };

/**
 * @throws RangeError where a name is missing, taken, or `total`, or a weight is no finite
 * number
 */
export function checkRewards(rewards: readonly Reward[]): void {
  const names = rewards.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    const weight = rewards[i].weight ?? 1;
    if (!name || name === 'total' || names.indexOf(name) !== i)
      throw new RangeError(`Expected each reward to have a name of its own, but got "${name}".`);
    if (!Number.isFinite(weight))
      throw new RangeError(
        `Expected the weight of the reward "${name}" to be a number, but got ${weight}.`,
      );
  }
}

/** @throws RangeError naming the reward, the question and the value */
function refuseUnlessFinite(what: string, value: unknown, { question }: Rollout): void {
  if (Number.isFinite(value)) return;
  const where = question ? ` on the question ${question.id} ("${question.question}")` : '';
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new RangeError(
    `Expected ${what} to be a finite number${where}, but got ${shown} (${typeof value}). Return a number, or { value, turns } of numbers.`,
  );
}

function scoreOf(reward: Reward, rollout: Rollout, group: readonly Rollout[]): TurnReward {
  // A stranger's function may give anything.
  const given = reward.score(rollout, group) as TurnReward | number | null | undefined;
  const isTurnReward = typeof given === 'object' && given !== null && Array.isArray(given.turns);
  const { value, turns } = isTurnReward ? given : { value: given, turns: [] };
  for (const number of [value, ...turns])
    refuseUnlessFinite(`the reward "${reward.name}"`, number, rollout);
  const numTurns = rollout.searchTurns.length;
  if (isTurnReward && turns.length !== numTurns) {
    throw new RangeError(
      `Expected the reward "${reward.name}" to give ${numTurns} turn values, one a search turn, but got ${turns.length}.`,
    );
  }
  return { value: value as number, turns };
}

/**
 * Scores a rollout; the total is the weighted sum of the rewards (Eq. 7 for those of
 * the paper), given at the last token.
 * @param group all rollouts of the same question, `rollout` among them
 * @returns `turns`: the weighted sum of the turn-level values, one a search turn; null
 * where no reward gives any
 * @throws RangeError naming a reward that gives no finite number, or not as many turn
 * values as there are search turns
 */
export function scoreRollout(
  rewards: readonly Reward[],
  rollout: Rollout,
  group: readonly Rollout[] = [rollout],
): { components: RewardComponents; turns: number[] | null } {
  const given = rewards.map((reward) => ({
    ...scoreOf(reward, rollout, group),
    name: reward.name,
    weight: reward.weight ?? 1,
  }));
  const components = Object.fromEntries(given.map(({ name, value }) => [name, value]));
  const total = sum(given, ({ weight, value }) => weight * value);
  refuseUnlessFinite('the weighted sum of the rewards', total, rollout);
  const byTurn = given.filter(({ turns }) => turns.length > 0);
  return {
    components: { ...components, total },
    turns:
      byTurn.length > 0
        ? rollout.searchTurns.map((_, t) => sum(byTurn, ({ weight, turns }) => weight * turns[t]))
        : null,
  };
}

/** The name of a component for readers: `search_count` is `Search count`. */
export function componentTitle(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
