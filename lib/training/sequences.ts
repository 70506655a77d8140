/**
 * Token sequences with loss masks, batched so that shared prefixes are computed once, and
 * the log-probs of their tokens.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { createBreather, interruptSignal } from '../interrupt.js';
import type { ModelConfig } from '../policy/families.js';
import { comparePrefixes, prefixTree, type PrefixTree } from '../policy/prefix-tree.js';
import {
  forward,
  logitsBackward,
  computeLogits,
  type FrozenLayerStore,
  type RotaryTable,
} from '../policy/transformer.js';
import type { Weights } from '../policy/weights.js';
import { lossMask, tokenIds, type Trajectory } from '../rollout/trajectory.js';
import { runAsGraph } from '../tensor/graph.js';
import {
  chosenLogProbs,
  chosenLogProbsInParts,
  gatherRows,
  LOGITS_AT_ONCE,
} from '../tensor/ops.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { ALONE, AS_IS, type Ranks } from './ranks.js';

export interface Sequence {
  tokenIds: readonly number[];
  /** 1 = contributes to the loss; the first token never does, as nothing predicts it. */
  lossMask: readonly number[];
  /** Loss weight of each trained token; default 1. */
  lossWeights?: readonly number[];
}

/** A trajectory's tokens; only the policy's are trained. */
export const toSequence = (trajectory: Trajectory): Sequence => ({
  tokenIds: tokenIds(trajectory),
  lossMask: lossMask(trajectory),
});

/** How a model processes sequences. */
export interface PassOptions {
  config: ModelConfig;
  table: RotaryTable;
  /** Maximum padded tokens per pass. */
  maxTokensPerPass: number;
  /** Share the passes; default: alone. */
  ranks?: Ranks;
  /** Whether only an adapter is trained, not the head. */
  isAdapter?: boolean;
  /**
   * Gradient checkpointing (Chen et al. 2016): keeps one layer's activations at a time
   * and recomputes the others. Up to a third more arithmetic; memory does not grow with
   * the number of layers.
   */
  isCheckpointed?: boolean;
  /** Bytes for saving frozen projections; default: a quarter of what is free. */
  budgetBytes?: number;
  /** Frozen layers below the trained ones. */
  frozen?: FrozenLayerStore;
  /** Sampling temperature (default 1), so that log-probs match the sampler's. */
  temperature?: number;
}

/** Sequences in one pass, and the positions of their trained tokens. */
export interface SequenceBatch {
  tree: PrefixTree;
  /** The tree's token BEFORE each trained one, whose state predicts it. (M) */
  positions: number[];
  /** The trained tokens. (M) */
  targets: number[];
  /** Their loss weights. (M) */
  lossWeights: number[];
  /** Their rows. (M) */
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

/** Drops what follows the last trained token, such as passages never read. */
function withoutTail(row: Sequence): Sequence {
  const end = row.lossMask.findLastIndex((isTrained) => isTrained !== 0) + 1;
  return { ...row, tokenIds: row.tokenIds.slice(0, end), lossMask: row.lossMask.slice(0, end) };
}

/**
 * Splits rows with a trained token into batches; returns each with its row indices. Rows
 * with a shared prefix go into one batch if they fit.
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

/** Time that a pass takes, relative to others: a shared prefix is computed once. */
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
 * disposes of the result. The vocabulary product is computed only for trained tokens.
 * @param hidden from {@link batchHidden}, if already computed
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
 * A number per trained token of each sequence, without gradients.
 * @param compute the numbers of a batch (M)
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
  const work = { cost: passCost, compute: computeValues, ...AS_IS };
  const results = ranks.spread<Pass, Float32Array, Float32Array>(passes, work);
  for await (const [{ indices, batch }, values] of results)
    batch.rows.forEach((row, m) => numbers[indices[row]].push(values[m]));
  return ranks.once(() => numbers);
}

/** Text with the loss weight of its tokens. */
export interface Piece {
  text: string;
  weight: number;
  /** Whether the text names a token, such as `<eos>`, which is never parsed from text. */
  isToken?: boolean;
}

/** Tokenises each piece on its own, like trajectory segments. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
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

/** Total weight of the tokens with a loss. */
export function totalWeight(rows: readonly Sequence[]): number {
  const tokenWeights = ({ lossMask, lossWeights = lossMask }: Sequence): number[] =>
    lossMask.map((mask, t) => (t > 0 && mask > 0 ? lossWeights[t] : 0));
  return sum(rows, (row) => sum(tokenWeights(row)));
}
