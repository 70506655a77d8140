/**
 * The weights of a Llama-type decoder as tensors, in the layout that computes fast:
 * input by output, with the query, key and value products fused, and gate and up as well;
 * a few matrices lie the other way round ({@link liesTransposed}). The names and the
 * layout of checkpoints (output by input) are at the border.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Random } from '../random.js';
import { type ModelConfig, type Slot, isLarge, weightSlots } from './families.js';
import type { NamedArray, Tensors } from '../tensor/safetensors.js';

/**
 * `embed` (V, C), `norm` (C), `head` (C, V) unless tied; for layer i `i.inputNorm`,
 * `i.qkv`, `i.o`, `i.postNorm`, `i.gateUp`, `i.down`, and, where the model has them,
 * `i.qNorm`, `i.kNorm` and biases such as `i.qkvBias`.
 */
export type Weights = Record<string, tf.Tensor>;

const TILE = 32;

/** (rows, columns) row-major into its transpose. */
export function transposeValues(values: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(values.length);
  // In tiles that fit into the cache.
  for (let top = 0; top < rows; top += TILE)
    for (let left = 0; left < columns; left += TILE)
      for (let r = top; r < Math.min(top + TILE, rows); r++)
        for (let c = left; c < Math.min(left + TILE, columns); c++)
          out[c * rows + r] = values[r * columns + c];
  return out;
}

/** Puts (rows, width) values into columns `from`.. of a (rows, total) matrix. */
function putColumns(
  target: Float32Array,
  total: number,
  from: number,
  values: Float32Array,
  width: number,
): void {
  for (let r = 0; r * width < values.length; r++) {
    target.set(values.subarray(r * width, (r + 1) * width), r * total + from);
  }
}

/** Columns from..from+width of a (rows, total) matrix. */
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

/** Columns of float32 in a page of memory. */
const PAGE = 1024;

/**
 * Whether a matrix lies output by input, as in checkpoints: oneDNN, with which the
 * native backend multiplies, takes twice as long for one whose rows fill whole pages. Not
 * a square one, whose shape would not tell, and only where weights stay as they are.
 */
const liesTransposed = (
  { key, kind, shape: [rows, columns] }: Slot,
  config: ModelConfig,
): boolean =>
  tf.getBackend() === 'tensorflow' &&
  isLarge(config) &&
  kind === 'matrix' &&
  key !== 'head' &&
  columns % PAGE === 0 &&
  rows !== columns;

/** A matrix in the layout of a weight: transposed where the weight is. */
export const inLayoutOf = (weight: tf.Tensor, matrix: tf.Tensor2D): tf.Tensor2D =>
  weight.shape[0] === matrix.shape[0] ? matrix : tf.transpose(matrix);

/**
 * Tensors that some checkpoints hold and nobody needs: a copy of what config.json says,
 * and of the embedding.
 */
const isSpare = (name: string, { tieWordEmbeddings }: ModelConfig): boolean =>
  name.endsWith('rotary_emb.inv_freq') || (tieWordEmbeddings && name === 'lm_head.weight');

/**
 * Fuses Hugging Face tensors. The caller disposes of the result ({@link
 * disposeWeights}).
 * @throws Error naming a tensor that is missing, of another shape than the config says,
 * or not of use
 */
export function weightsFromArrays(arrays: Tensors, config: ModelConfig): Weights {
  const weights: Weights = {};
  const known = new Set(weightSlots(config).flatMap(({ parts }) => parts.map(({ name }) => name)));
  const unused = [...arrays.keys()].find((name) => !known.has(name) && !isSpare(name, config));
  if (unused)
    throw new Error(
      `Expected only tensors that a ${config.modelType} model with this config.json is computed from, but there is ${unused}.`,
    );
  for (const slot of weightSlots(config)) {
    const { key, kind, shape, parts } = slot;
    const isMatrix = kind === 'matrix';
    const isTransposed = liesTransposed(slot, config);
    const [rows, total] = shape.length === 1 ? [1, shape[0]] : shape;
    const stored = parts.map(({ name, columns }) => {
      const array = arrays.get(name);
      const expected = isMatrix ? [columns, rows] : [...shape.slice(0, -1), columns];
      if (array?.shape.join() === expected.join())
        return isMatrix && !isTransposed
          ? transposeValues(array.values, columns, rows)
          : array.values;
      throw new Error(
        `Expected tensor ${name} of shape [${expected.join(', ')}], but got ${array ? `[${array.shape.join(', ')}]` : 'none'}.`,
      );
    });
    const fused = parts.length === 1 ? stored[0] : new Float32Array(rows * total);
    let from = 0;
    if (parts.length > 1)
      parts.forEach(({ columns }, i) => {
        if (isTransposed) fused.set(stored[i], from * rows);
        else putColumns(fused, total, from, stored[i], columns);
        from += columns;
      });
    weights[key] = tf.tensor(fused, isTransposed ? [total, rows] : shape);
  }
  return weights;
}

/** The reverse of {@link weightsFromArrays}. */
export async function arraysFromWeights(
  weights: Weights,
  config: ModelConfig,
): Promise<Map<string, NamedArray>> {
  const arrays = new Map<string, NamedArray>();
  for (const slot of weightSlots(config)) {
    const weight = weights[slot.key];
    const stored = (await weight.data()) as Float32Array;
    const [rows, total] = slot.shape.length === 1 ? [1, slot.shape[0]] : slot.shape;
    const isTransposed = weight.shape[0] !== slot.shape[0];
    const values = isTransposed ? transposeValues(stored, total, rows) : stored;
    let from = 0;
    for (const { name, columns } of slot.parts) {
      const part = takeColumns(values, total, from, columns);
      const isMatrix = slot.kind === 'matrix';
      arrays.set(name, {
        shape: isMatrix ? [columns, rows] : [...slot.shape.slice(0, -1), columns],
        values: isMatrix ? transposeValues(part, rows, columns) : part,
      });
      from += columns;
    }
  }
  return arrays;
}

/**
 * Fresh weights, normal: embeddings with deviation 0.02 as in GPT-2, products with
 * 1/sqrt(rows), which keeps activations in narrow models where 0.02 does not, and those
 * that end in a residual 1/sqrt(2 layers) of that; gains are 1, biases 0.
 */
export function randomWeights(config: ModelConfig, random: Random): Weights {
  const weights: Weights = {};
  for (const { key, shape, kind } of weightSlots(config)) {
    const isResidual = key.endsWith('.o') || key.endsWith('.down');
    const deviation =
      (kind === 'embedding' ? 0.02 : 1 / Math.sqrt(shape[0])) /
      (isResidual ? Math.sqrt(2 * config.numLayers) : 1);
    const stream = random.fork(key);
    const size = shape.reduce((a, b) => a * b, 1);
    const fixed = { gain: 1, bias: 0 }[kind as string];
    const values = Float32Array.from({ length: size }, () => fixed ?? stream.normal() * deviation);
    weights[key] = tf.tensor(values, shape);
  }
  return weights;
}

export function disposeWeights(weights: Weights): void {
  for (const tensor of Object.values(weights)) tensor.dispose();
}

/** Tensors by their own names, as they go into files and to other processes. */
export async function toNamedArrays(tensors: Weights): Promise<Map<string, NamedArray>> {
  const arrays = Object.entries(tensors).map(
    async ([name, t]) =>
      [name, { shape: t.shape, values: (await t.data()) as Float32Array }] as const,
  );
  return new Map(await Promise.all(arrays));
}

/** The reverse of {@link toNamedArrays}. The caller disposes of the tensors. */
export const fromNamedArrays = (arrays: Iterable<readonly [string, NamedArray]>): Weights =>
  Object.fromEntries(
    Array.from(arrays, ([name, { shape, values }]) => [name, tf.tensor(values, shape)] as const),
  );
