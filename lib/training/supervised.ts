/**
 * Supervised training on weighted tokens: the warm-up that gives the policy its grammar and its skill. A second process can
 * compute the gradients of half of a step's rows: tfjs works on one core for much of a small model's step, and threads of one
 * process share tfjs's global state, while two processes use both cores.
 */
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { serve, startWorker } from '../io/worker.js';
import type { ModelConfig } from '../policy/model-config.js';
import type { NamedArray } from '../tensor/safetensors.js';
import { rotaryTable, type RotaryTable } from '../policy/transformer.js';
import { disposeWeights, fromNamedArrays, toNamedArrays, type Weights } from '../policy/weights.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { AdamW } from './adamw.js';
import { addGradients, clipByGlobalNorm, rowGradients } from './gradients.js';
import type { PassOptions, Sequence } from './sequences.js';

/** A piece of text with the weight of its tokens in the loss; tokenised by itself, as segments are. */
export interface Piece {
  text: string;
  weight: number;
  /** Whether the text is the name of a token, such as `<eos>`: texts are never read for special ones. */
  isToken?: boolean;
}

/**
 * Stands between two tokens that the tokenizer would have merged, and is nothing itself. Many tokens stand in no training text,
 * since they are always merged with their neighbours there; a held-out name may hold them. BPE-dropout (arXiv 1910.13267) teaches
 * them by merging at random; here a name keeps its tokens throughout a row, so that they can be copied.
 */
export const TOKEN_BREAK = '\u2060';

/** Tokenises each piece by itself, as the rollout's segments are. */
export function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): Sequence {
  const idsOf = ({ text, isToken }: Piece): number[] =>
    isToken ? [tokenizer.tokenId(text)!] : text.split(TOKEN_BREAK).flatMap((part) => tokenizer.encode(part));
  const tokens = pieces.flatMap((piece) => idsOf(piece).map((id) => ({ id, weight: piece.weight })));
  return {
    tokenIds: tokens.map(({ id }) => id),
    lossMask: tokens.map(({ weight }) => (weight > 0 ? 1 : 0)),
    lossWeights: tokens.map(({ weight }) => weight),
  };
}

/** The weight of all tokens with a loss. */
export function totalWeight(rows: readonly Sequence[]): number {
  const weightsOf = ({ lossMask, lossWeights = lossMask }: Sequence): number[] =>
    lossMask.map((mask, t) => (t > 0 && mask > 0 ? lossWeights[t] : 0));
  return sum(rows, (row) => sum(weightsOf(row)));
}

/** Loss and gradients, which the caller disposes of. */
interface Gradients {
  loss: number;
  gradients: Weights;
}

/**
 * Gradient of the weighted mean cross-entropy over the rows.
 * @param options.totalWeight what the summed loss is divided by: the weight of all tokens of the step
 */
export function supervisedGradients(
  weights: Weights,
  rows: readonly Sequence[],
  options: PassOptions & { totalWeight: number },
): Gradients {
  return rowGradients(weights, rows, options, (logProbs, _, { lossWeights }) => {
    const negated = lossWeights.map((weight) => -weight / options.totalWeight);
    return tf.sum<tf.Scalar>(tf.mul(logProbs, tf.tensor1d(negated)));
  });
}

/** What a helper process is asked for; it has a rotary table of its own. */
interface GradientRequest {
  backend: BackendName;
  weights: Map<string, NamedArray>;
  rows: readonly Sequence[];
  options: Omit<Parameters<typeof supervisedGradients>[2], 'table'>;
}
type GradientReply = { loss: number; gradients: Map<string, NamedArray> };

/** A process that computes gradients, while this one computes others. */
export interface GradientWorker {
  /** Hands over rows and weights; resolves once the worker has them, with a function that waits for the gradients. */
  start(
    weights: Weights,
    rows: readonly Sequence[],
    options: GradientRequest['options'],
  ): Promise<() => Promise<Gradients>>;
  stop(): void;
}

/** Starts a worker on the same backend. */
export function startGradientWorker(backend: BackendName): GradientWorker {
  const worker = startWorker<GradientRequest, GradientReply>(import.meta.url);
  return {
    start: async (weights, rows, options) => {
      const request = { backend, weights: await toNamedArrays(weights), rows, options };
      const { reply } = await worker.send(request);
      return async () => {
        const { loss, gradients } = await reply;
        return { loss, gradients: fromNamedArrays(gradients) };
      };
    },
    stop: () => worker.stop(),
  };
}

let workerTable: RotaryTable | undefined;
serve<GradientRequest, GradientReply>(import.meta.url, async (request) => {
  if (!workerTable) await useBackend(request.backend);
  const { config } = request.options;
  const table = (workerTable ??= rotaryTable(config, config.maxPositionEmbeddings));
  const weights = fromNamedArrays(request.weights);
  const { loss, gradients } = supervisedGradients(weights, request.rows, { ...request.options, table });
  const reply = { loss, gradients: await toNamedArrays(gradients) };
  disposeWeights(weights);
  disposeWeights(gradients);
  return reply;
});

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
  passes: PassOptions,
  worker: GradientWorker | undefined,
): Promise<Gradients> {
  const options = { ...passes, totalWeight: totalWeight(rows) };
  if (!worker || rows.length < 2) return supervisedGradients(weights, rows, options);
  const [own, others] = splitRows(rows);
  const { table: _, ...sent } = options;
  const finish = await worker.start(weights, others, sent);
  const a = supervisedGradients(weights, own, options);
  const b = await finish();
  return { loss: a.loss + b.loss, gradients: addGradients(a.gradients, b.gradients) };
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

export interface SupervisedOptions {
  steps: number;
  /** The first one, where a run goes on; 0 by default. */
  firstStep?: number;
  learningRateAt: (step: number) => number;
  maxGradNorm: number;
  /** Most padded tokens in one pass; a step's rows are split into passes of similar length. */
  maxTokensPerPass: number;
  optimizer: AdamW;
  /** Draws the rows of a step. */
  sample: (step: number) => Sequence[];
  /** Computes half of each step's gradients in another process. */
  worker?: GradientWorker;
  /** Awaited after each step with the newest weights. */
  onStep?: (report: SupervisedStep, weights: Weights) => Promise<void> | void;
}

/** Trains and returns the new weights; the old ones are disposed of. */
export async function trainSupervised(
  weights: Weights,
  config: ModelConfig,
  options: SupervisedOptions,
): Promise<Weights> {
  const { maxTokensPerPass, optimizer } = options;
  const table = rotaryTable(config, config.maxPositionEmbeddings);
  let current = weights;
  for (let step = options.firstStep ?? 0; step < options.steps; step++) {
    const start = performance.now();
    const rows = options.sample(step);
    const passes = { config, table, maxTokensPerPass };
    const { loss, gradients } = await stepGradients(current, rows, passes, options.worker);
    const clipped = clipByGlobalNorm(gradients, options.maxGradNorm);
    if (!Number.isFinite(clipped.norm))
      throw new Error(
        `Expected a finite norm of the gradients, but got ${clipped.norm}. Lower the learning rate.`,
      );
    const learningRate = options.learningRateAt(step);
    current = optimizer.apply(current, clipped.gradients, learningRate);
    const numTokens = sum(rows, ({ tokenIds }) => tokenIds.length);
    const seconds = (performance.now() - start) / 1000;
    const report = { step, loss, gradNorm: clipped.norm, learningRate, numTokens, seconds };
    await options.onStep?.(report, current);
  }
  tf.dispose([table.cos, table.sin, table.rotation]);
  return current;
}
