/** Supervised training on weighted tokens: the warm-up that gives the policy its grammar and its skill. */
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/model-config.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { type Weights } from '../policy/weights.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { AdamW } from './adamw.js';
import type { Piece } from '../mini-wiki/warm-up/demonstrations.js';
import type { GradientWorker } from './gradient-worker.js';
import { TOKEN_BREAK } from '../mini-wiki/warm-up/names.js';
import { addGradients, clipByGlobalNorm, lossAndGradients } from './gradients.js';
import { batchLogProbs, groupByLength, packSequences, type Sequence } from './sequences.js';

/** Tokenises each piece by itself, as the rollout's segments are. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
  const tokenIds: number[] = [];
  const lossMask: number[] = [];
  for (const { text, weight } of pieces) {
    const ids = text.split(TOKEN_BREAK).flatMap((part) => tokenizer.encode(part));
    for (const id of ids) {
      tokenIds.push(id);
      lossMask.push(weight);
    }
  }
  return { tokenIds, lossMask };
}

export interface SupervisedOptions {
  steps: number;
  learningRateAt: (step: number) => number;
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
  seconds: number;
}

export interface GradientOptions {
  maxTokensPerPass: number;
  table: RotaryTable;
  /** What the summed loss is divided by: the weight of all tokens of the step. */
  totalWeight: number;
}

/** The weight of all tokens with a loss. */
export function totalWeight(rows: readonly Sequence[]): number {
  return rows.reduce((sum, row) => sum + row.lossMask.slice(1).reduce((a, b) => a + b, 0), 0);
}

/** Gradient of the weighted mean cross-entropy over the rows. The caller disposes of the gradients. */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  config: ModelConfig,
  options: GradientOptions,
): { loss: number; gradients: Weights } {
  let gradients: Weights | null = null;
  let loss = 0;
  for (const group of groupByLength(
    rows.map((row) => row.tokenIds.length),
    options.maxTokensPerPass,
  )) {
    const batch = packSequences(group.map((i) => rows[i]));
    if (batch.positions.length === 0) continue;
    const part = lossAndGradients(weights, (w) => {
      const { logProbs } = batchLogProbs(w, batch, config, options.table);
      const negated = batch.weights.map((weight) => -weight / options.totalWeight);
      return tf.sum<tf.Scalar>(tf.mul(logProbs, tf.tensor1d(negated)));
    });
    loss += part.value;
    gradients = addGradients(gradients, part.gradients);
  }
  if (!gradients) throw new Error('Expected at least one token with a loss, but the batch has none.');
  return { loss, gradients };
}

/** Rows in two halves of about as many tokens, long and short ones in both. */
export function splitRows(rows: readonly Sequence[]): [Sequence[], Sequence[]] {
  const byLength = rows.toSorted((a, b) => b.tokenIds.length - a.tokenIds.length);
  const halves: [Sequence[], Sequence[]] = [[], []];
  const tokens = [0, 0];
  for (const row of byLength) {
    const lighter = tokens[0] <= tokens[1] ? 0 : 1;
    halves[lighter].push(row);
    tokens[lighter] += row.tokenIds.length;
  }
  return halves;
}

/** A step's gradients, shared with a worker where there is one. */
async function stepGradients(
  weights: Weights,
  rows: readonly Sequence[],
  config: ModelConfig,
  options: GradientOptions,
  worker: GradientWorker | undefined,
): Promise<{ loss: number; gradients: Weights }> {
  if (!worker || rows.length < 2) return supervisedGradients(weights, rows, config, options);
  const [own, others] = splitRows(rows);
  const { maxTokensPerPass, totalWeight } = options;
  const finish = await worker.start(weights, others, { maxTokensPerPass, totalWeight });
  const a = supervisedGradients(weights, own, config, options);
  const b = await finish();
  return { loss: a.loss + b.loss, gradients: addGradients(a.gradients, b.gradients) };
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
    /** Computes half of each step's gradients in another process. */
    worker?: GradientWorker;
  },
): Promise<Weights> {
  const optimizer =
    callbacks.optimizer ?? new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01 });
  const table = rotaryTable(config, config.maxPositionEmbeddings);
  let current = weights;
  for (let step = callbacks.firstStep ?? 0; step < options.steps; step++) {
    const start = performance.now();
    const rows = callbacks.sample(step);
    const { loss, gradients } = await stepGradients(
      current,
      rows,
      config,
      { maxTokensPerPass: options.maxTokensPerPass, table, totalWeight: totalWeight(rows) },
      callbacks.worker,
    );
    const clipped = clipByGlobalNorm(gradients, options.maxGradNorm);
    const learningRate = options.learningRateAt(step);
    current = optimizer.apply(current, clipped.gradients, learningRate);
    const numTokens = rows.reduce((sum, row) => sum + row.tokenIds.length, 0);
    const seconds = (performance.now() - start) / 1000;
    await callbacks.onStep?.(
      { step, loss, gradNorm: clipped.norm, learningRate, numTokens, seconds },
      current,
    );
  }
  if (!callbacks.optimizer) optimizer.dispose();
  tf.dispose([table.cos, table.sin, table.rotation]);
  return current;
}
