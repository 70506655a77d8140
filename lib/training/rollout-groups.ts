/** Samples and scores groups of rollouts of the same question. */
import type { Question } from '../data/question.js';
import type { Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { scoreRollout, type Reward, scoringInput } from '../rewards/reward.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import type { RolloutOptions } from '../rollout/options.js';
import { rollOut, type RolloutStats } from '../rollout/rollout.js';
import type { Trajectory, With } from '../rollout/trajectory.js';

interface GroupOptions {
  retriever: Retriever;
  rollout: RolloutOptions;
  rewards: readonly Reward[];
  /** G, the number of rollouts per question; at least 2. */
  groupSize: number;
  random: Random;
}

/** Splits items into consecutive groups of `groupSize`. */
export const splitIntoGroups = <T>(items: readonly T[], groupSize: number): T[][] =>
  Array.from({ length: items.length / groupSize }, (_, g) =>
    items.slice(g * groupSize, (g + 1) * groupSize),
  );

/** Whether r_o (Eq. 3) is 1. */
export const isCorrect = ({ rewards }: With<'rewards'>): boolean => rewards.outcome === 1;

/**
 * Whether a search of the rollout timed out. Such a rollout says nothing about the
 * policy: it gets no reward, no gradient, and no part in statistics.
 */
export const isTimedOut = ({ finish }: Pick<Trajectory, 'finish'>): boolean => finish === 'timeout';

/** NaN, so that accidental use shows; written as null. */
const NO_REWARD = NaN;

/**
 * Samples G rollouts per question, ordered by group, and scores those whose searches
 * returned. `questions` has one entry per rollout.
 */
export async function rollOutGroups(
  policy: Policy,
  questions: readonly Question[],
  { retriever, rollout, rewards, groupSize, random }: GroupOptions,
): Promise<{ trajectories: With<'rewards'>[]; questions: Question[]; stats: RolloutStats }> {
  const repeated = questions.flatMap((question) =>
    Array.from({ length: groupSize }, () => question),
  );
  const randoms = repeated.map((_, i) => random.fork(`rollout ${i}`));
  const options = { ...rollout, randoms };
  const { trajectories, stats } = await rollOut(policy, retriever, repeated, options);
  policy.release?.();
  const inputs = trajectories.map((trajectory, i) => scoringInput(trajectory, repeated[i]));
  const unscored = Object.fromEntries(rewards.map(({ name }) => [name, NO_REWARD]));
  const scores = splitIntoGroups([...inputs.entries()], groupSize).flatMap((members) => {
    const isScored = ([i]: [number, unknown]): boolean => !isTimedOut(trajectories[i]);
    const group = members.filter(isScored).map(([, input]) => input);
    return members.map((member) =>
      isScored(member)
        ? scoreRollout(rewards, member[1], group)
        : { components: { ...unscored, total: NO_REWARD }, turns: null },
    );
  });
  const rewarded = trajectories.map((trajectory, i) => ({
    ...trajectory,
    questionType: inputs[i].questionType,
    ...(repeated[i].metadata.graph?.length && {
      subQuestionRecall: subQuestionRecall(repeated[i], inputs[i].searchTurns),
    }),
    rewards: scores[i].components,
    ...(scores[i].turns && { turnRewards: scores[i].turns }),
  }));
  return { trajectories: rewarded, questions: repeated, stats };
}
