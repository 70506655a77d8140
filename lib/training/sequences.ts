/** Token sequences with loss masks, as padded batches, and the log-probabilities a policy gives their tokens. */
import * as tf from '@tensorflow/tfjs-core';
import { forward, logitsOf, rotaryTable, type RotaryTable } from '../policy/transformer.js';
import type { ModelConfig } from '../policy/model-config.js';
import type { Weights } from '../policy/weights.js';
import { chosenLogProbs, entropies, selectRows } from '../tensor/ops.js';

export interface Sequence {
  tokenIds: readonly number[];
  /** 1 = contributes to the loss; the first token has no prediction, whatever its mask says. */
  lossMask: readonly number[];
  /** Weight of each token in the loss where it is masked in; all 1 by default. */
  lossWeights?: readonly number[];
}

/** Sequences right-padded to one length, and where their masked-in tokens are. */
export interface SequenceBatch {
  /** (B, T) int32 */
  ids: number[][];
  /** Flat index into (B*T) of the token BEFORE each masked-in token: its hidden state predicts it. (M) */
  positions: number[];
  /** The masked-in tokens. (M) */
  targets: number[];
  /** Their weights in the loss. (M) */
  lossWeights: number[];
  /** Row of each. (M) */
  rows: number[];
}

/** Lays sequences out side by side; padding is id 0 and never has a loss. */
export function packSequences(sequences: readonly Sequence[]): SequenceBatch {
  const length = Math.max(...sequences.map((s) => s.tokenIds.length));
  const batch: SequenceBatch = { ids: [], positions: [], targets: [], lossWeights: [], rows: [] };
  sequences.forEach(({ tokenIds, lossMask, lossWeights }, row) => {
    batch.ids.push([...tokenIds, ...new Array<number>(length - tokenIds.length).fill(0)]);
    for (let t = 1; t < tokenIds.length; t++) {
      if (lossMask[t] === 0) continue;
      batch.positions.push(row * length + t - 1);
      batch.targets.push(tokenIds[t]);
      batch.lossWeights.push(lossWeights?.[t] ?? 1);
      batch.rows.push(row);
    }
  });
  return batch;
}

/**
 * Log-probabilities (nats) of the masked-in tokens (M) and, when wanted, the entropies (M) of their distributions.
 * Differentiable in the weights; the caller disposes of the result. The vocabulary product is computed only where there
 * is a loss.
 * @param temperature that the tokens were sampled at, so that the log-probabilities are those of the sampler
 */
export function batchLogProbs(
  weights: Weights,
  batch: SequenceBatch,
  config: ModelConfig,
  table: RotaryTable,
  temperature = 1,
): { logProbs: tf.Tensor1D; logits: tf.Tensor2D } {
  const ids = tf.tensor2d(batch.ids, [batch.ids.length, batch.ids[0].length], 'int32');
  const hidden = selectRows(forward(weights, ids, config, table), tf.tensor1d(batch.positions, 'int32'));
  const plain = logitsOf(weights, hidden, config);
  const logits = temperature === 1 ? plain : tf.div<tf.Tensor2D>(plain, temperature);
  return { logProbs: chosenLogProbs(logits, tf.tensor1d(batch.targets, 'int32')), logits };
}

/** Indices of sequences in groups of similar length, each of at most `maxTokens` padded tokens. */
export function groupByLength(lengths: readonly number[], maxTokens: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[a] - lengths[b] || a - b);
  const groups: number[][] = [];
  for (const i of order) {
    const group = groups[groups.length - 1];
    // Lengths ascend, so the newest member is the longest.
    if (group && (group.length + 1) * lengths[i] <= maxTokens) group.push(i);
    else groups.push([i]);
  }
  return groups;
}

/** Log-probabilities (nats) and entropies of every masked-in token, a list a sequence, without gradients. */
export async function scoreSequences(
  weights: Weights,
  sequences: readonly Sequence[],
  config: ModelConfig,
  options: { maxTokens?: number; table?: RotaryTable; temperature?: number } = {},
): Promise<{ logProbs: number[]; entropies: number[] }[]> {
  const table = options.table ?? rotaryTable(config, config.maxPositionEmbeddings);
  const scored = sequences.map(() => ({ logProbs: [] as number[], entropies: [] as number[] }));
  for (const group of groupByLength(
    sequences.map((s) => s.tokenIds.length),
    options.maxTokens ?? 8192,
  )) {
    const batch = packSequences(group.map((i) => sequences[i]));
    if (batch.positions.length === 0) continue;
    const [logProbs, entropy] = tf.tidy(() => {
      const result = batchLogProbs(weights, batch, config, table, options.temperature);
      return [result.logProbs, entropies(result.logits)];
    });
    const [values, entropyValues] = [await logProbs.data(), await entropy.data()];
    tf.dispose([logProbs, entropy]);
    batch.rows.forEach((row, m) => {
      scored[group[row]].logProbs.push(values[m]);
      scored[group[row]].entropies.push(entropyValues[m]);
    });
  }
  if (!options.table) tf.dispose([table.cos, table.sin, table.rotation]);
  return scored;
}

/** Log-probabilities (nats) of the masked-in tokens of each sequence, without gradients. */
export async function sequenceLogProbs(
  weights: Weights,
  sequences: readonly Sequence[],
  config: ModelConfig,
): Promise<number[][]> {
  return (await scoreSequences(weights, sequences, config)).map((s) => s.logProbs);
}
