/**
 * Batches token sequences with loss masks, so that shared prefixes are computed once, and
 * computes the log-probs of their tokens.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { createBreather, interruptSignal } from '../interrupt.js';
import type { ModelConfig } from '../policy/model/families.js';
import { comparePrefixes, prefixTree, type PrefixTree } from '../policy/model/prefix-tree.js';
import {
  forward,
  logitsBackward,
  computeLogits,
  type FrozenLayerStore,
  type RotaryTable,
} from '../policy/model/transformer.js';
import type { Weights } from '../policy/model/weights.js';
import { lossMask, tokenIds, type Trajectory } from '../rollout/trajectory.js';
import { runAsGraph } from '../tensor/graph.js';
import {
  chosenLogProbs,
  chosenLogProbsInParts,
  gatherRows,
  LOGITS_AT_ONCE,
} from '../tensor/ops.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';
import { ALONE, type Ranks } from './ranks.js';

export interface Sequence {
  tokenIds: readonly number[];
  /**
   * 1 = contributes to the loss. The first token never does, because nothing predicts it.
   */
  lossMask: readonly number[];
  /** Loss weight of each trained token. Default: 1. */
  lossWeights?: readonly number[];
}

/** Converts a trajectory to a sequence; only the policy's tokens are trained. */
export const toSequence = (trajectory: Pick<Trajectory, 'segments'>): Sequence => ({
  tokenIds: tokenIds(trajectory),
  lossMask: lossMask(trajectory),
});

/** How to run sequences through a model. */
export interface PassOptions {
  config: ModelConfig;
  table: RotaryTable;
  /** Maximum number of padded tokens per pass. */
  maxTokensPerPass: number;
  /** Ranks that share the passes. Default: this process alone. */
  ranks?: Ranks;
  /** Whether only an adapter is trained, not the head. */
  isAdapter?: boolean;
  /**
   * Whether to use gradient checkpointing (Chen et al. 2016): keeps the activations of
   * one layer at a time and recomputes the others. Memory no longer grows with the number
   * of layers; arithmetic grows by up to a third.
   */
  isCheckpointed?: boolean;
  /**
   * Memory in bytes for saving frozen projections. Default: a quarter of what is free.
   */
  budgetBytes?: number;
  /** Outputs of the frozen layers below the trained ones. */
  frozen?: FrozenLayerStore;
  /** Sampling temperature: log-probs are of the sampling distribution. Default: 1. */
  temperature?: number;
}

/** The sequences of one pass, and the positions of their trained tokens. */
export interface SequenceBatch {
  tree: PrefixTree;
  /**
   * Index in the tree of the token BEFORE each trained one, whose state predicts it. (M)
   */
  positions: number[];
  /** Ids of the trained tokens. (M) */
  targets: number[];
  /** Loss weights of the trained tokens. (M) */
  lossWeights: number[];
  /** Rows of the trained tokens. (M) */
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

/** Drops the tokens after the last trained one, such as passages never read. */
function withoutTail(row: Sequence): Sequence {
  const end = row.lossMask.findLastIndex((isTrained) => isTrained !== 0) + 1;
  return { ...row, tokenIds: row.tokenIds.slice(0, end), lossMask: row.lossMask.slice(0, end) };
}

/**
 * Splits the rows that have a trained token into passes, each with its row indices. Rows
 * with a shared prefix go into one pass if they fit.
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

export type Pass = ReturnType<typeof splitIntoPasses>[number];

/** The relative time a pass takes; a shared prefix is computed once. */
export const passCost = ({ batch }: Pass): number => batch.tree.ids.length;

/**
 * Hidden states (M, C) of the tokens before the trained ones. Differentiable in the
 * weights; the caller disposes of the result.
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
 * Log-probs (nats) of the trained tokens (M). Differentiable in the weights; the caller
 * disposes of the result. Logits are computed only for trained tokens.
 * @param hidden the result of {@link batchHidden}, if already computed
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
      rowsAtOnce: Math.ceil(LOGITS_AT_ONCE / config.vocabSize),
      computesGradient,
    });
  return chosenLogProbs(tempered(computeLogits(weights, hidden, config)), targets);
}

/** Log-probs (nats) of the trained tokens of each sequence, without gradients. */
export const sequenceLogProbs = (
  weights: Weights,
  sequences: readonly Sequence[],
  options: PassOptions,
): Promise<number[][]> =>
  perToken(sequences, options, (batch) => batchLogProbs(weights, batch, options));

/**
 * Computes a number per trained token of each sequence, without gradients.
 * @param compute returns the numbers of a batch (M)
 */
export async function perToken(
  sequences: readonly Sequence[],
  { maxTokensPerPass, ranks = ALONE }: Pick<PassOptions, 'maxTokensPerPass' | 'ranks'>,
  compute: (batch: SequenceBatch) => tf.Tensor1D,
): Promise<number[][]> {
  const numbers = sequences.map((): number[] => []);
  const breathe = createBreather(interruptSignal());
  const passes = splitIntoPasses(sequences, maxTokensPerPass);
  const computeValues = async ({ batch }: Pass): Promise<Float32Array> => {
    await breathe();
    const tensor = runAsGraph(() => tf.tidy(() => compute(batch)));
    const values = await tensor.data();
    tensor.dispose();
    return values as Float32Array;
  };
  const results = ranks.spread(passes, { cost: passCost, compute: computeValues });
  for await (const [{ indices, batch }, values] of results)
    batch.rows.forEach((row, m) => numbers[indices[row]].push(values[m]));
  return ranks.once(() => numbers);
}

/** Text with a loss weight for its tokens. */
export interface WeightedText {
  text: string;
  weight: number;
  /** Whether the text names a token, such as `<eos>`, which is never parsed from text. */
  isToken?: boolean;
}

/** Tokenises each piece separately, like trajectory segments. */
export function encodePieces(pieces: readonly WeightedText[], tokenizer: Tokenizer): Sequence {
  const tokens = pieces.flatMap(({ text, weight, isToken }) => {
    const ids = isToken ? [tokenizer.tokenId(text)!] : tokenizer.encode(text);
    return ids.map((id) => ({ id, weight }));
  });
  return {
    tokenIds: tokens.map(({ id }) => id),
    lossMask: tokens.map(({ weight }) => (weight > 0 ? 1 : 0)),
    lossWeights: tokens.map(({ weight }) => weight),
  };
}

/** The total loss weight of all trained tokens. */
export function totalWeight(rows: readonly Sequence[]): number {
  const tokenWeights = ({ lossMask, lossWeights = lossMask }: Sequence): number[] =>
    lossMask.map((mask, t) => (t > 0 && mask > 0 ? lossWeights[t] : 0));
  return sum(rows, (row) => sum(tokenWeights(row)));
}
