/**
 * Proximal policy optimisation (Schulman et al. 2017), as used by Search-R1 and
 * ParallelSearch (App. A.4). Details and departures:
 *
 * 1. One rollout per question. A token's advantage is its return minus a value head's
 *    estimate (generalised advantage estimation, Schulman et al. 2016).
 * 2. The KL to the initial model is subtracted from each token's reward. A search turn's
 *    reward is credited to its last token, the rest to the rollout's last.
 * 3. The value head reads the policy's own hidden states, where the paper trains a second
 *    model; its gradient reaches the adapter with weight `valueWeight`.
 * 4. The policy's learning rate is GRPO's, the value head's ten times that; both warm up
 *    over the paper's shares of the steps.
 */
import * as tf from '@tensorflow/tfjs-core';
import { mean, sum, variance } from 'd3-array';
import type { Weights } from '../policy/model/weights.js';
import type { With } from '../rollout/trajectory.js';
import { scheduledRate } from './adamw.js';
import { clipStatistics, clippedObjective, tokenColumn, type GrpoRow } from './grpo.js';
import type { Metrics } from './metrics.js';
import { isTimedOut } from './rollout-groups.js';
import {
  buildTrainer,
  TrainingSession,
  assignAdvantages,
  type Step,
  type Trainer,
  type TrainingTask,
} from './trainer.js';

/** A rollout's tokens and the inputs of the loss, one value per trained token. */
interface PpoRow extends GrpoRow {
  oldValues: number[];
  returns: number[];
}

const [HEAD, BIAS] = ['value.weight', 'value.bias'];

export function createPpoTrainer(task: TrainingTask): Trainer {
  const { hiddenSize } = task.model.config;
  const valueHead = { [HEAD]: tf.zeros([hiddenSize, 1]), [BIAS]: tf.zeros([1]) };
  const session = new TrainingSession(task, 'ppo', valueHead);
  const options = task.config.ppo!;
  return buildTrainer<PpoRow>(session, {
    isOnPolicy: true,
    prepare: async (sampled) => {
      const finished = sampled.trajectories.filter((trajectory) => !isTimedOut(trajectory));
      const policyRows = await session.policyRows(finished);
      const values = await session.trained.perToken(policyRows, computeValues);
      const estimates = policyRows.map(({ oldLogProbs, referenceLogProbs }, i) => {
        const rewards = tokenRewards(finished[i]).map(
          (reward, t) => reward - options.beta * (oldLogProbs[t] - referenceLogProbs[t]),
        );
        return generalisedAdvantages(rewards, values[i], options);
      });
      const advantages = whiten(estimates.map((estimate) => estimate.advantages));
      const returns = estimates.map((estimate) => estimate.returns);
      const means = new Map(finished.map((trajectory, i) => [trajectory, mean(advantages[i])]));
      const columns = (i: number) => ({ advantages: advantages[i], returns: returns[i] });
      return {
        trajectories: assignAdvantages(sampled.trajectories, (one) => means.get(one) ?? 0),
        rows: policyRows.map((row, i) => ({ ...row, oldValues: values[i], ...columns(i) })),
        metrics: { explained_variance: explainedVariance(returns.flat(), values.flat()) },
      };
    },
    update: (rows, step) => updatePpo(session, rows, step),
    updateMetrics: ['loss', 'value_loss', 'kl', 'clip_ratio', 'grad_norm'],
  });
}

async function updatePpo(
  { task, trained }: TrainingSession,
  rows: readonly PpoRow[],
  { index, learningRate }: Step,
): Promise<Metrics> {
  const options = task.config.ppo!;
  const { valueLearningRate: peak, valueWarmupSteps: warmupSteps, steps } = options;
  const valueRate = scheduledRate(index, { peak, final: peak, warmupSteps, totalSteps: steps });
  const rateFor = (key: string): number =>
    key === HEAD || key === BIAS ? valueRate : learningRate;
  const rates = { learningRate: rateFor, maxGradNorm: options.maxGradNorm };
  const numTokens = sum(rows, (row) => row.oldLogProbs.length);
  const { loss, gradNorm, passes } = await trained.update(
    rows,
    rates,
    (logProbs, batch, states) => {
      const tokens = {
        oldLogProbs: tokenColumn(batch, 'oldLogProbs'), // (M), like the others
        advantages: tokenColumn(batch, 'advantages'),
        oldValues: tokenColumn(batch, 'oldValues'),
        returns: tokenColumn(batch, 'returns'),
        weights: tf.fill<tf.Rank.R1>([logProbs.size], 1 / numTokens),
      };
      const values = computeValues(states.hidden, states.newest);
      return {
        loss: ppoLoss(logProbs, values, tokens, options),
        read: { logProbs, valueLoss: valueLoss(values, tokens, options.valueClip) },
      };
    },
  );
  return {
    loss,
    grad_norm: gradNorm,
    value_loss: sum(passes, ({ values }) => values.valueLoss[0]),
    ...clipStatistics(passes, { numTokens, clip: options.clip }),
  };
}

/** Predicts values (M) from hidden states (M, C). The caller disposes of the result. */
const computeValues = (hidden: tf.Tensor2D, trained: Weights): tf.Tensor1D =>
  tf.add(tf.squeeze<tf.Tensor1D>(tf.matMul(hidden, trained[HEAD]), [1]), trained[BIAS]);

/** The reward of each trained token, before the KL penalty. */
export function tokenRewards({ segments, rewards, turnRewards = [] }: With<'rewards'>): number[] {
  const tokens: number[] = [];
  let turn = 0;
  for (const { kind, tokenIds } of segments) {
    if (kind === 'policy') tokens.push(...tokenIds.map(() => 0));
    if (kind === 'information') tokens[tokens.length - 1] += turnRewards[turn++] ?? 0;
  }
  if (tokens.length > 0) tokens[tokens.length - 1] += rewards.total;
  return tokens;
}

/**
 * Generalised advantage estimates of one rollout's tokens, A_t = delta_t + gamma lambda
 * A_(t+1) with delta_t = r_t + gamma V_(t+1) - V_t, and the value targets A_t + V_t. The
 * value after the last token is 0. Environment tokens are left out, which changes nothing
 * at the paper's gamma = lambda = 1.
 */
export function generalisedAdvantages(
  rewards: readonly number[],
  values: readonly number[],
  { gamma, lambda }: { gamma: number; lambda: number },
): { advantages: number[]; returns: number[] } {
  const advantages = new Array<number>(rewards.length);
  let next = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const delta = rewards[t] + gamma * (values[t + 1] ?? 0) - values[t];
    advantages[t] = next = delta + gamma * lambda * next;
  }
  return { advantages, returns: advantages.map((advantage, t) => advantage + values[t]) };
}

/** Normalises all rows to mean 0 and standard deviation 1 (n - 1), as verl does. */
export function whiten(rows: readonly (readonly number[])[]): number[][] {
  const all = rows.flat();
  const center = mean(all) ?? 0;
  const spread = variance(all) ?? 0;
  return rows.map((row) => row.map((value) => (value - center) / Math.sqrt(spread + 1e-8)));
}

/** Explained variance of the returns: at most 1; 0 if values or returns are constant. */
export function explainedVariance(returns: readonly number[], values: readonly number[]): number {
  const total = variance(returns) ?? 0;
  const left = variance(returns.map((value, i) => value - values[i])) ?? 0;
  return total > 0 ? 1 - left / total : 0;
}

/** Inputs of the loss, one value per trained token (M) each. */
interface PpoTokens {
  /** Log-probs (nats) under the sampling policy. */
  oldLogProbs: tf.Tensor1D;
  advantages: tf.Tensor1D;
  /** Values from which the advantages were computed. */
  oldValues: tf.Tensor1D;
  returns: tf.Tensor1D;
  /** Weight in the sum: 1 / number of tokens for a token mean. */
  weights: tf.Tensor1D;
}

/**
 * Value loss: the sum over tokens of weight * max((V - R)^2, (clip(V) - R)^2) / 2, with V
 * clipped to within `valueClip` of the old value. The caller disposes of the result.
 */
export function valueLoss(
  values: tf.Tensor1D,
  { oldValues, returns, weights }: Pick<PpoTokens, 'oldValues' | 'returns' | 'weights'>,
  valueClip: number,
): tf.Scalar {
  const moved = tf.clipByValue(tf.sub(values, oldValues), -valueClip, valueClip);
  const squares = tf.square(tf.sub(values, returns));
  const clipped = tf.square(tf.sub(tf.add(oldValues, moved), returns));
  return tf.sum(tf.mul(tf.maximum(squares, clipped), tf.mul(weights, 0.5)));
}

/**
 * PPO's loss: the sum over tokens of weight * -min(ratio A, clip(ratio) A), plus
 * `valueWeight` times {@link valueLoss}. The caller disposes of the result.
 */
export function ppoLoss(
  logProbs: tf.Tensor1D,
  values: tf.Tensor1D,
  tokens: PpoTokens,
  { clip, valueClip, valueWeight }: { clip: number; valueClip: number; valueWeight: number },
): tf.Scalar {
  const objective = clippedObjective(logProbs, tokens, { clip });
  const policyLoss = tf.neg(tf.sum(tf.mul(objective, tokens.weights)));
  return tf.add(policyLoss, tf.mul(valueLoss(values, tokens, valueClip), valueWeight));
}
