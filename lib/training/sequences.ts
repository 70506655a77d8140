/**
 * Token sequences with loss masks, as batches in which common prefixes are computed once,
 * and the log-probabilities a policy gives their tokens.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { ModelConfig } from '../policy/families.js';
import { comparePrefixes, prefixTree, type PrefixTree } from '../policy/prefix-tree.js';
import {
  forward,
  logitsBackward,
  computeLogits,
  type FrozenLayerCache,
  type RotaryTable,
} from '../policy/transformer.js';
import type { Weights } from '../policy/weights.js';
import { chosenLogProbs, chosenLogProbsInParts, gatherRows } from '../tensor/ops.js';

export interface Sequence {
  tokenIds: readonly number[];
  /**
   * 1 = contributes to the loss; the first token has no prediction, whatever its mask
   * says.
   */
  lossMask: readonly number[];
  /** Weight of each token in the loss where it is masked in; all 1 by default. */
  lossWeights?: readonly number[];
}

/** How a model runs over sequences. */
export interface PassOptions {
  config: ModelConfig;
  table: RotaryTable;
  /** Most padded tokens in one pass. */
  maxTokensPerPass: number;
  /** Only an adapter is trained, the head is not. */
  isAdapter?: boolean;
  /**
   * One layer's activations are kept at a time, and those of the others computed again
   * (gradient checkpointing, Chen et al. 2016): up to a third more arithmetic, and memory
   * that does not grow with the layers.
   */
  isCheckpointed?: boolean;
  /**
   * Bytes of products with weights that are not trained which may be kept all the same;
   * by default as `roomForProducts` says.
   */
  room?: number;
  /** Layers that are not trained, below those that are. */
  frozen?: FrozenLayerCache;
  /**
   * That the tokens were sampled at (1 by default), so that their log-probabilities are
   * those of the sampler.
   */
  temperature?: number;
}

/** Sequences that run together, and where their masked-in tokens are. */
export interface SequenceBatch {
  tree: PrefixTree;
  /**
   * The token of the tree BEFORE each masked-in token: its hidden state predicts it. (M)
   */
  positions: number[];
  /** The masked-in tokens. (M) */
  targets: number[];
  /** Their weights in the loss. (M) */
  lossWeights: number[];
  /** Row of each. (M) */
  rows: number[];
}

export function packSequences(sequences: readonly Sequence[]): SequenceBatch {
  const tree = prefixTree(sequences.map(({ tokenIds }) => tokenIds));
  const [, length] = tree.shape;
  const batch: SequenceBatch = { tree, positions: [], targets: [], lossWeights: [], rows: [] };
  sequences.forEach(({ tokenIds, lossMask, lossWeights }, row) => {
    for (let t = 1; t < tokenIds.length; t++) {
      if (lossMask[t] === 0) continue;
      batch.positions.push(tree.cells[row * length + t - 1]);
      batch.targets.push(tokenIds[t]);
      batch.lossWeights.push(lossWeights?.[t] ?? 1);
      batch.rows.push(row);
    }
  });
  return batch;
}

/**
 * Without what follows the last token that has a loss, such as passages that nobody read
 * because the context was full.
 */
function withoutTail(row: Sequence): Sequence {
  const end = row.lossMask.findLastIndex((isLearned) => isLearned !== 0) + 1;
  return { ...row, tokenIds: row.tokenIds.slice(0, end), lossMask: row.lossMask.slice(0, end) };
}

/**
 * The passes over some rows: batches that have a loss, with the indices of their rows.
 * Rows that begin alike are in one where they fit.
 */
export function splitIntoPasses(rows: readonly Sequence[], maxTokens: number) {
  const read = rows.map(withoutTail);
  const order = read.map((_, i) => i).filter((i) => read[i].tokenIds.length > 1);
  order.sort((a, b) => comparePrefixes(read[a].tokenIds, read[b].tokenIds) || a - b);
  const passes: number[][] = [];
  let longest = 0;
  for (const i of order) {
    const pass = passes.at(-1);
    const { length } = read[i].tokenIds;
    longest = Math.max(longest, length);
    if (pass && (pass.length + 1) * longest <= maxTokens) pass.push(i);
    else {
      passes.push([i]);
      longest = length;
    }
  }
  return passes.map((indices) => ({ indices, batch: packSequences(indices.map((i) => read[i])) }));
}

/**
 * Hidden states (M, C) of the tokens before the masked-in ones, which predict them.
 * Differentiable in the weights; the caller disposes of the result.
 */
export function batchHidden(
  weights: Weights,
  batch: SequenceBatch,
  { config, table, frozen }: Pick<PassOptions, 'config' | 'table' | 'frozen'>,
): tf.Tensor2D {
  const hidden = forward(weights, batch.tree, config, table, frozen);
  return gatherRows(hidden, tf.tensor1d(batch.positions, 'int32'));
}

/**
 * Log-probabilities (nats) of the masked-in tokens (M). Differentiable in the weights;
 * the caller disposes of the result. The vocabulary product is computed only where there
 * is a loss.
 * @param hidden as {@link batchHidden} gives them, where they are there already
 */
export function batchLogProbs(
  weights: Weights,
  batch: SequenceBatch,
  options: Omit<PassOptions, 'maxTokensPerPass'> & { computesGradient?: boolean },
  hidden = batchHidden(weights, batch, options),
): tf.Tensor1D {
  const { config, temperature = 1, isAdapter, computesGradient } = options;
  const targets = tf.tensor1d(batch.targets, 'int32');
  const tempered = <T extends tf.Tensor>(x: T): T =>
    temperature === 1 ? x : tf.div(x, temperature);
  if (isAdapter)
    return chosenLogProbsInParts(hidden, targets, {
      logits: (states) => tempered(computeLogits(weights, states, config)),
      backward: (dLogits) => tempered(logitsBackward(weights, dLogits, config)),
      computesGradient,
    });
  return chosenLogProbs(tempered(computeLogits(weights, hidden, config)), targets);
}

/**
 * Log-probabilities (nats) of the masked-in tokens of each sequence, without gradients.
 */
export const sequenceLogProbs = (
  weights: Weights,
  sequences: readonly Sequence[],
  options: PassOptions,
): Promise<number[][]> =>
  perToken(sequences, options, (batch) => batchLogProbs(weights, batch, options));

/**
 * A number for each masked-in token of each sequence, without gradients. @param compute
 * gives those of a batch (M)
 */
export async function perToken(
  sequences: readonly Sequence[],
  { maxTokensPerPass }: Pick<PassOptions, 'maxTokensPerPass'>,
  compute: (batch: SequenceBatch) => tf.Tensor1D,
): Promise<number[][]> {
  const numbers = sequences.map((): number[] => []);
  for (const { indices, batch } of splitIntoPasses(sequences, maxTokensPerPass)) {
    const tensor = tf.tidy(() => compute(batch));
    const values = await tensor.data();
    tensor.dispose();
    batch.rows.forEach((row, m) => numbers[indices[row]].push(values[m]));
  }
  return numbers;
}
