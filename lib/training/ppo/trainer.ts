/**
 * Proximal policy optimisation (Schulman et al. 2017) as Search-R1 and ParallelSearch
 * use it (App. A.4): every question is asked once, and a token is worth what follows it,
 * less what a value head expected. The KL to the initial model is taken from the reward
 * of each token; what a reward gives for a search turn comes at its last token, the rest
 * at the rollout's last.
 *
 * Departures: the value head reads the policy's own hidden states, where the paper trains
 * a second model; its gradient reaches the adapter with weight `valueWeight`. Learning
 * rates and warm-up are the paper's in proportion, for 200 steps.
 */
import * as tf from '@tensorflow/tfjs-core';
import { mean, sum } from 'd3-array';
import type { Weights } from '../../policy/weights.js';
import { scheduledRate } from '../adamw.js';
import { grpoStatistics } from '../grpo/loss.js';
import { OnPolicyTrainer, policyRows, type Algorithm, type PolicyRow } from '../on-policy.js';
import type { RewardedTrajectory } from '../rollouts.js';
import type { TrainingTask } from '../trainer.js';
import { explainedVariance, generalisedAdvantages, whitened } from './advantages.js';
import { ppoLoss, valueLoss } from './loss.js';
import { ppoSchema, type PpoOptions } from './options.js';

/**
 * The tokens of a trajectory with everything the loss needs, a value a masked-in token.
 */
interface PpoRow extends PolicyRow {
  advantages: number[];
  oldValues: number[];
  returns: number[];
}

/** Names of the value head's weights. */
const [HEAD, BIAS] = ['value.weight', 'value.bias'];

/** Values (M) by hidden states (M, C). */
const valuesOf = (hidden: tf.Tensor2D, trained: Weights): tf.Tensor1D =>
  tf.add(tf.squeeze<tf.Tensor1D>(tf.matMul(hidden, trained[HEAD]), [1]), trained[BIAS]);

/** The reward of each token that the policy wrote, without the KL. */
export function tokenRewards({
  segments,
  rewards,
  turnRewards = [],
}: RewardedTrajectory): number[] {
  const tokens: number[] = [];
  let turn = 0;
  for (const { kind, tokenIds } of segments) {
    if (kind === 'policy') tokens.push(...tokenIds.map(() => 0));
    if (kind === 'information') tokens[tokens.length - 1] += turnRewards[turn++] ?? 0;
  }
  if (tokens.length > 0) tokens[tokens.length - 1] += rewards.total;
  return tokens;
}

const optionsOf = ({ ppo }: { ppo?: PpoOptions }): PpoOptions => ppo ?? ppoSchema.parse({});

const ppo: Algorithm<PpoRow> = {
  name: 'ppo',
  groupSize: 1,
  metrics: ['loss', 'value_loss', 'kl', 'clip_ratio', 'grad_norm'],

  beside: ({ hiddenSize }) => ({ [HEAD]: tf.zeros([hiddenSize, 1]), [BIAS]: tf.zeros([1]) }),

  assess: async (rewarded, { config, trained }) => {
    const known = await policyRows(rewarded, trained);
    const values = await trained.perToken(known, valuesOf);
    const { beta } = config.grpo;
    const estimates = known.map(({ oldLogProbs, referenceLogProbs }, i) => {
      const rewards = tokenRewards(rewarded[i]).map(
        (reward, t) => reward - beta * (oldLogProbs[t] - referenceLogProbs[t]),
      );
      return generalisedAdvantages(rewards, values[i], optionsOf(config));
    });
    const advantages = whitened(estimates.map((estimate) => estimate.advantages));
    const returns = estimates.map((estimate) => estimate.returns);
    return {
      trajectories: rewarded.map((one, i) => ({ ...one, advantage: mean(advantages[i]) ?? 0 })),
      rows: known.map((row, i) => ({
        ...row,
        advantages: advantages[i],
        oldValues: values[i],
        returns: returns[i],
      })),
      metrics: { explained_variance: explainedVariance(returns.flat(), values.flat()) },
    };
  },

  update: async (rows, { config, trained, step, learningRate }) => {
    const { clip, maxGradNorm, steps } = config.grpo;
    const options = optionsOf(config);
    const { valueLearningRate: peak, valueWarmupSteps: warmupSteps } = options;
    const valueRate = scheduledRate(step, { peak, final: peak, warmupSteps, totalSteps: steps });
    const rateOf = (key: string): number =>
      key === HEAD || key === BIAS ? valueRate : learningRate;
    const numTokens = sum(rows, (row) => row.oldLogProbs.length);
    const means = { kl: 0, clip_ratio: 0, value_loss: 0 };
    const { loss, gradNorm } = await trained.update(
      rows,
      { learningRate: rateOf, maxGradNorm },
      (logProbs, some, _, states) => {
        const [old, reference, advantages, oldValues, returns] = (
          ['oldLogProbs', 'referenceLogProbs', 'advantages', 'oldValues', 'returns'] as const
        ).map((name) => some.flatMap((row) => row[name]));
        states.look(logProbs, (newest) => {
          const { kl, clipFraction } = grpoStatistics(newest, old, reference, advantages, clip);
          means.kl += kl * (old.length / numTokens);
          means.clip_ratio += clipFraction * (old.length / numTokens);
        });
        const tokens = {
          oldLogProbs: tf.tensor1d(old),
          advantages: tf.tensor1d(advantages),
          oldValues: tf.tensor1d(oldValues),
          returns: tf.tensor1d(returns),
          weights: tf.fill<tf.Rank.R1>([old.length], 1 / numTokens),
        };
        const values = valuesOf(states.hidden, states.trained);
        states.look(
          valueLoss(values, tokens, options.valueClip),
          ([part]) => (means.value_loss += part),
        );
        return ppoLoss(logProbs, values, tokens, { ...options, clip });
      },
    );
    return { loss, grad_norm: gradNorm, ...means };
  },
};

export const createPpoTrainer = (task: TrainingTask): OnPolicyTrainer<PpoRow> =>
  new OnPolicyTrainer(task, ppo);
