/** GRPO in memory, a step at a time; what is written to disk between the steps is the caller's. */
import * as tf from '@tensorflow/tfjs-core';
import { LRUCache } from 'lru-cache';
import type { Question } from '../data/question.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { createAdapter, disposeMerged, mergeAdapter } from '../policy/lora.js';
import type { Model } from '../policy/model-folder.js';
import { rotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import { createRandom, type Random } from '../random.js';
import type { RetrievedPassage, Retriever } from '../retrieval/retriever.js';
import { rewardOptions } from '../rewards/presets.js';
import { PAPER_REWARD, type Reward } from '../rewards/reward.js';
import { AdamW, scheduledRate } from './adamw.js';
import { saveCheckpoint, type Checkpoint, type RunState } from './checkpoint.js';
import { grpoStep, type GrpoMetrics, type GrpoSetting, type ScoredTrajectory } from './grpo.js';
import { createQuestionSampler } from './question-sampler.js';
import type { GrpoConfig } from './options.js';
import { scoreSequences, type Sequence } from './sequences.js';

/** What is trained, on what. */
export interface GrpoTask {
  config: GrpoConfig;
  /** The model; its weights stay the caller's. */
  model: Model;
  questions: readonly Question[];
  retriever: Retriever;
  /** By default Eq. 7, with the options of the configuration. */
  reward?: Reward;
}

function settingOf({ config, model, retriever, reward = PAPER_REWARD }: GrpoTask): GrpoSetting {
  const { preset, ...overrides } = config.rewards;
  return {
    policy: new LocalPolicy(config.method, model.weights, model.config, model.tokenizer),
    base: model.weights,
    config: model.config,
    table: rotaryTable(model.config, model.config.maxPositionEmbeddings),
    lora: config.lora,
    retriever,
    rollout: {
      ...config.rollout,
      temperature: config.grpo.temperature,
      cache: new LRUCache<string, RetrievedPassage[]>({ max: 20_000 }),
    },
    rewards: rewardOptions(preset, overrides),
    reward,
    grpo: config.grpo,
  };
}

/** An adapter in training. Dispose of it at the end. */
export class GrpoTrainer {
  private readonly setting: GrpoSetting;
  private readonly random: Random;
  private readonly drawQuestions: (random: Random, count: number) => Question[];
  private readonly optimizer = new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0 });
  private trained: Weights;
  /** The model with the adapter, as `policy` has them; null before the first use and after every step. */
  private merged: Weights | null = null;
  private numSteps = 0;

  constructor(private readonly task: GrpoTask) {
    const { config, model } = task;
    this.setting = settingOf(task);
    this.random = createRandom(config.seed).fork('grpo');
    this.drawQuestions = createQuestionSampler(task.questions, config.grpo.mix);
    this.trained = createAdapter(model.config, config.lora, createRandom(config.seed).fork('adapter'));
  }

  /** Steps done; the next one has this number. */
  get step(): number {
    return this.numSteps;
  }

  /** The adapter as it is; it stays the trainer's. */
  get adapter(): Weights {
    return this.trained;
  }

  /** The policy as it is; it stays the trainer's, and is good until the next step. */
  get policy(): LocalPolicy {
    this.setting.policy.setWeights(this.weights());
    return this.setting.policy;
  }

  /** Rolls out, rewards and updates once, on questions drawn by the configuration's mix. */
  async next(): Promise<{ metrics: GrpoMetrics; trajectories: ScoredTrajectory[] }> {
    this.release();
    const stepRandom = this.random.fork(this.numSteps);
    const { learningRate, warmupSteps, steps, questionsPerStep } = this.task.config.grpo;
    const schedule = { peak: learningRate, final: learningRate, warmupSteps, totalSteps: steps };
    const questions = this.drawQuestions(stepRandom.fork('questions'), questionsPerStep);
    const { adapter, metrics, trajectories } = await grpoStep(this.setting, this.trained, questions, {
      optimizer: this.optimizer,
      random: stepRandom,
      learningRate: scheduledRate(this.numSteps, schedule),
    });
    this.trained = adapter;
    this.numSteps++;
    return { metrics, trajectories };
  }

  /** Log-probabilities (nats) that the policy as it is gives to the masked-in tokens of each sequence. */
  async logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    const { config, table, rollout } = this.setting;
    const { temperature } = rollout;
    const scored = await scoreSequences(this.weights(), sequences, config, { table, temperature });
    return scored.map(({ logProbs }) => logProbs);
  }

  /** Writes all that it takes to go on from here. */
  async save(folder: string, hash: string): Promise<void> {
    const state: RunState = { nextStep: this.numSteps, hash };
    await saveCheckpoint(folder, this.trained, this.optimizer, state);
  }

  /** Goes on from a checkpoint, whose weights become the trainer's. */
  restore({ trainable, optimizer, state }: Checkpoint<RunState>): void {
    this.release();
    disposeWeights(this.trained);
    this.optimizer.restore(optimizer);
    [this.trained, this.numSteps] = [trainable, state.nextStep];
  }

  dispose(): void {
    this.release();
    const { policy, table } = this.setting;
    policy.dispose();
    this.optimizer.dispose();
    disposeWeights(this.trained);
    tf.dispose([table.cos, table.sin, table.rotation]);
  }

  private weights(): Weights {
    const { base, lora } = this.setting;
    this.merged ??= tf.tidy(() => mergeAdapter(base, this.trained, lora));
    return this.merged;
  }

  private release(): void {
    const { base, policy } = this.setting;
    if (this.merged) disposeMerged(this.merged, base);
    this.merged = null;
    policy.setWeights(base);
  }
}
