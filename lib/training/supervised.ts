/** Supervised training on weighted tokens: the warm-up that gives the policy its grammar and its skill. */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import type { ModelConfig } from '../policy/model-config.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { type Weights } from '../policy/weights.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { AdamW } from './adamw.js';
import { addGradients } from './gradients.js';
import type { Sequence } from './sequences.js';
import { optimizerStep, rowGradients } from './update.js';

/** A piece of text with the weight of its tokens in the loss; tokenised by itself, as segments are. */
export interface Piece {
  text: string;
  weight: number;
}

/**
 * Stands between two tokens that the tokenizer would have merged, and is nothing itself. Many tokens stand in no training text,
 * since they are always merged with their neighbours there; a held-out name may hold them. BPE-dropout (arXiv 1910.13267) teaches
 * them by merging at random; here a name keeps its tokens throughout a row, so that they can be copied.
 */
export const TOKEN_BREAK = '\u2060';

/** Tokenises each piece by itself, as the rollout's segments are. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
  const tokens = pieces.flatMap(({ text, weight }) =>
    text.split(TOKEN_BREAK).flatMap((part) => tokenizer.encode(part).map((id) => ({ id, weight }))),
  );
  return {
    tokenIds: tokens.map(({ id }) => id),
    lossMask: tokens.map(({ weight }) => (weight > 0 ? 1 : 0)),
    lossWeights: tokens.map(({ weight }) => weight),
  };
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

/** Computes gradients elsewhere, while this process computes others. */
export interface GradientWorker {
  /**
   * Hands over rows and weights; resolves once the worker has them, with a function that waits for the gradients. The caller
   * disposes of the gradients.
   */
  start(
    weights: Weights,
    rows: readonly Sequence[],
    options: Omit<GradientOptions, 'table'>,
  ): Promise<() => Promise<{ loss: number; gradients: Weights }>>;
  stop(): void;
}

/** The weight of all tokens with a loss. */
export function totalWeight(rows: readonly Sequence[]): number {
  const weightsOf = ({ lossMask, lossWeights = lossMask }: Sequence): number[] =>
    lossMask.map((mask, t) => (t > 0 && mask > 0 ? lossWeights[t] : 0));
  return sum(rows, (row) => sum(weightsOf(row)));
}

/** Gradient of the weighted mean cross-entropy over the rows. The caller disposes of the gradients. */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  config: ModelConfig,
  options: GradientOptions,
): { loss: number; gradients: Weights } {
  const { totalWeight, ...passes } = options;
  return rowGradients(weights, rows, { config, ...passes }, (logProbs, _, { lossWeights }) => {
    const negated = lossWeights.map((weight) => -weight / totalWeight);
    return tf.sum<tf.Scalar>(tf.mul(logProbs, tf.tensor1d(negated)));
  });
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
    const learningRate = options.learningRateAt(step);
    const { maxGradNorm } = options;
    const updated = optimizerStep(current, gradients, optimizer, { learningRate, maxGradNorm });
    current = updated.weights;
    const numTokens = sum(rows, ({ tokenIds }) => tokenIds.length);
    const seconds = (performance.now() - start) / 1000;
    await callbacks.onStep?.(
      { step, loss, gradNorm: updated.gradNorm, learningRate, numTokens, seconds },
      current,
    );
  }
  if (!callbacks.optimizer) optimizer.dispose();
  tf.dispose([table.cos, table.sin, table.rotation]);
  return current;
}
