/** Which trajectories belong together: rollouts of one question and step, and other methods on the same question. */
import type { ViewerData, ViewerTrajectory } from '../data.js';

export interface Groups {
  /** Rollouts of the same question, method and step, that one included, in order. */
  groupOf: (index: number) => number[];
  /** The trajectory of a method on the same question to be read beside, or null: one of the same step before others. */
  partnerOf: (index: number, method: string) => number | null;
}

/** The names of the methods, in the order in which they first occur. */
export function methodsOf({ trajectories }: ViewerData): string[] {
  return [...new Set(trajectories.map(({ method }) => method))];
}

/** Builds the index; questions are the same when id and text are, whatever else is known of them. */
export function createGroups({ trajectories, questions }: ViewerData): Groups {
  const keys = questions.map(({ id, question }) => `${id}\n${question}`);
  const keyOf = ({ question }: ViewerTrajectory): string => keys[question];
  const byQuestion = new Map<string, number[]>();
  trajectories.forEach((trajectory, i) => {
    const same = byQuestion.get(keyOf(trajectory));
    if (same) same.push(i);
    else byQuestion.set(keyOf(trajectory), [i]);
  });
  const sameQuestion = (index: number): number[] => byQuestion.get(keyOf(trajectories[index])) ?? [];
  return {
    groupOf(index) {
      const { method, step } = trajectories[index];
      return sameQuestion(index).filter(
        (i) => trajectories[i].method === method && trajectories[i].step === step,
      );
    },
    partnerOf(index, method) {
      const others = sameQuestion(index).filter((i) => i !== index && trajectories[i].method === method);
      const sameStep = others.find((i) => trajectories[i].step === trajectories[index].step);
      return sameStep ?? others.at(-1) ?? null;
    },
  };
}

/** Rewards less their mean: where no advantage was recorded, how a rollout stands within its group. */
export function aboveMean(totals: readonly number[]): number[] {
  const mean = totals.reduce((sum, total) => sum + total, 0) / Math.max(1, totals.length);
  return totals.map((total) => total - mean);
}
