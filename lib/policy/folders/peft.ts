/** PEFT's format: the adapted matrices, their names, and `adapter_config.json`. */
import { z } from 'zod';
import { parseAs } from '../../io/json.js';
import { weightSlots, type ModelConfig, type SlotPart, type Slot } from '../model/families.js';

export interface LoraOptions {
  rank: number;
  /** The update is scaled by alpha / rank. */
  alpha: number;
  /** Modules with an adapter, such as `q_proj`. Default: all matrices but the head. */
  targetModules?: readonly string[];
  /**
   * Layers that get an adapter, counted from 0. Default: all. Backpropagation stops at
   * the lowest: with only the upper third, a step takes little more than half the time.
   */
  layersToTransform?: readonly number[];
}

/** The module in a tensor's name: `q_proj` in `model.layers.0.self_attn.q_proj.bias`. */
export const moduleName = ({ name }: SlotPart): string => name.split('.').at(-2)!;

/** @throws Error for a module or a layer that the model does not have */
export function adaptedSlots(
  config: ModelConfig,
  { targetModules, layersToTransform: layers }: LoraOptions,
): Slot[] {
  const unknownLayer = layers?.find((layer) => layer >= config.numLayers);
  if (unknownLayer !== undefined)
    throw new Error(`Expected layers from 0 to ${config.numLayers - 1}, but got ${unknownLayer}.`);
  const isAdapted = ({ kind, key }: Slot): boolean =>
    kind === 'matrix' && key !== 'head' && (layers?.includes(parseInt(key, 10)) ?? true);
  const slots = weightSlots(config).filter(isAdapted);
  if (!targetModules) return slots;
  const modules = new Set(slots.flatMap(({ parts }) => parts.map(moduleName)));
  const unknown = targetModules.find((name) => !modules.has(name));
  if (unknown !== undefined)
    throw new Error(`Expected target modules of ${[...modules].join(', ')}, but got ${unknown}.`);
  return slots.filter(({ parts }) =>
    parts.some((part) => targetModules.includes(moduleName(part))),
  );
}

/**
 * The matrices that get an adapter in training.
 * @throws Error if only some modules of a fused product would: they share one A here
 */
export function trainedSlots(config: ModelConfig, lora: LoraOptions): Slot[] {
  const slots = adaptedSlots(config, lora);
  for (const { parts } of slots) {
    const modules = parts.map(moduleName);
    const chosen = modules.filter((name) => lora.targetModules?.includes(name) ?? true);
    if (chosen.length < modules.length)
      throw new Error(
        `Expected target modules with all of ${modules.join(', ')} or none, but got ${chosen.join(', ')}: they are fused into one matrix here.`,
      );
  }
  return slots;
}

/** PEFT's name of a module's A or B. */
export const peftName = (name: string, side: 'A' | 'B'): string =>
  `base_model.model.${name.replace(/\.weight$/, '')}.lora_${side}.weight`;

export interface PeftConfig extends LoraOptions {
  /** The base model: a folder relative to the adapter's, or a name. */
  base: string | undefined;
}

const layer = z.int().min(0);
/** Fields that do not affect the computation, or only training. */
const HARMLESS = new Set(
  (
    'task_type inference_mode auto_mapping revision peft_version lora_dropout loftq_config ' +
    'eva_config corda_config lora_ga_config runtime_config megatron_core qalora_group_size ' +
    'ensure_weight_tying'
  ).split(' '),
);
/** Whether a field is unset. An empty dictionary is, for patterns only. */
const isUnset = ([name, value]: [string, unknown]): boolean =>
  [null, false, ''].includes(value as null) ||
  JSON.stringify(value) === (name.endsWith('_pattern') ? '{}' : '[]');
const peftSchema = z.looseObject({
  peft_type: z.literal('LORA').nullish(),
  bias: z.literal('none').nullish(),
  // PiSSA and similar methods also change the base model.
  init_lora_weights: z
    .union([z.boolean(), z.enum(['gaussian', 'eva', 'orthogonal', 'mini'])])
    .nullish(),
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  base_model_name_or_path: z.string().optional().catch(undefined),
  // A string is a pattern, or "all-linear", which PEFT writes as a list of paths.
  target_modules: z.union([z.array(z.string()).min(1), z.string()]).nullish(),
  exclude_modules: z.union([z.array(z.string()), z.string()]).nullish(),
  layers_to_transform: z
    .union([z.array(layer).min(1), layer.transform((only) => [only])])
    .nullish(),
  // The name of the list of layers in all supported families.
  layers_pattern: z.union([z.enum(['layers', '']), z.array(z.literal('layers'))]).nullish(),
  use_dora: z.literal(false).nullish(),
  use_rslora: z.literal(false).nullish(),
});

/** @throws Error naming the field that is missing or unsupported */
export function parsePeftConfig(json: unknown): PeftConfig {
  const data = parseAs(peftSchema, json, 'the adapter_config.json of a LoRA adapter');
  const unknown = Object.entries(data).find(
    (entry) => !HARMLESS.has(entry[0]) && !(entry[0] in peftSchema.shape) && !isUnset(entry),
  );
  if (unknown)
    throw new Error(
      `Expected an adapter without ${unknown[0]}, but adapter_config.json has ${JSON.stringify(unknown[1])}. Merge it with PEFT (merge_and_unload) and use the merged model.`,
    );
  const { target_modules: modules, layers_to_transform: layersToTransform } = data;
  const areNames =
    Array.isArray(modules) &&
    modules.every((name) => !name.includes('.')) &&
    !data.exclude_modules?.length;
  return {
    rank: data.r,
    alpha: data.lora_alpha,
    base: data.base_model_name_or_path,
    ...(areNames && { targetModules: modules }),
    ...(layersToTransform && { layersToTransform }),
  };
}

/** The JSON of `adapter_config.json`; `base` as in {@link PeftConfig}. */
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
    target_modules: [...new Set(parts.map(moduleName))],
    ...(lora.layersToTransform && { layers_to_transform: lora.layersToTransform }),
  };
}
