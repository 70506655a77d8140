/**
 * Group relative policy optimisation (Shao et al. 2024): a rollout is worth what its
 * reward is above those of its group. Groups of equal rewards are skipped and counted
 * (`frac_reward_zero_std`).
 */
import * as tf from '@tensorflow/tfjs-core';
import { isZeroVariance, tokenAdvantages, withAdvantages } from '../advantages.js';
import { OnPolicyTrainer, policyRows, type Algorithm, type PolicyRow } from '../on-policy.js';
import { groupsOf } from '../rollouts.js';
import type { TrainingTask } from '../trainer.js';
import { grpoLoss, grpoStatistics } from './loss.js';

/**
 * The tokens of a trajectory with everything the loss needs, a value a masked-in token.
 */
export interface GrpoRow extends PolicyRow {
  advantages: number[];
}

export const grpo: Algorithm<GrpoRow> = {
  name: 'grpo',
  metrics: ['loss', 'kl', 'clip_ratio', 'grad_norm'],

  assess: async (rewarded, { trained, groupSize }) => {
    const trajectories = withAdvantages(rewarded, groupSize);
    const useful = groupsOf(trajectories, groupSize).filter((group) => !isZeroVariance(group));
    const rows = await policyRows(useful.flat(), trained);
    const advantages = useful.flat().map(tokenAdvantages);
    return { trajectories, rows: rows.map((row, i) => ({ ...row, advantages: advantages[i] })) };
  },

  update: async (rows, { config, trained, learningRate }) => {
    const { clip, maxGradNorm } = config.grpo;
    const numTokens = rows.reduce((sum, row) => sum + row.oldLogProbs.length, 0);
    const means = { kl: 0, clip_ratio: 0 };
    const rates = { learningRate, maxGradNorm };
    const { loss, gradNorm } = await trained.update(rows, rates, (logProbs, some, _, { look }) => {
      const old = some.flatMap((row) => row.oldLogProbs);
      const reference = some.flatMap((row) => row.referenceLogProbs);
      const advantages = some.flatMap((row) => row.advantages);
      look(logProbs, (newest) => {
        const { kl, clipFraction } = grpoStatistics(newest, old, reference, advantages, clip);
        means.kl += kl * (old.length / numTokens);
        means.clip_ratio += clipFraction * (old.length / numTokens);
      });
      const tokens = {
        oldLogProbs: tf.tensor1d(old),
        referenceLogProbs: tf.tensor1d(reference),
        advantages: tf.tensor1d(advantages),
        weights: tf.fill<tf.Rank.R1>([old.length], 1 / numTokens),
      };
      return grpoLoss(logProbs, tokens, config.grpo);
    });
    return { loss, grad_norm: gradNorm, ...means };
  },
};

export class GrpoTrainer extends OnPolicyTrainer<GrpoRow> {
  /** @throws RangeError where two rewards have the same name */
  constructor(task: TrainingTask) {
    super(task, grpo);
  }
}
