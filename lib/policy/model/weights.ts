/**
 * The weights of a decoder as tensors, in the layout that computes fast: input by output,
 * with fused products (query, key, value; gate, up). {@link isStoredTransposed} lists
 * exceptions. Checkpoints have other names, and store output by input.
 */
import * as tf from '@tensorflow/tfjs-core';
import { requireTensor, type NamedArray, type Tensors } from '../../tensor/safetensors.js';
import { isLarge, weightSlots, type ModelConfig, type Slot } from './families.js';

/**
 * `embed` (V, C), `norm` (C), `head` (C, V) unless tied; for layer i `i.inputNorm`,
 * `i.qkv`, `i.o`, `i.postNorm`, `i.gateUp`, `i.down`, and, if the model has them,
 * `i.qNorm`, `i.kNorm` and biases such as `i.qkvBias`.
 */
export type Weights = Record<string, tf.Tensor>;

const TILE = 32;

/** Transposes a row-major matrix (rows, columns), in tiles that fit into the cache. */
export function transposeValues(values: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(values.length);
  for (let top = 0; top < rows; top += TILE)
    for (let left = 0; left < columns; left += TILE)
      for (let r = top; r < Math.min(top + TILE, rows); r++)
        for (let c = left; c < Math.min(left + TILE, columns); c++)
          out[c * rows + r] = values[r * columns + c];
  return out;
}

/** Columns `from` to `from + width` of a row-major matrix (rows, total). */
export function takeColumns(
  values: Float32Array,
  total: number,
  from: number,
  width: number,
): Float32Array {
  const rows = values.length / total;
  const out = new Float32Array(rows * width);
  for (let r = 0; r < rows; r++)
    out.set(values.subarray(r * total + from, r * total + from + width), r * width);
  return out;
}

/** Number of float32 columns in a page of memory. */
const PAGE = 1024;

/**
 * Whether a matrix stays output by input: oneDNN takes twice as long if rows fill whole
 * pages. Not for square matrices, whose shape does not tell the layout, nor for trained
 * weights.
 */
const isStoredTransposed = (
  { key, kind, shape: [rows, columns] }: Slot,
  config: ModelConfig,
): boolean =>
  tf.getBackend() === 'tensorflow' &&
  isLarge(config) &&
  kind === 'matrix' &&
  key !== 'head' &&
  columns % PAGE === 0 &&
  rows !== columns;

/** Brings a matrix (I, O) to the layout of a weight, which may be stored transposed. */
export const matchLayout = (weight: tf.Tensor, matrix: tf.Tensor2D): tf.Tensor2D =>
  weight.shape[0] === matrix.shape[0] ? matrix : tf.transpose(matrix);

/** Tensors a checkpoint may repeat: rotary frequencies, and a copy of the embedding. */
const isRedundant = (name: string, { tieWordEmbeddings }: ModelConfig): boolean =>
  name.endsWith('rotary_emb.inv_freq') || (tieWordEmbeddings && name === 'lm_head.weight');

/** @throws Error for a separate head in a model whose config ties it */
function requireTiedHead(arrays: Tensors, { tieWordEmbeddings }: ModelConfig): void {
  const head = arrays.get('lm_head.weight');
  const embedding = arrays.get('model.embed_tokens.weight');
  if (!tieWordEmbeddings || !head || !embedding) return;
  if (head.values.some((value, i) => value !== embedding.values[i]))
    throw new Error(
      'Expected lm_head.weight to be the embedding, as tie_word_embeddings in config.json says, but it differs. Set it to false if the head was trained.',
    );
}

/** The shape of a slot as a matrix; a vector is one row. */
const matrixShape = ({ shape }: Slot): number[] => (shape.length === 1 ? [1, shape[0]] : shape);

/** The shape of a part in the checkpoint; matrices are output by input. */
const storedShape = ({ kind, shape }: Slot, columns: number): number[] =>
  kind === 'matrix' ? [columns, shape[0]] : [...shape.slice(0, -1), columns];

/**
 * Converts a checkpoint's arrays to weights; dispose of them with {@link disposeWeights}.
 * @throws Error naming a tensor that is missing, unexpected or of the wrong shape
 */
export function weightsFromArrays(arrays: Tensors, config: ModelConfig): Weights {
  const slots = weightSlots(config);
  const names = new Set(slots.flatMap(({ parts }) => parts.map(({ name }) => name)));
  const unexpected = [...arrays.keys()].find(
    (name) => !names.has(name) && !isRedundant(name, config),
  );
  if (unexpected !== undefined)
    throw new Error(
      `Expected only tensors of a ${config.modelType} model with this config.json, but there is ${unexpected}.`,
    );
  requireTiedHead(arrays, config);
  const weights: Weights = {};
  for (const slot of slots) {
    const { key, kind, shape, parts } = slot;
    const keepsLayout = kind !== 'matrix' || isStoredTransposed(slot, config);
    const [rows, total] = matrixShape(slot);
    const stored = parts.map(({ name, columns }) => {
      const array = requireTensor(arrays, name, { shape: storedShape(slot, columns) });
      return keepsLayout ? array.values : transposeValues(array.values, columns, rows);
    });
    const isTransposed = kind === 'matrix' && keepsLayout;
    weights[key] = tf.tensor(
      parts.length === 1 ? stored[0] : fuse(stored, [rows, total], isTransposed),
      isTransposed ? [total, rows] : shape,
    );
  }
  return weights;
}

/** Joins matrices side by side as (rows, total), or vertically if transposed. */
function fuse(
  parts: readonly Float32Array[],
  [rows, total]: readonly number[],
  isTransposed: boolean,
): Float32Array {
  const fused = new Float32Array(rows * total);
  let from = 0;
  for (const part of parts) {
    const width = part.length / rows;
    if (isTransposed) fused.set(part, from * rows);
    else
      for (let r = 0; r < rows; r++)
        fused.set(part.subarray(r * width, (r + 1) * width), r * total + from);
    from += width;
  }
  return fused;
}

/** The inverse of {@link weightsFromArrays}. */
export async function arraysFromWeights(
  weights: Weights,
  config: ModelConfig,
): Promise<Map<string, NamedArray>> {
  const arrays = new Map<string, NamedArray>();
  for (const slot of weightSlots(config)) {
    const weight = weights[slot.key];
    const stored = (await weight.data()) as Float32Array;
    const [rows, total] = matrixShape(slot);
    const isTransposed = weight.shape[0] !== slot.shape[0];
    const values = isTransposed ? transposeValues(stored, total, rows) : stored;
    let from = 0;
    for (const { name, columns } of slot.parts) {
      const part = takeColumns(values, total, from, columns);
      arrays.set(name, {
        shape: storedShape(slot, columns),
        values: slot.kind === 'matrix' ? transposeValues(part, rows, columns) : part,
      });
      from += columns;
    }
  }
  return arrays;
}

export function disposeWeights(weights: Weights): void {
  for (const tensor of Object.values(weights)) tensor.dispose();
}

/** Copies tensors into arrays, for files and other processes. */
export async function toNamedArrays(tensors: Weights): Promise<Map<string, NamedArray>> {
  const arrays = Object.entries(tensors).map(
    async ([name, t]) =>
      [name, { shape: t.shape, values: (await t.data()) as Float32Array }] as const,
  );
  return new Map(await Promise.all(arrays));
}

/** The inverse of {@link toNamedArrays}. The caller disposes of the tensors. */
export const fromNamedArrays = (arrays: Iterable<readonly [string, NamedArray]>): Weights =>
  Object.fromEntries(
    Array.from(arrays, ([name, { shape, values }]) => [name, tf.tensor(values, shape)] as const),
  );
