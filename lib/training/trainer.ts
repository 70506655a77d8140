/** The interface of trainers, and what they share. */
import type { Question } from '../data/question.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import type { Model } from '../policy/model/model.js';
import type { Weights } from '../policy/model/weights.js';
import type { Policy } from '../policy/policy.js';
import { createRandom, type Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { createSearchCache } from '../retrieval/search.js';
import { presetRewards } from '../rewards/presets.js';
import { checkRewards, type Reward } from '../rewards/reward.js';
import type { RolloutConfig, RolloutOptions } from '../rollout/options.js';
import type { RolloutStats } from '../rollout/rollout.js';
import type { Trajectory, With } from '../rollout/trajectory.js';
import { scheduledRate } from './adamw.js';
import { TrainedAdapter } from './adapter.js';
import { trainerSettings, type TrainConfig, type TrainerSettings } from './config.js';
import {
  strictMean,
  rolloutMetrics,
  sampledEntropy,
  sampledLogProbs,
  type Metrics,
} from './metrics.js';
import { createQuestionSampler } from './question-sampler.js';
import { ALONE, generateTogether, type Ranks } from './ranks.js';
import { rollOutGroups } from './rollout-groups.js';
import { toSequence, type Sequence } from './sequences.js';

export interface TrainingTask {
  config: TrainConfig;
  /** The caller keeps ownership of the weights. */
  model: Model;
  questions: readonly Question[];
  retriever: Retriever;
  /** Rewards whose weighted sum is maximised. Default: the configuration's. */
  rewards?: readonly Reward[];
  /**
   * GRPO only: samples rollouts instead of the policy being trained, for example a vLLM
   * server that has loaded the session's newest adapter. Called once per step. Its
   * log-probs are corrected (`importance-sampling.ts`).
   */
  sampler?: (session: TrainingSession) => Policy | Promise<Policy>;
  /** Ranks that train together. Default: this process alone. */
  ranks?: Ranks;
}

const RETRIEVAL_DEADLINE_MS = 5000;

/** Decides from the metrics of the rollouts whether to update. */
export type IsUsable = (metrics: Metrics) => boolean;

export interface StepResult {
  metrics: Metrics;
  trajectories: With<'rewards' | 'advantage'>[];
}

/** Trains an adapter in memory, one step at a time. Call `dispose` at the end. */
export interface Trainer {
  readonly session: TrainingSession;
  /** Whether rollouts come from the current policy, so that their reward measures it. */
  readonly isOnPolicy: boolean;
  /**
   * Samples, scores and updates once.
   * @param isUsable default: always true; non-finite gradients are never applied
   */
  next(isUsable?: IsUsable): Promise<StepResult>;
  dispose(): void;
}

export interface Step {
  /** Starts at 0. */
  index: number;
  random: Random;
  learningRate: number;
  questions: Question[];
  startMs: number;
}

/** The rollouts of a step, ordered by group. */
export interface SampledStep {
  trajectories: With<'rewards'>[];
  stats: RolloutStats;
  /** One per rollout; absent if a simulator answers the searches. */
  questions?: Question[];
  maxSearchTurns: number;
  /** Whether the policy being trained sampled them; its entropy is then recorded. */
  isOwn: boolean;
  endMs: number;
}

interface SampleOptions {
  /** Default: the policy being trained. */
  policy?: Policy;
  /** Overrides of the configuration's rollout settings. */
  rollout?: Partial<RolloutConfig>;
  /** Default: the task's retriever. */
  search?: RolloutOptions['search'];
}

/** A trajectory's tokens, with log-probs (nats) of the trained ones. */
export interface PolicyRow extends Sequence {
  /** Log-probs under the sampling policy. */
  oldLogProbs: number[];
  /** Log-probs under the initial model. */
  referenceLogProbs: number[];
}

/** The adapter, random numbers, questions and rewards of a training run. */
export class TrainingSession {
  /** The index of the next step; set when a run resumes. */
  step = 0;
  /** Each rollback changes the random numbers and halves the learning rate. */
  rollbacks = 0;
  readonly settings: TrainerSettings;
  readonly trained: TrainedAdapter;
  private readonly random: Random;
  private readonly drawQuestions: (random: Random, count: number) => Question[];
  readonly rewards: readonly Reward[];
  readonly ranks: Ranks;
  private readonly rollout: RolloutOptions;

  /**
   * @param randomName name of the random stream
   * @param extraParams trained with the adapter; owned by this object
   * @throws RangeError if two rewards have the same name
   */
  constructor(
    readonly task: TrainingTask,
    randomName: string,
    extraParams: Weights = {},
  ) {
    const { config, model, questions } = task;
    const { preset, ...overrides } = config.rewards;
    this.rewards = task.rewards ?? presetRewards(preset, overrides);
    checkRewards(this.rewards);
    this.ranks = task.ranks ?? ALONE;
    this.settings = trainerSettings(config);
    const { temperature, maxTokensPerPass, mix } = this.settings;
    const { retrievalDeadlineMs = RETRIEVAL_DEADLINE_MS } = config;
    const cache = createSearchCache();
    this.rollout = { ...config.rollout, retrievalDeadlineMs, temperature, cache };
    this.random = createRandom(config.seed).fork(randomName);
    this.drawQuestions = createQuestionSampler(questions, mix);
    const { method: name, lora } = config;
    const random = createRandom(config.seed).fork('adapter');
    const options = { name, lora, random, extraParams, temperature, maxTokensPerPass };
    this.trained = new TrainedAdapter(model, { ...options, ranks: this.ranks });
  }

  get numSteps(): number {
    return this.settings.steps;
  }

  /** The current policy; owned by this object and valid until the next step. */
  get policy(): LocalPolicy {
    return this.trained.useCurrentPolicy();
  }

  /** Gives every rank the state of rank 0, which may have resumed or rolled back. */
  async synchronise(): Promise<void> {
    const { step, rollbacks } = this;
    Object.assign(this, await this.ranks.once(() => ({ step, rollbacks })));
    await this.trained.synchronise();
  }

  /** @param isDecaying whether the learning rate decays to 0 over the steps */
  begin({ isDecaying = false } = {}): Step {
    const { step, rollbacks } = this;
    const { learningRate: peak, warmupSteps, questionsPerStep } = this.settings;
    const random = this.random.fork(rollbacks === 0 ? step : `${step} after rollback ${rollbacks}`);
    const schedule = { peak, final: isDecaying ? 0 : peak, warmupSteps, totalSteps: this.numSteps };
    return {
      index: step,
      random,
      learningRate: scheduledRate(step, schedule) / 2 ** rollbacks,
      questions: this.drawQuestions(random.fork('questions'), questionsPerStep),
      startMs: performance.now(),
    };
  }

  /** Samples and scores G rollouts per question. */
  async sample(
    { questions, random }: Step,
    { policy, rollout, search }: SampleOptions = {},
  ): Promise<SampledStep> {
    const { task, trained, settings, rewards, ranks } = this;
    const sampling = { ...this.rollout, ...rollout, search };
    const { groupSize } = settings;
    const groups = { retriever: task.retriever, rewards, groupSize, random, rollout: sampling };
    const sampler = policy ?? trained.useCurrentPolicy();
    const { questions: asked, ...sampled } = await generateTogether(sampler, ranks, (together) =>
      rollOutGroups(together, questions, groups),
    );
    return {
      ...sampled,
      ...(!search && { questions: asked }),
      maxSearchTurns: sampling.maxSearchTurns,
      isOwn: !policy,
      endMs: performance.now(),
    };
  }

  /** Converts trajectories to rows, with log-probs under the initial model. */
  async policyRows(trajectories: readonly Trajectory[]): Promise<PolicyRow[]> {
    const sequences = trajectories.map(toSequence);
    const reference = await this.trained.referenceLogProbs(sequences);
    return trajectories.map(({ segments }, i) => ({
      ...sequences[i],
      oldLogProbs: segments.flatMap(({ logProbs = [] }) => logProbs),
      referenceLogProbs: reference[i],
    }));
  }

  /** Computes the metrics of a step's rollouts. */
  measure(
    { stats, questions, maxSearchTurns, isOwn }: SampledStep,
    trajectories: StepResult['trajectories'],
  ): Metrics {
    const { groupSize } = this.settings;
    const { maxNewTokens } = this.rollout;
    const options = { groupSize, stats, maxNewTokens, questions, maxSearchTurns };
    return {
      ...rolloutMetrics(trajectories, options),
      ...(isOwn && { entropy: sampledEntropy(trajectories), ...sampledLogProbs(trajectories) }),
    };
  }

  dispose(): void {
    this.trained.dispose();
  }
}

/** A step's trajectories, and the rows to update from. */
interface PreparedStep<Row> {
  trajectories: StepResult['trajectories'];
  rows: readonly Row[];
  /** Additional metrics. */
  metrics?: Metrics;
}

/** The parts in which trainers differ. */
interface TrainerParts<Row> {
  isOnPolicy: boolean;
  /** Whether the learning rate decays to 0 over the steps. */
  isDecaying?: boolean;
  /** How to sample. Default: from the policy being trained, as configured. */
  sampling?: (step: Step) => SampleOptions | Promise<SampleOptions>;
  /** Turns rollouts into rows for the update. */
  prepare: (sampled: SampledStep, step: Step) => PreparedStep<Row> | Promise<PreparedStep<Row>>;
  /** Makes one optimizer step on a mini-batch; returns its metrics. */
  update: (rows: readonly Row[], step: Step) => Promise<Metrics>;
  /** Names of the update's metrics, which are 0 in a step without an update. */
  updateMetrics: readonly string[];
  /** Frees what the session does not own. */
  dispose?: () => void;
}

/** Builds a trainer whose steps run these parts in order. */
export function buildTrainer<Row>(
  session: TrainingSession,
  { isOnPolicy, isDecaying, sampling, prepare, update, updateMetrics, dispose }: TrainerParts<Row>,
): Trainer {
  const next: Trainer['next'] = async (isUsable = () => true) => {
    await session.synchronise();
    const step = session.begin({ isDecaying });
    const sampled = await session.sample(step, await sampling?.(step));
    const { trajectories, rows, metrics } = await prepare(sampled, step);
    const measured = session.measure(sampled, trajectories);
    const updates: Metrics[] = [];
    if (await session.ranks.once(() => isUsable({ ...measured, ...metrics })))
      for (const batch of miniBatches(rows, session.settings.miniBatches, step.random))
        updates.push(await update(batch, step));
    session.step++;
    const mean = (name: string): number => strictMean(updates.map((values) => values[name]));
    return {
      metrics: {
        ...measured,
        ...Object.fromEntries(updateMetrics.map((name) => [name, mean(name)])),
        ...metrics,
        learning_rate: step.learningRate,
        rollout_seconds: (sampled.endMs - step.startMs) / 1000,
        update_seconds: (performance.now() - sampled.endMs) / 1000,
      },
      trajectories,
    };
  };
  const disposeAll = (): void => {
    dispose?.();
    session.dispose();
  };
  return { session, isOnPolicy, next, dispose: disposeAll };
}

/** Adds an advantage to each trajectory, for the record. */
export const assignAdvantages = (
  trajectories: readonly With<'rewards'>[],
  advantage: (trajectory: With<'rewards'>, index: number) => number,
): StepResult['trajectories'] =>
  trajectories.map((trajectory, i) => ({ ...trajectory, advantage: advantage(trajectory, i) }));

/** Shuffles rows and deals them into at most `count` mini-batches of near-equal size. */
function miniBatches<Row>(rows: readonly Row[], count: number, random: Random): Row[][] {
  const shuffled = random.fork('mini-batches').shuffle(rows);
  const batches = Array.from({ length: count }, (_, b) =>
    shuffled.filter((_, i) => i % count === b),
  );
  return batches.filter((batch) => batch.length > 0);
}
