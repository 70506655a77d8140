import * as tf from '@tensorflow/tfjs-core';
import type { LoraOptions } from '../policy/folders/peft.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { isLarge } from '../policy/model/families.js';
import { createAdapter, disposeMerged, mergeAdapter, withAdapter } from '../policy/model/lora.js';
import type { Model } from '../policy/model/model.js';
import type { PrefixTree } from '../policy/model/prefix-tree.js';
import { rotaryTable, type FrozenLayerStore } from '../policy/model/transformer.js';
import {
  disposeWeights,
  fromNamedArrays,
  toNamedArrays,
  type Weights,
} from '../policy/model/weights.js';
import type { Random } from '../random.js';
import { AdamW } from './adamw.js';
import type { Checkpoint } from './checkpoint.js';
import {
  clipByGlobalNorm,
  lowestLayer,
  rowGradients,
  type PassValues,
  type TokenLoss,
} from './gradients.js';
import { ALONE, type Ranks } from './ranks.js';
import {
  batchHidden,
  perToken,
  sequenceLogProbs,
  type PassOptions,
  type Sequence,
} from './sequences.js';

interface AdapterOptions {
  name: string;
  lora: LoraOptions;
  random: Random;
  /** Sampling temperature; log-probs are of the same distribution. */
  temperature: number;
  maxTokensPerPass: number;
  /** Trained with the adapter but not part of the policy, such as a value head. */
  extraParams?: Weights;
  ranks?: Ranks;
}

/** An adapter being trained on a frozen model, with its optimizer and its policy. */
export class TrainedAdapter {
  readonly optimizer = new AdamW();
  /** The current policy and the initial one, whichever was asked for last. */
  readonly localPolicy: LocalPolicy;
  private readonly passes: PassOptions;
  /** Caches the outputs of the frozen layers until the next update. */
  private readonly frozen: FrozenLayerCache | undefined;
  private readonly lora: LoraOptions;
  private readonly ranks: Ranks;
  private trained: Weights;
  /** The merged weights; null before the first use and after every update. */
  private merged: Weights | null = null;

  /** @param model remains owned by the caller */
  constructor(
    private readonly model: Model,
    adapterOptions: AdapterOptions,
  ) {
    const { name, lora, random, extraParams, ranks = ALONE, ...passes } = adapterOptions;
    this.ranks = ranks;
    const { config, tokenizer, weights } = model;
    this.localPolicy = new LocalPolicy(name, weights, config, tokenizer);
    this.lora = lora;
    this.trained = { ...createAdapter(config, lora, random), ...extraParams };
    const lowest = lowestLayer(this.trained, config);
    this.frozen = lowest > 0 ? new FrozenLayerCache(lowest) : undefined;
    this.passes = {
      ...passes,
      config,
      table: rotaryTable(config, config.maxPositionEmbeddings),
      isAdapter: true,
      isCheckpointed: isLarge(config),
      frozen: this.frozen,
      ranks,
    };
  }

  /** The current adapter and extra parameters; owned by this object. */
  get weights(): Weights {
    return this.trained;
  }

  /** Merges the adapter. The policy is valid until the next use of this object. */
  useCurrentPolicy(): LocalPolicy {
    this.localPolicy.setWeights(this.mergedWeights());
    return this.localPolicy;
  }

  /** The model without the adapter, as a policy; valid until the next use, too. */
  useInitialPolicy(): LocalPolicy {
    this.dropMerged();
    return this.localPolicy;
  }

  /** Log-probs (nats) of the trained tokens of each sequence under the current policy. */
  logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return sequenceLogProbs(this.mergedWeights(), sequences, this.passes);
  }

  /** Log-probs (nats) of the trained tokens of each sequence without the adapter. */
  referenceLogProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    this.frozen?.release();
    return sequenceLogProbs(this.model.weights, sequences, this.passes);
  }

  /**
   * Computes a number for each trained token of each sequence.
   * @param compute maps the hidden states (M, C) of the preceding tokens to numbers (M)
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
   * Makes one optimizer step, unless the gradient norm is not finite: weights would never
   * recover. Ranks other than 0 get rank 0's weights, but neither loss nor values.
   * @param options.learningRate for all trained weights, or per weight
   * @param options.maxGradNorm clips gradients to this global L2 norm
   * @throws Error if there is no trained token
   */
  async update<Row extends Sequence>(
    rows: readonly Row[],
    options: { learningRate: Parameters<AdamW['apply']>[2]; maxGradNorm: number },
    tokenLoss: TokenLoss<Row>,
  ): Promise<{ loss: number; gradNorm: number; passes: PassValues<Row>[] }> {
    this.dropMerged();
    const buildWeights = (trained: Weights): Weights =>
      withAdapter(this.model.weights, trained, this.lora);
    const computed = await rowGradients(
      this.trained,
      rows,
      { ...this.passes, buildWeights },
      tokenLoss,
    );
    const { loss, passes } = computed;
    this.frozen?.release();
    if (this.ranks.rank > 0) {
      await this.synchronise();
      return { loss, gradNorm: 0, passes };
    }
    const { gradients, norm } = await clipByGlobalNorm(computed.gradients, options.maxGradNorm);
    if (Number.isFinite(norm))
      this.trained = this.optimizer.apply(this.trained, gradients, options.learningRate);
    else disposeWeights(gradients);
    await this.synchronise();
    return { loss, gradNorm: norm, passes };
  }

  /** Broadcasts the weights of rank 0 to all ranks. */
  async synchronise(): Promise<void> {
    if (this.ranks.size === 1) return;
    const arrays = await this.ranks.once(() => toNamedArrays(this.trained));
    if (this.ranks.rank > 0) this.replace(fromNamedArrays(arrays));
  }

  /** Restores a checkpoint; takes ownership of its weights. */
  restore({ trainable, optimizer }: Checkpoint): void {
    this.replace(trainable);
    this.optimizer.restore(optimizer);
  }

  dispose(): void {
    this.dropMerged();
    this.frozen?.release();
    this.localPolicy.dispose();
    this.optimizer.dispose();
    disposeWeights(this.trained);
    const { cos, sin, rotation } = this.passes.table;
    tf.dispose([cos, sin, rotation]);
  }

  private replace(weights: Weights): void {
    this.dropMerged();
    disposeWeights(this.trained);
    this.trained = weights;
  }

  private mergedWeights(): Weights {
    this.merged ??= tf.tidy(() => mergeAdapter(this.model.weights, this.trained, this.lora));
    return this.merged;
  }

  private dropMerged(): void {
    if (this.merged) disposeMerged(this.merged, this.model.weights);
    this.merged = null;
    this.localPolicy.setWeights(this.model.weights);
  }
}

/**
 * Caches the outputs of the layers below the lowest trained one. Policy and reference
 * share them, so these layers run once per row.
 */
export class FrozenLayerCache implements FrozenLayerStore {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param count number of frozen layers, counted from the first */
  constructor(readonly count: number) {}

  getOutput({ ids, places }: PrefixTree, compute: () => tf.Tensor2D): tf.Tensor2D {
    const key = `${ids.join()} ${places.join()}`;
    let output = this.outputs.get(key);
    if (!output) {
      output = tf.keep(tf.tidy(compute));
      this.outputs.set(key, output);
    }
    return tf.clone(output);
  }

  release(): void {
    tf.dispose([...this.outputs.values()]);
    this.outputs.clear();
  }
}
