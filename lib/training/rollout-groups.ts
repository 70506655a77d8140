/** Groups of rollouts of the same question, with their rewards. */
import type { Question } from '../data/question.js';
import type { Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import { scoreRollout, type Reward, scoringInput } from '../rewards/reward.js';
import type { RolloutOptions } from '../rollout/options.js';
import { rollOut, type RolloutStats } from '../rollout/rollout.js';
import type { With } from '../rollout/trajectory.js';

interface GroupOptions {
  retriever: Retriever;
  rollout: RolloutOptions;
  rewards: readonly Reward[];
  /** G: rollouts per question, at least 2. */
  groupSize: number;
  random: Random;
}

/** Consecutive groups of `groupSize`. */
export const splitIntoGroups = <T>(items: readonly T[], groupSize: number): T[][] =>
  Array.from({ length: items.length / groupSize }, (_, g) =>
    items.slice(g * groupSize, (g + 1) * groupSize),
  );

/** Whether r_o (Eq. 3) is 1. */
export const isCorrect = ({ rewards }: With<'rewards'>): boolean => rewards.outcome === 1;

/** Samples G rollouts per question, ordered by group, and scores them. */
export async function rollOutGroups(
  policy: Policy,
  questions: readonly Question[],
  { retriever, rollout, rewards, groupSize, random }: GroupOptions,
): Promise<{ trajectories: With<'rewards'>[]; stats: RolloutStats }> {
  const repeated = questions.flatMap((question) =>
    Array.from({ length: groupSize }, () => question),
  );
  const randoms = repeated.map((_, i) => random.fork(`rollout ${i}`));
  const { trajectories, stats } = await rollOut(policy, retriever, repeated, {
    ...rollout,
    randoms,
  });
  policy.release?.();
  const inputs = trajectories.map((trajectory, i) => scoringInput(trajectory, repeated[i]));
  const scores = splitIntoGroups(inputs, groupSize).flatMap((group) =>
    group.map((input) => scoreRollout(rewards, input, group)),
  );
  const rewarded = trajectories.map((trajectory, i) => ({
    ...trajectory,
    questionType: inputs[i].questionType,
    ...(repeated[i].metadata.graph?.length
      ? { subQuestionRecall: subQuestionRecall(repeated[i], inputs[i].searchTurns) }
      : {}),
    rewards: scores[i].components,
    ...(scores[i].turns ? { turnRewards: scores[i].turns } : {}),
  }));
  return { trajectories: rewarded, stats };
}
