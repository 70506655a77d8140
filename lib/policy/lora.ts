/**
 * Low-rank adapters (Hu et al. 2021): a frozen weight W (I, O) plus scale * A (I, R) *
 * B (R, O). Adapters are stored in PEFT's format, where a fused product becomes one
 * adapter a module with a shared A.
 */
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import type { Random } from '../random.js';
import { weightSlots, type Part, type Slot } from './families/index.js';
import type { ModelConfig } from './model-config.js';
import type { NamedArray } from '../tensor/safetensors.js';
import { inLayoutOf, takeColumns, transposeValues, type Weights } from './weights.js';

export interface LoraOptions {
  rank: number;
  /** The update is scaled by alpha / rank. */
  alpha: number;
  /**
   * Names of the modules that have an adapter, such as `q_proj`, as in PEFT; by default
   * all matrices but the head.
   */
  targetModules?: readonly string[];
  /**
   * Layers that have an adapter, from 0, as in PEFT; by default all. The gradient ends at
   * the lowest of them: with the upper third of the layers a step has not much more than
   * half as much to compute.
   */
  layersToTransform?: readonly number[];
}

type Adapted = Pick<LoraOptions, 'targetModules' | 'layersToTransform'>;

/** `q_proj` of `model.layers.0.self_attn.q_proj.weight`. */
const moduleOf = ({ name }: Part): string => name.split('.').at(-2)!;

/**
 * The matrices that have an adapter. @throws Error for a module or a layer that the model
 * does not have
 */
function adaptedSlots(
  config: ModelConfig,
  { targetModules, layersToTransform: layers }: Adapted,
): Slot[] {
  const unknownLayer = layers?.find((layer) => layer >= config.numLayers);
  if (unknownLayer !== undefined)
    throw new Error(`Expected layers from 0 to ${config.numLayers - 1}, but got ${unknownLayer}.`);
  const isAdapted = ({ kind, key }: Slot): boolean =>
    kind === 'matrix' && key !== 'head' && (layers?.includes(parseInt(key, 10)) ?? true);
  const slots = weightSlots(config).filter(isAdapted);
  if (!targetModules) return slots;
  const modules = new Set(slots.flatMap(({ parts }) => parts.map(moduleOf)));
  const unknown = targetModules.find((name) => !modules.has(name));
  if (unknown !== undefined)
    throw new Error(`Expected target modules of ${[...modules].join(', ')}, but got ${unknown}.`);
  return slots.filter(({ parts }) => parts.some((part) => targetModules.includes(moduleOf(part))));
}

/**
 * The same for training. @throws Error where a product is adapted in part: all of its
 * modules share one A here
 */
function trainedSlots(config: ModelConfig, lora: LoraOptions): Slot[] {
  const slots = adaptedSlots(config, lora);
  for (const { parts } of slots) {
    const modules = parts.map(moduleOf);
    const chosen = modules.filter((name) => lora.targetModules?.includes(name) ?? true);
    if (chosen.length < modules.length)
      throw new Error(
        `Expected all of ${modules.join(', ')} among the target modules, or none, but got ${chosen.join(', ')}: they are one product here.`,
      );
  }
  return slots;
}

/**
 * Fresh adapters: A normal with deviation 1/sqrt(I), B zero, so that the policy is
 * unchanged. The caller disposes of them.
 */
export function createAdapter(config: ModelConfig, lora: LoraOptions, random: Random): Weights {
  const { rank } = lora;
  const adapter: Weights = {};
  for (const { key, shape } of trainedSlots(config, lora)) {
    const stream = random.fork(key);
    const deviation = 1 / Math.sqrt(shape[0]);
    const values = Float32Array.from(
      { length: shape[0] * rank },
      () => stream.normal() * deviation,
    );
    adapter[`${key}.A`] = tf.tensor2d(values, [shape[0], rank]);
    adapter[`${key}.B`] = tf.zeros([rank, shape[1]]);
  }
  return adapter;
}

/**
 * The weights with the adapter's update added; differentiable in the adapter. Weights
 * without an adapter are the base's own tensors, so dispose of the result with
 * {@link disposeMerged}.
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
      return [key, tf.add(weight, tf.mul(inLayoutOf(weight, update), alpha / rank))];
    }),
  );
}

/**
 * The weights with the adapter beside them, as a product takes them without merging;
 * differentiable in the adapter. The base's tensors stay its own.
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

/** Disposes of what a merge made, not of the base. */
export function disposeMerged(merged: Weights, base: Weights): void {
  for (const [key, tensor] of Object.entries(merged)) if (tensor !== base[key]) tensor.dispose();
}

/**
 * Disposes of the weights of a base that a merge has replaced, where the base itself is
 * not needed any more.
 */
export const disposeReplaced = (base: Weights, merged: Weights): void =>
  disposeMerged(base, merged);

const peftName = (name: string, side: 'A' | 'B'): string =>
  `base_model.model.${name.replace(/\.weight$/, '')}.lora_${side}.weight`;

/** The adapter under PEFT's names and layout (output by input). */
export async function arraysFromAdapter(
  adapter: Weights,
  config: ModelConfig,
  lora: LoraOptions,
): Promise<Map<string, NamedArray>> {
  const { rank } = lora;
  const arrays = new Map<string, NamedArray>();
  for (const { key, shape, parts } of trainedSlots(config, lora)) {
    const a = (await adapter[`${key}.A`].data()) as Float32Array;
    const b = (await adapter[`${key}.B`].data()) as Float32Array;
    let from = 0;
    for (const { name, columns } of parts) {
      const part = takeColumns(b, shape[1], from, columns);
      arrays.set(peftName(name, 'A'), {
        shape: [rank, shape[0]],
        values: transposeValues(a, shape[0], rank),
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
 * Weights of the base with a PEFT adapter added, for inference. Each module may have an
 * A of its own, or no adapter where it is none of the target modules. The caller disposes
 * of the result ({@link disposeMerged}).
 * @throws Error naming a tensor that is missing, of another shape than base and rank say,
 * or not of use
 */
export function mergePeftArrays(
  base: Weights,
  arrays: ReadonlyMap<string, NamedArray>,
  config: ModelConfig,
  { rank, alpha, targetModules, layersToTransform }: LoraOptions,
): Weights {
  const slots = adaptedSlots(config, { targetModules, layersToTransform });
  const isAdapted = (part: Part): boolean => targetModules?.includes(moduleOf(part)) ?? true;
  const tensorOf = (name: string, shape: [number, number]): tf.Tensor2D => {
    const array = arrays.get(name);
    if (!array) throw new Error(`Expected the adapter to hold ${name}, but it does not.`);
    if (array.shape.join() !== shape.join()) {
      throw new Error(
        `Expected the adapter's ${name} to be of shape [${shape.join(', ')}], but got [${array.shape.join(', ')}].`,
      );
    }
    return tf.tensor2d(array.values, shape);
  };
  const parts = slots.flatMap((slot) => slot.parts).filter(isAdapted);
  const known = new Set(parts.flatMap(({ name }) => [peftName(name, 'A'), peftName(name, 'B')]));
  const unused = [...arrays.keys()].find((name) => !known.has(name));
  if (unused)
    throw new Error(
      `Expected an adapter of this model's products only, but it also holds ${unused}.`,
    );
  return tf.tidy(() => {
    const merged: Weights = { ...base };
    for (const { key, shape, parts } of slots) {
      const updates = parts.map((part) => {
        const { name, columns } = part;
        if (!isAdapted(part)) return tf.zeros([shape[0], columns]);
        const b = tensorOf(peftName(name, 'B'), [columns, rank]);
        return tf.transpose(tf.matMul(b, tensorOf(peftName(name, 'A'), [rank, shape[0]])));
      });
      const update = inLayoutOf(base[key], tf.concat(updates as tf.Tensor2D[], 1));
      merged[key] = tf.add(base[key], tf.mul(update, alpha / rank));
    }
    return merged;
  });
}

export interface PeftConfig extends LoraOptions {
  /**
   * The model that the adapter goes onto: a folder relative to the adapter's, or a name;
   * undefined where none is given.
   */
  base: string | undefined;
}

const peftSchema = z.object({
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  base_model_name_or_path: z.string().optional().catch(undefined),
  // One text is a pattern, or "all-linear".
  target_modules: z
    .union([z.array(z.string()).min(1), z.string().transform(() => undefined)])
    .nullish(),
  layers_to_transform: z
    .union([
      z.array(z.int().min(0)).min(1),
      z
        .int()
        .min(0)
        .transform((one) => [one]),
    ])
    .nullish(),
  use_dora: z.literal(false).nullish(),
  use_rslora: z.literal(false).nullish(),
});

/**
 * Reads PEFT's `adapter_config.json`.
 * @throws Error naming the field that is missing or not supported
 */
export function parsePeftConfig(json: unknown): PeftConfig {
  const parsed = peftSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(
      `Expected the adapter_config.json of a LoRA adapter, but ${z.prettifyError(parsed.error)}`,
    );
  const {
    r: rank,
    lora_alpha: alpha,
    base_model_name_or_path: base,
    target_modules: modules,
  } = parsed.data;
  const { layers_to_transform: layers } = parsed.data;
  return {
    rank,
    alpha,
    base,
    ...(modules && { targetModules: modules }),
    ...(layers && { layersToTransform: layers }),
  };
}

/**
 * PEFT's `adapter_config.json`.
 * @param base the model that the adapter goes onto: a folder relative to the adapter's,
 * or a name
 */
export function peftConfig(
  lora: LoraOptions,
  { config, base }: { config: ModelConfig; base: string },
): Record<string, unknown> {
  const parts = trainedSlots(config, lora).flatMap((slot) => slot.parts);
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: base,
    r: lora.rank,
    lora_alpha: lora.alpha,
    lora_dropout: 0,
    bias: 'none',
    target_modules: [...new Set(parts.map(moduleOf))],
    ...(lora.layersToTransform && { layers_to_transform: lora.layersToTransform }),
  };
}
