/** Which trajectories belong together: rollouts of one question and step, and other methods on the same question. */
import { group, mean } from 'd3-array';
import type { ViewerData } from '../data.js';

export type Groups = ReturnType<typeof createGroups>;

/** The names of the methods, in the order in which they first occur. */
export function methodsOf({ trajectories }: ViewerData): string[] {
  return [...new Set(trajectories.map(({ method }) => method))];
}

/** Builds the index; questions are the same when id and text are, whatever else is known of them. */
export function createGroups({ trajectories, questions }: ViewerData) {
  const keys = questions.map(({ id, question }) => `${id}\n${question}`);
  const keyOf = (index: number): string => keys[trajectories[index].question];
  const byQuestion = group(trajectories.keys(), keyOf);
  const sameQuestion = (index: number): number[] => byQuestion.get(keyOf(index))!;
  return {
    /** Rollouts of the same question, method and step, that one included, in order. */
    groupOf(index: number): number[] {
      const { method, step } = trajectories[index];
      return sameQuestion(index).filter(
        (i) => trajectories[i].method === method && trajectories[i].step === step,
      );
    },
    /** The trajectory of a method on the same question to be read beside, or null: one of the same step before others. */
    partnerOf(index: number, method: string): number | null {
      const others = sameQuestion(index).filter((i) => i !== index && trajectories[i].method === method);
      const sameStep = others.find((i) => trajectories[i].step === trajectories[index].step);
      return sameStep ?? others.at(-1) ?? null;
    },
  };
}

/** Rewards less their mean: where no advantage was recorded, how a rollout stands within its group. */
export const aboveMean = (totals: readonly number[]): number[] =>
  totals.map((total) => total - mean(totals)!);
