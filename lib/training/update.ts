/** One optimizer step over rows of tokens, with any loss of their log-probabilities. */
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/model-config.js';
import type { RotaryTable } from '../policy/transformer.js';
import type { Weights } from '../policy/weights.js';
import type { AdamW } from './adamw.js';
import { addGradients, clipByGlobalNorm, lossAndGradients } from './gradients.js';
import {
  batchLogProbs,
  groupByLength,
  packSequences,
  type Sequence,
  type SequenceBatch,
} from './sequences.js';

/** The share of the loss that some rows have, from the log-probabilities (M) of their masked-in tokens, row by row. */
export type TokenLoss<Row> = (logProbs: tf.Tensor1D, rows: readonly Row[], batch: SequenceBatch) => tf.Scalar;

export interface PassOptions {
  config: ModelConfig;
  table: RotaryTable;
  /** Most padded tokens in one pass; rows are split into passes of similar length. */
  maxTokensPerPass: number;
  /** That the tokens were sampled at. */
  temperature?: number;
  /** The weights that run, out of those that are trained; by default they are the same. */
  weightsOf?: (trained: Weights) => Weights;
}

/**
 * The loss summed over passes, and its gradients. The caller disposes of the gradients.
 * @throws Error when no token is masked in
 */
export function rowGradients<Row extends Sequence>(
  trained: Weights,
  rows: readonly Row[],
  { config, table, maxTokensPerPass, temperature, weightsOf = (same) => same }: PassOptions,
  tokenLoss: TokenLoss<Row>,
): { loss: number; gradients: Weights } {
  let gradients: Weights | null = null;
  let loss = 0;
  for (const group of groupByLength(
    rows.map((row) => row.tokenIds.length),
    maxTokensPerPass,
  )) {
    const some = group.map((i) => rows[i]);
    const batch = packSequences(some);
    if (batch.positions.length === 0) continue;
    const part = lossAndGradients(trained, (weights) => {
      const { logProbs } = batchLogProbs(weightsOf(weights), batch, config, table, temperature);
      return tokenLoss(logProbs, some, batch);
    });
    loss += part.value;
    gradients = addGradients(gradients, part.gradients);
  }
  if (!gradients) throw new Error('Expected at least one token with a loss, but the batch has none.');
  return { loss, gradients };
}

export interface StepOptions {
  learningRate: number;
  /** Gradients are scaled to at most this global L2 norm. */
  maxGradNorm: number;
}

/** New weights after one optimizer step; disposes of the old ones and of the gradients. */
export function optimizerStep(
  weights: Weights,
  gradients: Weights,
  optimizer: AdamW,
  { learningRate, maxGradNorm }: StepOptions,
): { weights: Weights; gradNorm: number } {
  const clipped = clipByGlobalNorm(gradients, maxGradNorm);
  return {
    weights: optimizer.apply(weights, clipped.gradients, learningRate),
    gradNorm: clipped.norm,
  };
}
