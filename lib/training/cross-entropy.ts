/** The loss of supervised training on weighted tokens. */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import type { Weights } from '../policy/weights.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { rowGradients } from './gradients.js';
import type { PassOptions, Sequence } from './sequences.js';

/**
 * Text with the loss weight of its tokens. Tokenised on its own, like trajectory
 * segments.
 */
export interface Piece {
  text: string;
  weight: number;
  /**
   * Whether the text names a token, such as `<eos>`; text is never parsed for special
   * tokens.
   */
  isToken?: boolean;
}

/**
 * Zero-width separator between tokens that the tokenizer would merge. Many tokens never
 * occur in training text because they are always merged with their neighbours, but a
 * held-out name may contain them. BPE-dropout (arXiv 1910.13267) covers them by merging
 * at random; here a name keeps its tokens throughout a row, so that they can be copied.
 */
export const TOKEN_BREAK = '\u2060';

/** Tokenises each piece on its own, like trajectory segments. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
  const encode = ({ text, isToken }: Piece): number[] =>
    isToken
      ? [tokenizer.tokenId(text)!]
      : text.split(TOKEN_BREAK).flatMap((part) => tokenizer.encode(part));
  const tokens = pieces.flatMap((piece) =>
    encode(piece).map((id) => ({ id, weight: piece.weight })),
  );
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

/**
 * Gradient of the weighted mean cross-entropy over rows. The caller disposes of the
 * gradients.
 * @param options.totalWeight divisor of the summed loss: the weight of all tokens of the
 * step
 */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  options: PassOptions & { totalWeight: number },
): ReturnType<typeof rowGradients> {
  return rowGradients(weights, rows, options, (logProbs, _, { lossWeights }) => {
    const negated = lossWeights.map((weight) => -weight / options.totalWeight);
    return { loss: tf.sum<tf.Scalar>(tf.mul(logProbs, tf.tensor1d(negated))) };
  });
}
