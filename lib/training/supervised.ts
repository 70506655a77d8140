/** Supervised training on weighted tokens: the warm-up that gives the policy its grammar and its skill. */
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/model-config.js';
import { rotaryTable } from '../policy/transformer.js';
import { type Weights } from '../policy/weights.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { AdamW, scheduledRate } from './adamw.js';
import type { Piece } from './demonstrations.js';
import { addGradients, clipByGlobalNorm, lossAndGradients } from './gradients.js';
import { batchLogProbs, groupByLength, packSequences, type Sequence } from './sequences.js';

/** Tokenises each piece by itself, as the rollout's segments are. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
  const tokenIds: number[] = [];
  const lossMask: number[] = [];
  for (const { text, weight } of pieces) {
    const ids = tokenizer.encode(text);
    for (const id of ids) {
      tokenIds.push(id);
      lossMask.push(weight);
    }
  }
  return { tokenIds, lossMask };
}

export interface SupervisedOptions {
  steps: number;
  learningRate: number;
  finalLearningRate: number;
  warmupSteps: number;
  maxGradNorm: number;
  /** Most padded tokens in one pass; a step's rows are split into passes of similar length. */
  maxTokensPerPass: number;
}

export interface SupervisedStep {
  step: number;
  /** Weighted mean of -log p (nats a token). */
  loss: number;
  gradNorm: number;
  learningRate: number;
  numTokens: number;
}

/** Gradient of the weighted mean cross-entropy over all rows. The caller disposes of the gradients. */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  config: ModelConfig,
  options: { maxTokensPerPass: number; table: ReturnType<typeof rotaryTable> },
): { loss: number; gradients: Weights } {
  const totalWeight = rows.reduce((sum, row) => sum + row.lossMask.slice(1).reduce((a, b) => a + b, 0), 0);
  let gradients: Weights | null = null;
  let loss = 0;
  for (const group of groupByLength(rows.map((row) => row.tokenIds.length), options.maxTokensPerPass)) {
    const batch = packSequences(group.map((i) => rows[i]));
    if (batch.positions.length === 0) continue;
    const part = lossAndGradients(weights, (w) => {
      const { logProbs } = batchLogProbs(w, batch, config, options.table);
      return tf.sum(tf.mul(logProbs, tf.tensor1d(batch.weights.map((x) => -x / totalWeight)))) as tf.Scalar;
    });
    loss += part.value;
    gradients = addGradients(gradients, part.gradients);
  }
  if (!gradients) throw new Error('Expected at least one token with a loss, but the batch has none.');
  return { loss, gradients };
}

/**
 * Trains and returns the new weights; the old ones are disposed of.
 * @param sample draws the rows of a step
 * @param onStep is awaited after each step with the newest weights
 */
export async function trainSupervised(
  weights: Weights,
  config: ModelConfig,
  options: SupervisedOptions,
  callbacks: {
    sample: (step: number) => Sequence[];
    onStep?: (report: SupervisedStep, weights: Weights) => Promise<void> | void;
    optimizer?: AdamW;
    firstStep?: number;
  },
): Promise<Weights> {
  const optimizer = callbacks.optimizer ?? new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01 });
  const table = rotaryTable(config, config.maxPositionEmbeddings);
  let current = weights;
  for (let step = callbacks.firstStep ?? 0; step < options.steps; step++) {
    const rows = callbacks.sample(step);
    const { loss, gradients } = supervisedGradients(current, rows, config, { ...options, table });
    const clipped = clipByGlobalNorm(gradients, options.maxGradNorm);
    const learningRate = scheduledRate(step, {
      peak: options.learningRate,
      final: options.finalLearningRate,
      warmupSteps: options.warmupSteps,
      totalSteps: options.steps,
    });
    current = optimizer.apply(current, clipped.gradients, learningRate);
    const numTokens = rows.reduce((sum, row) => sum + row.tokenIds.length, 0);
    await callbacks.onStep?.({ step, loss, gradNorm: clipped.norm, learningRate, numTokens }, current);
  }
  if (!callbacks.optimizer) optimizer.dispose();
  tf.dispose([table.cos, table.sin, table.rotation]);
  return current;
}
