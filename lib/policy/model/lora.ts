/**
 * Low-rank adapters (Hu et al. 2021, arXiv 2106.09685): a frozen weight W (I, O) plus
 * alpha/R * A (I, R) * B (R, O). The modules of a fused product share one A; in PEFT's
 * files each has its own.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Random } from '../../random.js';
import { requireTensor, type NamedArray } from '../../tensor/safetensors.js';
import {
  adaptedSlots,
  moduleName,
  peftName,
  trainedSlots,
  type LoraOptions,
} from '../folders/peft.js';
import type { ModelConfig, SlotPart } from './families.js';
import { matchLayout, takeColumns, transposeValues, type Weights } from './weights.js';

/** A new adapter: A normal with deviation 1/sqrt(I), B 0. The caller disposes of it. */
export function createAdapter(config: ModelConfig, lora: LoraOptions, random: Random): Weights {
  const { rank } = lora;
  const adapter: Weights = {};
  for (const { key, shape } of trainedSlots(config, lora)) {
    const [inputs, outputs] = shape;
    const stream = random.fork(key);
    const deviation = 1 / Math.sqrt(inputs);
    const values = Float32Array.from({ length: inputs * rank }, () => stream.normal() * deviation);
    adapter[`${key}.A`] = tf.tensor2d(values, [inputs, rank]);
    adapter[`${key}.B`] = tf.zeros([rank, outputs]);
  }
  return adapter;
}

/**
 * The base's weights plus the adapter's update; differentiable in the adapter. Dispose of
 * the result with {@link disposeMerged}: some tensors are the base's own.
 */
export function mergeAdapter(
  base: Weights,
  adapter: Weights,
  { rank, alpha }: LoraOptions,
): Weights {
  return Object.fromEntries(
    Object.entries(base).map(([key, weight]) => {
      const a = adapter[`${key}.A`] as tf.Tensor2D | undefined;
      if (!a) return [key, weight];
      const update = tf.matMul<tf.Tensor2D>(a, adapter[`${key}.B`]);
      return [key, tf.add(weight, tf.mul(matchLayout(weight, update), alpha / rank))];
    }),
  );
}

/**
 * The base's weights next to the adapter's A and scaled B, to compute without merging;
 * differentiable in the adapter. The caller disposes of the scaled B only.
 */
export const withAdapter = (
  base: Weights,
  adapter: Weights,
  { rank, alpha }: LoraOptions,
): Weights => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(adapter).map(([key, x]) => [
      key,
      key.endsWith('.B') ? tf.mul(x, alpha / rank) : x,
    ]),
  ),
});

export function disposeMerged(merged: Weights, base: Weights): void {
  for (const [key, tensor] of Object.entries(merged)) if (tensor !== base[key]) tensor.dispose();
}

/** The adapter with PEFT's names and layout (output by input). */
export async function arraysFromAdapter(
  adapter: Weights,
  config: ModelConfig,
  lora: LoraOptions,
): Promise<Map<string, NamedArray>> {
  const { rank } = lora;
  const arrays = new Map<string, NamedArray>();
  for (const { key, shape, parts } of trainedSlots(config, lora)) {
    const [inputs, outputs] = shape;
    const a = (await adapter[`${key}.A`].data()) as Float32Array; // (I, R)
    const b = (await adapter[`${key}.B`].data()) as Float32Array; // (R, O)
    let from = 0;
    for (const { name, columns } of parts) {
      const part = takeColumns(b, outputs, from, columns);
      arrays.set(peftName(name, 'A'), {
        shape: [rank, inputs],
        values: transposeValues(a, inputs, rank),
      });
      arrays.set(peftName(name, 'B'), {
        shape: [columns, rank],
        values: transposeValues(part, rank, columns),
      });
      from += columns;
    }
  }
  return arrays;
}

/**
 * The base's weights with a PEFT adapter added, for inference. Modules of a fused product
 * may have different As, or no adapter; without `targetModules`, only those with weights
 * have one. Dispose of the result with {@link disposeMerged}.
 * @throws Error naming a tensor that is missing, unexpected or of the wrong shape
 */
export function mergePeftArrays(
  base: Weights,
  arrays: ReadonlyMap<string, NamedArray>,
  config: ModelConfig,
  lora: LoraOptions,
): Weights {
  const { rank, alpha, targetModules } = lora;
  const slots = adaptedSlots(config, lora);
  const isAdapted = (part: SlotPart): boolean =>
    targetModules?.includes(moduleName(part)) ??
    (arrays.has(peftName(part.name, 'A')) || arrays.has(peftName(part.name, 'B')));
  const names = slots
    .flatMap(({ parts }) => parts.filter(isAdapted))
    .flatMap(({ name }) => [peftName(name, 'A'), peftName(name, 'B')]);
  const unexpected = [...arrays.keys()].find((name) => !names.includes(name));
  if (unexpected !== undefined)
    throw new Error(
      `Expected only LoRA weights of this model's linear layers, but found ${unexpected}.`,
    );
  if (names.length === 0) throw new Error('Expected LoRA weights, but there are none.');
  const tensor = (name: string, shape: [number, number]): tf.Tensor2D => {
    return tf.tensor2d(requireTensor(arrays, name, { shape }).values, shape);
  };
  return tf.tidy(() => {
    const merged: Weights = { ...base };
    for (const { key, shape, parts } of slots) {
      const updates = parts.map((part): tf.Tensor2D => {
        const { name, columns } = part;
        if (!isAdapted(part)) return tf.zeros([shape[0], columns]);
        const b = tensor(peftName(name, 'B'), [columns, rank]);
        return tf.transpose(
          tf.matMul<tf.Tensor2D>(b, tensor(peftName(name, 'A'), [rank, shape[0]])),
        );
      });
      const update = matchLayout(base[key], tf.concat(updates, 1));
      merged[key] = tf.add(base[key], tf.mul(update, alpha / rank));
    }
    return merged;
  });
}
