/**
 * A trainer that learns from what a policy writes: draw questions, roll them out,
 * reward, and update an adapter in several mini-batches. What the rewards are made into
 * is the algorithm's. The reference is the initial model, which stays as it is.
 */
import { LRUCache } from 'lru-cache';
import { createBreather } from '../io/progress.js';
import type { Question } from '../data/question.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import type { ModelConfig } from '../policy/families.js';
import type { Policy } from '../policy/policy.js';
import type { Weights } from '../policy/weights.js';
import { createRandom, type Random } from '../random.js';
import type { RetrievedPassage } from '../retrieval/retriever.js';
import type { SearchOutcome } from '../retrieval/search.js';
import { presetRewards } from '../rewards/presets.js';
import { checkRewards, type Reward } from '../rewards/reward.js';
import type { RolloutConfig } from '../rollout/options.js';
import type { RolloutOptions, SimulatedQuery } from '../rollout/rollout.js';
import { lossMask, tokenIds } from '../rollout/trajectory.js';
import { TrainedAdapter } from './adapter.js';
import { scheduledRate } from './adamw.js';
import type { ScoredTrajectory } from './advantages.js';
import { mean, rolloutMetrics, sampledEntropy, type Metrics } from './metrics.js';
import type { TrainingConfig } from './options.js';
import { createQuestionSampler } from './question-sampler.js';
import { rollOutGroups, type RewardedTrajectory } from './rollouts.js';
import type { Sequence } from './sequences.js';
import type { Trainer, TrainingTask } from './trainer.js';

/**
 * The tokens of a trajectory, with what the policies that matter thought of them: a value
 * a masked-in token.
 */
export interface PolicyRow extends Sequence {
  /**
   * Log-probabilities (nats) under the policy that sampled, and under the initial model.
   */
  oldLogProbs: number[];
  referenceLogProbs: number[];
}

/** Where a run is, for an algorithm. */
export interface StepContext {
  config: TrainingConfig;
  trained: TrainedAdapter;
  /** Of the step, from 0, with its learning rate. */
  step: number;
  learningRate: number;
}

/** How rewards become an update. */
export interface Algorithm<Row extends Sequence> {
  /** Of its stream of random numbers. */
  name: string;
  /**
   * Rollouts of a question, where they are not the configuration's; a step has as many
   * rollouts in all.
   */
  groupSize?: number;
  /** Rolls out the initial model and not the policy as it is. */
  samplesInitial?: boolean;
  /** The learning rate falls to nothing over the steps. */
  decays?: boolean;
  /** Rolls out another policy in a step, where the configuration's rollouts differ so. */
  sampler?(step: number): { policy: Policy; rollout: Partial<RolloutConfig> };
  /** In place of the retriever. */
  search?(
    queries: readonly SimulatedQuery[],
    context: Pick<StepContext, 'step'> & { random: Random },
  ): Promise<SearchOutcome[]>;
  /** What is trained beside the adapter. */
  beside?(config: ModelConfig): Weights;
  /**
   * What the trajectories of a step are worth, and what is learned from them. @param
   * questions of each group of trajectories
   */
  assess(
    rewarded: readonly RewardedTrajectory[],
    context: StepContext & { groupSize: number; questions: readonly Question[] },
  ): Promise<{ trajectories: ScoredTrajectory[]; rows: Row[]; metrics?: Metrics }>;
  /** Metrics that an update gives; 0 in a step without any. */
  metrics: readonly string[];
  /** One optimizer step on the mean over the tokens of some rows. */
  update(rows: readonly Row[], context: StepContext): Promise<Metrics>;
  dispose?(): void;
}

/** The rows of trajectories, with the reference's log-probabilities. */
export async function policyRows(
  trajectories: readonly RewardedTrajectory[],
  trained: TrainedAdapter,
): Promise<PolicyRow[]> {
  const sequences = trajectories.map((t) => ({ tokenIds: tokenIds(t), lossMask: lossMask(t) }));
  const reference = await trained.referenceLogProbs(sequences);
  return trajectories.map(({ segments }, i) => ({
    ...sequences[i],
    oldLogProbs: segments.flatMap(({ logProbs = [] }) => logProbs),
    referenceLogProbs: reference[i],
  }));
}

/** Rows dealt out to mini-batches so that each has its share of every group. */
function miniBatches<Row>(rows: readonly Row[], count: number, random: Random): Row[][] {
  const shuffled = random.shuffle(rows);
  const batches = Array.from({ length: count }, (_, b) =>
    shuffled.filter((_, i) => i % count === b),
  );
  return batches.filter((batch) => batch.length > 0);
}

export class OnPolicyTrainer<Row extends Sequence> implements Trainer {
  step = 0;
  rollbacks = 0;
  readonly trained: TrainedAdapter;
  private readonly random: Random;
  private readonly drawQuestions: (random: Random, count: number) => Question[];
  private readonly rewards: readonly Reward[];
  private readonly rollout: RolloutOptions;

  /** @throws RangeError where two rewards have the same name */
  constructor(
    private readonly task: TrainingTask,
    private readonly algorithm: Algorithm<Row>,
  ) {
    const { config, model, questions } = task;
    const { preset, ...overrides } = config.rewards;
    this.rewards = task.rewards ?? presetRewards(preset, overrides);
    checkRewards(this.rewards);
    const { temperature, maxTokensPerPass, mix } = config.grpo;
    this.rollout = {
      ...config.rollout,
      temperature,
      onToken: createBreather(),
      cache: new LRUCache<string, RetrievedPassage[]>({ max: 20_000 }),
    };
    this.random = createRandom(config.seed).fork(algorithm.name);
    this.drawQuestions = createQuestionSampler(questions, mix);
    this.trained = new TrainedAdapter(model, {
      name: config.method,
      lora: config.lora,
      random: createRandom(config.seed).fork('adapter'),
      beside: algorithm.beside?.(model.config),
      temperature,
      maxTokensPerPass,
    });
  }

  get numSteps(): number {
    return this.task.config.grpo.steps;
  }

  get samplesItself(): boolean {
    return !this.algorithm.samplesInitial && !this.algorithm.sampler;
  }

  get policy(): LocalPolicy {
    return this.trained.policy;
  }

  async next(isUsable: (metrics: Metrics) => boolean = () => true): ReturnType<Trainer['next']> {
    const { task, algorithm, trained, rewards, rollout, step, rollbacks } = this;
    const { config, retriever } = task;
    const { learningRate: peak, warmupSteps, questionsPerStep } = config.grpo;
    const { groupSize = config.grpo.groupSize } = algorithm;
    const random = this.random.fork(rollbacks === 0 ? step : `${step} after rollback ${rollbacks}`);
    const final = algorithm.decays ? 0 : peak;
    const schedule = { peak, final, warmupSteps, totalSteps: this.numSteps };
    const learningRate = scheduledRate(step, schedule) / 2 ** rollbacks;
    const numQuestions = Math.floor((questionsPerStep * config.grpo.groupSize) / groupSize);
    const questions = this.drawQuestions(random.fork('questions'), numQuestions);

    const start = performance.now();
    const own = algorithm.samplesInitial ? trained.initialPolicy : trained.policy;
    const sampler = algorithm.sampler?.(step) ?? { policy: own, rollout: {} };
    const searchRandom = random.fork('search');
    const search: RolloutOptions['search'] =
      algorithm.search && ((queries) => algorithm.search!(queries, { step, random: searchRandom }));
    const groups = {
      retriever,
      rewards,
      groupSize,
      random,
      rollout: { ...rollout, ...sampler.rollout, search },
    };
    const rolledOut = await rollOutGroups(sampler.policy, questions, groups);

    const updateStart = performance.now();
    const context = { config, trained, step, learningRate };
    const { trajectories, rows, metrics } = await algorithm.assess(rolledOut.trajectories, {
      ...context,
      groupSize,
      questions,
    });
    const { stats } = rolledOut;
    const told = {
      ...rolloutMetrics(trajectories, { groupSize, stats, maxNewTokens: rollout.maxNewTokens }),
      ...(sampler.policy === own && { entropy: sampledEntropy(trajectories) }),
    };
    const used = isUsable(told) ? rows : [];
    const batches = miniBatches(used, config.grpo.miniBatches, random.fork('mini-batches'));
    const updates: Metrics[] = [];
    for (const batch of batches) updates.push(await algorithm.update(batch, context));
    this.step++;

    const means = algorithm.metrics.map((name) => [
      name,
      mean(updates.map((update) => update[name])),
    ]);
    return {
      metrics: {
        ...told,
        ...(Object.fromEntries(means) as Metrics),
        ...metrics,
        learning_rate: learningRate,
        rollout_seconds: (updateStart - start) / 1000,
        update_seconds: (performance.now() - updateStart) / 1000,
      },
      trajectories,
    };
  }

  logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return this.trained.logProbs(sequences);
  }

  dispose(): void {
    this.algorithm.dispose?.();
    this.trained.dispose();
  }
}
