/**
 * Computes what GRPO's variants would make of the rollouts of a training: figures in
 * docs/methods/grpo.md.
 */
import { group, sum } from 'd3-array';
import { readJsonLines } from '../../lib/io/files.js';
import type { With } from '../../lib/rollout/trajectory.js';
import { isZeroVariance, withAdvantages } from '../../lib/training/advantages.js';
import { isCorrect, splitIntoGroups } from '../../lib/training/rollout-groups.js';

const VARIANTS = {
  default: {},
  'scaleRewards batch': { scaleRewards: 'batch' },
  'scaleRewards none': { scaleRewards: 'none' },
  normalize_then_sum: { multiObjectiveAggregation: 'normalize_then_sum' },
} as const;

type Rollout = With<'rewards'> & { step: number };

/**
 * Shares by variant: of the total |A| in groups without a correct rollout, and of wrong
 * rollouts with a positive advantage in trained groups.
 * @param file `trajectories.jsonl` of a run
 */
export async function compareVariants(file: string, groupSize: number) {
  const rollouts: Rollout[] = [];
  const parse = (line: unknown): Rollout => line as Rollout;
  for await (const rollout of readJsonLines(file, parse, 'rollouts')) rollouts.push(rollout);
  const steps = [...group(rollouts, ({ step }) => step).values()];
  return Object.entries(VARIANTS).map(([variant, options]) => {
    const groups = steps
      .flatMap((step) => splitIntoGroups(withAdvantages(step, groupSize, options), groupSize))
      .filter((members) => !isZeroVariance(members));
    const size = (members: typeof groups): number =>
      sum(members.flat(), ({ advantage }) => Math.abs(advantage));
    const phantoms = groups.filter((members) => !members.some(isCorrect));
    const wrong = groups.flat().filter((rollout) => !isCorrect(rollout));
    return {
      variant,
      phantom: size(phantoms) / size(groups),
      wrongEncouraged: wrong.filter(({ advantage }) => advantage > 0).length / wrong.length,
    };
  });
}
