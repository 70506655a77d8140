/**
 * Which trajectories belong together: rollouts of one question and step, and other
 * methods on the same question.
 */
import { mean } from 'd3-array';
import type { ViewerData } from '../data.js';

/** The names of the methods, in the order in which they first occur. */
export function methodsOf({ trajectories }: ViewerData): string[] {
  return [...new Set(trajectories.map(({ method }) => method))];
}

/**
 * All on the question of a trajectory; questions are the same when id and text are,
 * whatever else is known of them.
 */
function sameQuestion({ trajectories, questions }: ViewerData, index: number): number[] {
  const keyOf = (i: number): string => {
    const { id, question } = questions[trajectories[i].question];
    return `${id}\n${question}`;
  };
  const key = keyOf(index);
  return [...trajectories.keys()].filter((i) => keyOf(i) === key);
}

/** Rollouts of the same question, method and step, that one included, in order. */
export function groupOf(data: ViewerData, index: number): number[] {
  const { method, step } = data.trajectories[index];
  return sameQuestion(data, index).filter((i) => {
    const other = data.trajectories[i];
    return other.method === method && other.step === step;
  });
}

/**
 * The trajectory of a method on the same question to be read beside, or null: one of the
 * same step before others.
 */
export function partnerOf(data: ViewerData, index: number, method: string): number | null {
  const { trajectories } = data;
  const others = sameQuestion(data, index).filter(
    (i) => i !== index && trajectories[i].method === method,
  );
  const sameStep = others.find((i) => trajectories[i].step === trajectories[index].step);
  return sameStep ?? others.at(-1) ?? null;
}

/**
 * Rewards less their mean: where no advantage was recorded, how a rollout stands within
 * its group.
 */
export const aboveMean = (totals: readonly number[]): number[] =>
  totals.map((total) => total - mean(totals)!);
