/**
 * Group relative policy optimisation (Shao et al. 2024): roll out groups, reward them, compute advantages, and update an adapter
 * in several mini-batches. The reference is the initial model, which stays as it is.
 */
import * as tf from '@tensorflow/tfjs-core';
import { LRUCache } from 'lru-cache';
import { createBreather } from '../../io/progress.js';
import type { Question } from '../../data/question.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { createRandom, type Random } from '../../random.js';
import type { RetrievedPassage } from '../../retrieval/retriever.js';
import { rewardsOf } from '../../rewards/presets.js';
import { checkRewards, type Reward } from '../../rewards/reward.js';
import type { RolloutOptions } from '../../rollout/rollout.js';
import { lossMask, tokenIds } from '../../rollout/trajectory.js';
import { TrainedAdapter } from '../adapter.js';
import { scheduledRate } from '../adamw.js';
import { isZeroVariance, tokenAdvantages, withAdvantages, type ScoredTrajectory } from '../advantages.js';
import { mean, rolloutMetrics, sampledEntropy, type Metrics } from '../metrics.js';
import { createQuestionSampler } from '../question-sampler.js';
import { groupsOf, rollOutGroups } from '../rollouts.js';
import type { Sequence } from '../sequences.js';
import type { Trainer, TrainingTask } from '../trainer.js';
import { grpoLoss, grpoStatistics } from './loss.js';

/** The tokens of a trajectory with everything the loss needs, a value a masked-in token. */
interface GrpoRow extends Sequence {
  advantages: number[];
  /** Log-probabilities (nats) under the policy that sampled, and under the initial model. */
  oldLogProbs: number[];
  referenceLogProbs: number[];
}

/** Rows dealt out to mini-batches so that each has its share of every group. */
function miniBatches<Row>(rows: readonly Row[], count: number, random: Random): Row[][] {
  const shuffled = random.shuffle(rows);
  const batches = Array.from({ length: count }, (_, b) => shuffled.filter((_, i) => i % count === b));
  return batches.filter((batch) => batch.length > 0);
}

export class GrpoTrainer implements Trainer {
  step = 0;
  rollbacks = 0;
  readonly trained: TrainedAdapter;
  private readonly random: Random;
  private readonly drawQuestions: (random: Random, count: number) => Question[];
  private readonly rewards: readonly Reward[];
  private readonly rollout: RolloutOptions;

  /** @throws RangeError where two rewards have the same name */
  constructor(private readonly task: TrainingTask) {
    const { config, model, questions } = task;
    const { preset, ...overrides } = config.rewards;
    this.rewards = task.rewards ?? rewardsOf(preset, overrides);
    checkRewards(this.rewards);
    const { temperature, maxTokensPerPass, mix } = config.grpo;
    this.rollout = {
      ...config.rollout,
      temperature,
      onToken: createBreather(),
      cache: new LRUCache<string, RetrievedPassage[]>({ max: 20_000 }),
    };
    this.random = createRandom(config.seed).fork('grpo');
    this.drawQuestions = createQuestionSampler(questions, mix);
    this.trained = new TrainedAdapter(model, {
      name: config.method,
      lora: config.lora,
      random: createRandom(config.seed).fork('adapter'),
      ...{ temperature, maxTokensPerPass },
    });
  }

  get numSteps(): number {
    return this.task.config.grpo.steps;
  }

  get policy(): LocalPolicy {
    return this.trained.policy;
  }

  /** Groups of equal rewards are skipped and counted (`frac_reward_zero_std`). */
  async next(isUsable: (metrics: Metrics) => boolean = () => true): ReturnType<Trainer['next']> {
    const { learningRate: peak, warmupSteps, questionsPerStep, groupSize } = this.task.config.grpo;
    const { rollbacks } = this;
    const random = this.random.fork(rollbacks === 0 ? this.step : `${this.step} after rollback ${rollbacks}`);
    const schedule = { peak, final: peak, warmupSteps, totalSteps: this.numSteps };
    const learningRate = scheduledRate(this.step, schedule) / 2 ** rollbacks;
    const questions = this.drawQuestions(random.fork('questions'), questionsPerStep);

    const start = performance.now();
    const { rewards, rollout, task, trained } = this;
    const groups = { retriever: task.retriever, rollout, rewards, groupSize, random };
    const rolledOut = await rollOutGroups(trained.policy, questions, groups);
    const trajectories = withAdvantages(rolledOut.trajectories, groupSize);

    const updateStart = performance.now();
    const { stats } = rolledOut;
    const { maxNewTokens } = rollout;
    const told = {
      ...rolloutMetrics(trajectories, { groupSize, stats, maxNewTokens }),
      entropy: sampledEntropy(trajectories),
    };
    const useful = isUsable(told)
      ? groupsOf(trajectories, groupSize).filter((group) => !isZeroVariance(group))
      : [];
    const rows = await this.rowsOf(useful.flat());
    const batches = miniBatches(rows, task.config.grpo.miniBatches, random.fork('mini-batches'));
    const updates = batches.map((batch) => this.update(batch, learningRate));
    this.step++;

    const metrics = {
      ...told,
      loss: mean(updates.map(({ loss }) => loss)),
      kl: mean(updates.map(({ kl }) => kl)),
      clip_ratio: mean(updates.map(({ clipFraction }) => clipFraction)),
      grad_norm: mean(updates.map(({ gradNorm }) => gradNorm)),
      learning_rate: learningRate,
      rollout_seconds: (updateStart - start) / 1000,
      update_seconds: (performance.now() - updateStart) / 1000,
    };
    return { metrics, trajectories };
  }

  logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return this.trained.logProbs(sequences);
  }

  dispose(): void {
    this.trained.dispose();
  }

  private async rowsOf(trajectories: readonly ScoredTrajectory[]): Promise<GrpoRow[]> {
    const sequences = trajectories.map((t) => ({ tokenIds: tokenIds(t), lossMask: lossMask(t) }));
    const reference = await this.trained.referenceLogProbs(sequences);
    return trajectories.map((trajectory, i) => ({
      ...sequences[i],
      advantages: tokenAdvantages(trajectory),
      oldLogProbs: trajectory.segments.flatMap((segment) => segment.logProbs ?? []),
      referenceLogProbs: reference[i],
    }));
  }

  /** One optimizer step on the mean over the tokens of some rows. */
  private update(rows: readonly GrpoRow[], learningRate: number) {
    const { grpo } = this.task.config;
    const numTokens = rows.reduce((sum, row) => sum + row.oldLogProbs.length, 0);
    const means = { kl: 0, clipFraction: 0 };
    const step = { learningRate, maxGradNorm: grpo.maxGradNorm };
    const { loss, gradNorm } = this.trained.update(rows, step, (logProbs, some) => {
      const old = some.flatMap((row) => row.oldLogProbs);
      const reference = some.flatMap((row) => row.referenceLogProbs);
      const advantages = some.flatMap((row) => row.advantages);
      const newest = logProbs.dataSync<'float32'>();
      const { kl, clipFraction } = grpoStatistics(newest, old, reference, advantages, grpo.clip);
      means.kl += kl * (old.length / numTokens);
      means.clipFraction += clipFraction * (old.length / numTokens);
      const tokens = {
        oldLogProbs: tf.tensor1d(old),
        referenceLogProbs: tf.tensor1d(reference),
        advantages: tf.tensor1d(advantages),
        weights: tf.fill<tf.Rank.R1>([old.length], 1 / numTokens),
      };
      return grpoLoss(logProbs, tokens, grpo);
    });
    return { loss, gradNorm, ...means };
  }
}
