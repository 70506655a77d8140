/** What a run needs of any way to train a policy. */
import type { Question } from '../data/question.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import type { Model } from '../policy/model-folder.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { Reward } from '../rewards/reward.js';
import type { TrainedAdapter } from './adapter.js';
import type { ScoredTrajectory } from './advantages.js';
import type { Metrics } from './metrics.js';
import type { TrainingConfig } from './options.js';
import type { Sequence } from './sequences.js';

/** What is trained, on what. */
export interface TrainingTask {
  config: TrainingConfig;
  /** The model; its weights stay the caller's. */
  model: Model;
  questions: readonly Question[];
  retriever: Retriever;
  /**
   * Those whose weighted sum is trained on; by default those that the configuration
   * names.
   */
  rewards?: readonly Reward[];
}

/**
 * An adapter in training, a step at a time, in memory; what is written to disk between
 * the steps is the caller's. Dispose of it at the end.
 */
export interface Trainer {
  /** Number of the next step; set where a run goes on. */
  step: number;
  /**
   * How often the run went back to a checkpoint: it draws anew then, at a learning rate
   * halved as often.
   */
  rollbacks: number;
  /** Steps of the whole run. */
  readonly numSteps: number;
  /**
   * Whether the rollouts are of the policy as it is, so that their reward says how good
   * that is.
   */
  readonly samplesItself: boolean;
  /** The adapter with its optimizer; it stays the trainer's. */
  readonly trained: TrainedAdapter;
  /** The policy as it is; it stays the trainer's, and is good until the next step. */
  readonly policy: LocalPolicy;
  /**
   * Rolls out, rewards and updates once, on questions that it draws.
   * @param isUsable says by the metrics of the rollouts whether the update is made;
   * gradients that are not finite never are
   */
  next(
    isUsable?: (metrics: Metrics) => boolean,
  ): Promise<{ metrics: Metrics; trajectories: ScoredTrajectory[] }>;
  /**
   * Log-probabilities (nats) that the policy as it is gives to the masked-in tokens of
   * each sequence.
   */
  logProbs(sequences: readonly Sequence[]): Promise<number[][]>;
  dispose(): void;
}
