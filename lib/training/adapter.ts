import * as tf from '@tensorflow/tfjs-core';
import { isLarge } from '../policy/families.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { createAdapter, disposeMerged, mergeAdapter, withAdapter } from '../policy/lora.js';
import { type LoraOptions } from '../policy/peft.js';
import type { Model } from '../policy/model-folder.js';
import { rotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import type { Random } from '../random.js';
import { AdamW } from './adamw.js';
import type { Checkpoint } from './checkpoint.js';
import { FrozenLayers } from './frozen-layers.js';
import {
  clipByGlobalNorm,
  lowestLayer,
  rowGradients,
  type PassValues,
  type TokenLoss,
} from './gradients.js';
import {
  batchHidden,
  perToken,
  sequenceLogProbs,
  type PassOptions,
  type Sequence,
} from './sequences.js';

interface AdapterOptions {
  /** The name of the policy. */
  name: string;
  lora: LoraOptions;
  random: Random;
  /** That the policy samples at, so that log-probabilities are those of the sampler. */
  temperature: number;
  maxTokensPerPass: number;
  /**
   * Trained together with the adapter but no part of the policy, such as a value head.
   */
  extraParams?: Weights;
}

/**
 * An adapter in training over a model that stays as it is, with its optimizer and the
 * policy that the two make.
 */
export class TrainedAdapter {
  readonly optimizer = new AdamW();
  /** The object behind `policy` and `initialPolicy`. */
  readonly localPolicy: LocalPolicy;
  private readonly passes: PassOptions;
  /** What comes out of them is kept until an update has used it. */
  private readonly frozen: FrozenLayers | undefined;
  private readonly lora: LoraOptions;
  private trained: Weights;
  /**
   * The model with the adapter, as `policy` has them; null before the first use and after
   * every update.
   */
  private merged: Weights | null = null;

  /** @param model its weights stay the caller's */
  constructor(
    private readonly model: Model,
    { name, lora, random, temperature, maxTokensPerPass, extraParams }: AdapterOptions,
  ) {
    const { config, tokenizer, weights } = model;
    this.localPolicy = new LocalPolicy(name, weights, config, tokenizer);
    const table = rotaryTable(config, config.maxPositionEmbeddings);
    const isCheckpointed = isLarge(config);
    this.lora = lora;
    this.trained = { ...createAdapter(config, lora, random), ...extraParams };
    const lowest = lowestLayer(this.trained, config);
    this.frozen = lowest > 0 ? new FrozenLayers(lowest) : undefined;
    const { frozen } = this;
    this.passes = {
      config,
      table,
      temperature,
      maxTokensPerPass,
      isAdapter: true,
      isCheckpointed,
      frozen,
    };
  }

  /** The adapter as it is, with what is trained beside it; it stays this object's. */
  get weights(): Weights {
    return this.trained;
  }

  /** The policy as it is; it stays this object's, and is good until the next update. */
  get policy(): LocalPolicy {
    this.localPolicy.setWeights(this.mergedWeights());
    return this.localPolicy;
  }

  /**
   * The model without the adapter, as a policy; good until the next use of this object.
   */
  get initialPolicy(): LocalPolicy {
    this.release();
    return this.localPolicy;
  }

  /**
   * Log-probabilities (nats) that the policy as it is gives to the trained tokens of
   * each sequence.
   */
  logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return sequenceLogProbs(this.mergedWeights(), sequences, this.passes);
  }

  /** The same under the model without the adapter. */
  referenceLogProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    this.frozen?.release();
    return sequenceLogProbs(this.model.weights, sequences, this.passes);
  }

  /**
   * A number for each trained token of each sequence. @param compute from the hidden
   * states (M, C) of the tokens before
   */
  perToken(
    sequences: readonly Sequence[],
    compute: (hidden: tf.Tensor2D, trained: Weights) => tf.Tensor1D,
  ): Promise<number[][]> {
    const weights = this.mergedWeights();
    return perToken(sequences, this.passes, (batch) =>
      compute(batchHidden(weights, batch, this.passes), this.trained),
    );
  }

  /**
   * One optimizer step on some rows; none where the norm of the gradients is no number,
   * from which weights never recover.
   * @param options.learningRate of all that is trained, or of each weight
   * @param options.maxGradNorm gradients are scaled to at most this global L2 norm
   * @throws Error if there is no trained token
   */
  async update<Row extends Sequence>(
    rows: readonly Row[],
    options: { learningRate: Parameters<AdamW['apply']>[2]; maxGradNorm: number },
    tokenLoss: TokenLoss<Row>,
  ): Promise<{ loss: number; gradNorm: number; passes: PassValues<Row>[] }> {
    this.release();
    const buildWeights = (trained: Weights): Weights =>
      withAdapter(this.model.weights, trained, this.lora);
    const passes = { ...this.passes, buildWeights };
    const {
      loss,
      gradients,
      passes: values,
    } = await rowGradients(this.trained, rows, passes, tokenLoss);
    this.frozen?.release();
    const clipped = await clipByGlobalNorm(gradients, options.maxGradNorm);
    if (Number.isFinite(clipped.norm))
      this.trained = this.optimizer.apply(this.trained, clipped.gradients, options.learningRate);
    else disposeWeights(clipped.gradients);
    return { loss, gradNorm: clipped.norm, passes: values };
  }

  /** Goes on from a checkpoint, whose weights become this object's. */
  restore({ trainable, optimizer }: Checkpoint): void {
    this.release();
    disposeWeights(this.trained);
    this.optimizer.restore(optimizer);
    this.trained = trainable;
  }

  dispose(): void {
    this.release();
    this.frozen?.release();
    this.localPolicy.dispose();
    this.optimizer.dispose();
    disposeWeights(this.trained);
    const { cos, sin, rotation } = this.passes.table;
    tf.dispose([cos, sin, rotation]);
  }

  private mergedWeights(): Weights {
    this.merged ??= tf.tidy(() => mergeAdapter(this.model.weights, this.trained, this.lora));
    return this.merged;
  }

  private release(): void {
    if (this.merged) disposeMerged(this.merged, this.model.weights);
    this.merged = null;
    this.localPolicy.setWeights(this.model.weights);
  }
}
