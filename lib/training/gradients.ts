/** Computes gradients of losses over the log-probs of token sequences. */
import * as tf from '@tensorflow/tfjs-core';
import { min } from 'd3-array';
import { createBreather, interruptSignal } from '../interrupt.js';
import type { ModelConfig } from '../policy/model/families.js';
import {
  embedTokens,
  finalNorm,
  layerContext,
  layerInput,
  runLayer,
  type ProjectionStore,
} from '../policy/model/transformer.js';
import {
  disposeWeights,
  fromNamedArrays,
  toNamedArrays,
  type Weights,
} from '../policy/model/weights.js';
import { runAsGraph } from '../tensor/graph.js';
import { gatherRows } from '../tensor/ops.js';
import type { NamedArray } from '../tensor/safetensors.js';
import { ALONE } from './ranks.js';
import {
  batchHidden,
  batchLogProbs,
  passCost,
  splitIntoPasses,
  type Pass,
  type PassOptions,
  type Sequence,
  type SequenceBatch,
} from './sequences.js';

/** Inputs of a loss besides the log-probs. */
interface PassStates {
  /** Hidden states (M, C) of the tokens before the trained ones. */
  hidden: tf.Tensor2D;
  /** The trained weights as differentiable tensors. */
  newest: Weights;
  /** Loss weight of each trained token (M). */
  lossWeights: readonly number[];
}

/**
 * Computes a pass's part of the loss from the log-probs (M) of its trained tokens, row by
 * row. `read` names tensors to read after the pass, because GPU reads are asynchronous.
 */
export type TokenLoss<Row> = (
  logProbs: tf.Tensor1D,
  rows: readonly Row[],
  states: PassStates,
) => { loss: tf.Scalar; read?: Readonly<Record<string, tf.Tensor>> };

/** The rows of a pass, and the tensors read after it. */
export interface PassValues<Row> {
  rows: readonly Row[];
  values: Record<string, Float32Array>;
}

interface PassGradients {
  loss: number;
  /** Arrays if there are several ranks: tensors cannot be sent. */
  gradients: Weights | Map<string, NamedArray>;
  values: Record<string, Float32Array>;
}

/**
 * Computes the loss summed over all passes, and its gradients; ranks other than 0 get
 * none. The caller disposes of the gradients.
 * @param options.buildWeights maps the trained weights to those of the forward pass.
 * Default: identity
 * @throws Error if there is no trained token
 */
export async function rowGradients<Row extends Sequence>(
  trained: Weights,
  rows: readonly Row[],
  options: PassOptions & { buildWeights?: (trained: Weights) => Weights },
  tokenLoss: TokenLoss<Row>,
): Promise<{ loss: number; gradients: Weights; passes: PassValues<Row>[] }> {
  const { buildWeights = (same) => same, ranks = ALONE } = options;
  const breathe = createBreather(interruptSignal());
  const computePass = async ({ indices, batch }: Pass): Promise<PassGradients> => {
    await breathe();
    const passRows = indices.map((i) => rows[i]);
    const tensors: Record<string, tf.Tensor> = {};
    const computeLoss = (hidden: tf.Tensor2D, newest: Weights): tf.Scalar => {
      const head = { ...options, computesGradient: true };
      const logProbs = batchLogProbs(buildWeights(newest), batch, head, hidden);
      const { loss: part, read = {} } = tokenLoss(logProbs, passRows, {
        hidden,
        newest,
        lossWeights: batch.lossWeights,
      });
      for (const [name, tensor] of Object.entries(read)) tensors[name] = tf.keep(tf.clone(tensor));
      return part;
    };
    const part = options.isCheckpointed
      ? checkpointedGradients(trained, batch, { ...options, buildWeights }, computeLoss)
      : runAsGraph(() =>
          lossAndGradients(trained, (newest) =>
            computeLoss(batchHidden(buildWeights(newest), batch, options), newest),
          ),
        );
    const loss = (await part.value.data())[0];
    part.value.dispose();
    const values: Record<string, Float32Array> = {};
    for (const [name, tensor] of Object.entries(tensors)) {
      values[name] = (await tensor.data()) as Float32Array;
      tensor.dispose();
    }
    if (ranks.size === 1) return { loss, gradients: part.gradients, values };
    const arrays = await toNamedArrays(part.gradients);
    disposeWeights(part.gradients);
    return { loss, gradients: arrays, values };
  };
  const split = splitIntoPasses(rows, options.maxTokensPerPass);
  if (split.length === 0)
    throw new Error('Expected at least one trained token, but the rows have none.');
  let gradients: Weights = {};
  let loss = 0;
  const passes: PassValues<Row>[] = [];
  try {
    const work = { cost: passCost, compute: computePass };
    for await (const [{ indices }, part] of ranks.spread(split, work)) {
      loss += part.loss;
      passes.push({ rows: indices.map((i) => rows[i]), values: part.values });
      const own = part.gradients instanceof Map ? fromNamedArrays(part.gradients) : part.gradients;
      gradients = passes.length > 1 ? addGradients(gradients, own) : own;
    }
  } catch (error) {
    disposeWeights(gradients);
    throw error;
  }
  return { loss, gradients, passes };
}

/** The loss and its gradients in all `weights`. The caller disposes of both. */
export function lossAndGradients(
  weights: Weights,
  loss: (weights: Weights) => tf.Scalar,
): { value: tf.Scalar; gradients: Weights } {
  const keys = Object.keys(weights);
  const differentiate = tf.valueAndGrads((...tensors: tf.Tensor[]) =>
    loss(Object.fromEntries(keys.map((key, i) => [key, tensors[i]]))),
  );
  const { value, grads } = differentiate(keys.map((key) => weights[key]));
  return { value, gradients: Object.fromEntries(keys.map((key, i) => [key, grads[i]])) };
}

const layerIndex = (key: string): number | null => (/^\d+\./.test(key) ? parseInt(key, 10) : null);

/** The index of the lowest trained layer; `numLayers` if no layer is trained. */
export const lowestLayer = (trained: Weights, { numLayers }: ModelConfig): number =>
  trained.embed ? 0 : (min(Object.keys(trained), layerIndex) ?? numLayers);

const pick = (weights: Weights, isWanted: (key: string) => boolean): Weights =>
  Object.fromEntries(Object.entries(weights).filter(([key]) => isWanted(key)));

/**
 * Computes gradients with one layer's activations in memory at a time (gradient
 * checkpointing, Chen et al. 2016, arXiv 1604.06174). The forward pass keeps the input of
 * each layer and, as far as memory allows, the outputs of frozen projections; the
 * backward pass recomputes the rest. Returns the loss of hidden states (M, C) and its
 * gradients with respect to all `trained`. The caller disposes of both.
 * @param options.buildWeights maps the trained weights to those of the forward pass
 */
function checkpointedGradients(
  trained: Weights,
  batch: SequenceBatch,
  options: PassOptions & { buildWeights: (trained: Weights) => Weights },
  loss: (hidden: tf.Tensor2D, newest: Weights) => tf.Scalar,
): { value: tf.Scalar; gradients: Weights } {
  const { config, table, frozen, isAdapter, budgetBytes, buildWeights } = options;
  const saved = isAdapter ? new SavedProjections(budgetBytes) : undefined;
  const compute = (): { value: tf.Scalar; gradients: Weights } => {
    const { tree } = batch;
    const context = layerContext(tree, config, table);
    const weights = buildWeights(trained);
    // Nothing below the lowest trained layer has a gradient: no need to keep inputs.
    const lowest = lowestLayer(trained, config);
    const inputs: tf.Tensor2D[] = [];
    let hidden = layerInput(weights, tree, config, context, frozen);
    for (let i = frozen?.count ?? 0; i < config.numLayers; i++) {
      const x = hidden;
      const store = i >= lowest ? saved?.forwardStore : undefined;
      hidden = runAsGraph(() => tf.tidy(() => runLayer(x, weights, i, config, context, store)));
      if (i >= lowest) inputs.push(x);
      else x.dispose();
    }

    // A tied embedding is also the output head, above the layers.
    const isAbove = (key: string): boolean =>
      layerIndex(key) === null && (key !== 'embed' || config.tieWordEmbeddings);
    const top = { ...pick(trained, isAbove), x: hidden };
    const whole = lossAndGradients(top, ({ x, ...others }) => {
      const newest = { ...trained, ...others };
      const normed = finalNorm(x as tf.Tensor2D, buildWeights(newest), config);
      return loss(gatherRows(normed, tf.tensor1d(batch.positions, 'int32')), newest);
    });
    const { x: last, ...gradients } = whole.gradients;
    top.x.dispose();
    let dx = last;
    for (let i = config.numLayers - 1; i >= lowest; i--) {
      const layerWeights = pick(trained, (key) => layerIndex(key) === i);
      const keys = Object.keys(layerWeights);
      const x = inputs.pop()!;
      const backward = tf.grads((x: tf.Tensor, ...tensors: tf.Tensor[]) => {
        const newest = buildWeights(Object.fromEntries(keys.map((key, k) => [key, tensors[k]])));
        const all = { ...weights, ...newest };
        return runLayer(x as tf.Tensor2D, all, i, config, context, saved?.backwardStore);
      });
      const [dInput, ...dOwn] = runAsGraph(() => backward([x, ...Object.values(layerWeights)], dx));
      tf.dispose([x, dx]);
      dx = dInput;
      keys.forEach((key, k) => (gradients[key] = dOwn[k]));
    }
    if (trained.embed) {
      const [embedded] = tf.grads((embed: tf.Tensor) => embedTokens({ embed }, tree.ids))(
        [trained.embed],
        dx,
      );
      gradients.embed = gradients.embed ? tf.add(gradients.embed, embedded) : embedded;
    }
    return { value: whole.value, gradients };
  };
  try {
    return tf.tidy(compute);
  } finally {
    saved?.release();
  }
}

/** Adds two sets of gradients and disposes of both. */
function addGradients(a: Weights, b: Weights): Weights {
  const sum = tf.tidy(() =>
    Object.fromEntries(Object.keys(b).map((key) => [key, tf.add(a[key], b[key])])),
  );
  disposeWeights(a);
  disposeWeights(b);
  return sum;
}

/** Clips gradients to a global L2 norm, like PyTorch; disposes of the old ones. */
export async function clipByGlobalNorm(
  gradients: Weights,
  maxNorm: number,
): Promise<{ gradients: Weights; norm: number }> {
  // One tensor at a time: the webgpu backend computes wrong sums of many.
  const squares = tf.tidy(() =>
    Object.values(gradients)
      .map((gradient) => tf.sum<tf.Scalar>(tf.square(gradient)))
      .reduce((a, b) => tf.add(a, b)),
  );
  const norm = Math.sqrt((await squares.data())[0]);
  squares.dispose();
  const scale = maxNorm / (norm + 1e-6);
  if (!(scale < 1)) return { gradients, norm };
  const clipped = tf.tidy(() =>
    Object.fromEntries(Object.entries(gradients).map(([key, g]) => [key, tf.mul(g, scale)])),
  );
  disposeWeights(gradients);
  return { gradients: clipped, norm };
}

const FLOAT = 4;

/** A quarter of the free memory in bytes; 0 where it is unknown, on a GPU or wasm. */
const freeActivationBytes = (): number =>
  tf.getBackend() === 'tensorflow' ? process.availableMemory() / 4 : 0;

/**
 * Saves projection outputs of the forward pass for the backward pass, which recomputes
 * the rest of a layer (selective activation checkpointing, as in PyTorch): projections
 * are most of the arithmetic.
 */
class SavedProjections {
  private readonly outputs = new Map<string, tf.Tensor2D>();

  /** @param budgetBytes memory to use; outputs beyond it are recomputed */
  constructor(private budgetBytes = freeActivationBytes()) {}

  /** Saves outputs in the forward pass. */
  readonly forwardStore: ProjectionStore = {
    getOutput: (key, compute) => {
      const output = compute();
      const bytes = output.size * FLOAT;
      if (bytes > this.budgetBytes) return output;
      this.budgetBytes -= bytes;
      this.outputs.set(key, tf.keep(tf.clone(output)));
      return output;
    },
  };

  /** Returns each saved output once in the backward pass, and then releases it. */
  readonly backwardStore: ProjectionStore = {
    getOutput: (key, compute) => {
      const kept = this.outputs.get(key);
      if (!kept) return compute();
      this.outputs.delete(key);
      const output = tf.clone(kept);
      kept.dispose();
      return output;
    },
  };

  release(): void {
    tf.dispose([...this.outputs.values()]);
    this.outputs.clear();
  }
}
