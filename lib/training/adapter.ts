import * as tf from '@tensorflow/tfjs-core';
import { LocalPolicy } from '../policy/local-policy.js';
import { createAdapter, disposeMerged, mergeAdapter, type LoraOptions } from '../policy/lora.js';
import type { Model } from '../policy/model-folder.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import type { Random } from '../random.js';
import { AdamW } from './adamw.js';
import { saveCheckpoint, type Checkpoint, type RunState } from './checkpoint.js';
import { scoreSequences, type Sequence } from './sequences.js';
import { optimizerStep, rowGradients, type StepOptions, type TokenLoss } from './update.js';

export interface AdapterOptions {
  /** The name of the policy. */
  name: string;
  lora: LoraOptions;
  random: Random;
  /** That the policy samples at, so that log-probabilities are those of the sampler. */
  temperature: number;
  maxTokensPerPass: number;
}

/** An adapter in training over a model that stays as it is, with its optimizer and the policy that the two make. */
export class TrainedAdapter {
  private readonly optimizer = new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0 });
  private readonly localPolicy: LocalPolicy;
  private readonly table: RotaryTable;
  private trained: Weights;
  /** The model with the adapter, as `policy` has them; null before the first use and after every update. */
  private merged: Weights | null = null;

  /** @param model its weights stay the caller's */
  constructor(
    private readonly model: Model,
    private readonly options: AdapterOptions,
  ) {
    const { config, tokenizer, weights } = model;
    this.localPolicy = new LocalPolicy(options.name, weights, config, tokenizer);
    this.table = rotaryTable(config, config.maxPositionEmbeddings);
    this.trained = createAdapter(config, options.lora, options.random);
  }

  /** The adapter as it is; it stays this object's. */
  get weights(): Weights {
    return this.trained;
  }

  /** The policy as it is; it stays this object's, and is good until the next update. */
  get policy(): LocalPolicy {
    this.localPolicy.setWeights(this.mergedWeights());
    return this.localPolicy;
  }

  /** Log-probabilities (nats) that the policy as it is gives to the masked-in tokens of each sequence. */
  logProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return this.logProbsUnder(this.mergedWeights(), sequences);
  }

  /** The same under the model without the adapter. */
  referenceLogProbs(sequences: readonly Sequence[]): Promise<number[][]> {
    return this.logProbsUnder(this.model.weights, sequences);
  }

  /**
   * One optimizer step on some rows.
   * @throws Error when no token is masked in
   */
  update<Row extends Sequence>(
    rows: readonly Row[],
    options: StepOptions,
    tokenLoss: TokenLoss<Row>,
  ): { loss: number; gradNorm: number } {
    this.release();
    const { model, table, options: own } = this;
    const passes = {
      config: model.config,
      table,
      ...{ temperature: own.temperature, maxTokensPerPass: own.maxTokensPerPass },
      weightsOf: (trained: Weights) => mergeAdapter(model.weights, trained, own.lora),
    };
    const { loss, gradients } = rowGradients(this.trained, rows, passes, tokenLoss);
    const { weights, gradNorm } = optimizerStep(this.trained, gradients, this.optimizer, options);
    this.trained = weights;
    return { loss, gradNorm };
  }

  save(folder: string, state: RunState): Promise<void> {
    return saveCheckpoint(folder, this.trained, this.optimizer, state);
  }

  /** Goes on from a checkpoint, whose weights become this object's. */
  restore({ trainable, optimizer }: Checkpoint<RunState>): void {
    this.release();
    disposeWeights(this.trained);
    this.optimizer.restore(optimizer);
    this.trained = trainable;
  }

  dispose(): void {
    this.release();
    this.localPolicy.dispose();
    this.optimizer.dispose();
    disposeWeights(this.trained);
    tf.dispose([this.table.cos, this.table.sin, this.table.rotation]);
  }

  private mergedWeights(): Weights {
    this.merged ??= tf.tidy(() => mergeAdapter(this.model.weights, this.trained, this.options.lora));
    return this.merged;
  }

  private release(): void {
    if (this.merged) disposeMerged(this.merged, this.model.weights);
    this.merged = null;
    this.localPolicy.setWeights(this.model.weights);
  }

  private async logProbsUnder(weights: Weights, sequences: readonly Sequence[]): Promise<number[][]> {
    const { temperature, maxTokensPerPass: maxTokens } = this.options;
    const options = { table: this.table, temperature, maxTokens };
    const scored = await scoreSequences(weights, sequences, this.model.config, options);
    return scored.map(({ logProbs }) => logProbs);
  }
}
