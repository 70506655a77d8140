/**
 * The configuration of a training run: the preset of its method and model, overridden by
 * a file, overridden by flags. Presets hold every default; unknown keys throw.
 */
import { z } from 'zod';
import { describeFaults } from '../io/json.js';
import { nameSchema } from '../registry.js';
import { DEFAULT_RETRIEVER, retrieverNameSchema, TITLE_WEIGHT } from '../retrieval/retrievers.js';
import { ANALYZERS } from '../retrieval/analyzers.js';
import type { RewardConstants } from '../rewards/parallelsearch.js';
import { rewardsSchema } from '../rewards/presets.js';
import { rolloutSchema } from '../rollout/options.js';
import type { PromptForm } from '../text/prompts.js';
import { guardsSchema } from './guards.js';
import {
  METHODS,
  methodNameSchema,
  resolveRollout,
  TRAINER_NAMES,
  trainedMethods,
  type TrainerName,
} from './methods.js';
import { questionMixSchema } from './question-sampler.js';
import { grpoVariant, variantSettings } from './variants.js';

const positive = z.number().positive();
const share = z.number().min(0).max(1);
const count = z.int().min(1);

const sharedSettings = {
  steps: count,
  questionsPerStep: count.max(10_000),
  /** G, rollouts per question. */
  groupSize: count.max(10_000),
  /** Optimizer steps per step, each on an equal share of the rollouts. */
  miniBatches: count,
  learningRate: positive,
  warmupSteps: z.int().min(0),
  temperature: positive,
  /** Gradients are clipped to this global L2 norm. */
  maxGradNorm: positive,
  /** Maximum padded tokens per pass through the model. */
  maxTokensPerPass: count,
  mix: questionMixSchema,
};
const settings = z.strictObject(sharedSettings);

/** Policy gradients with a clipped ratio and a KL penalty. */
const clippedSettings = { ...sharedSettings, clip: positive, beta: z.number().min(0) };

/** GRPO and what is trained by it. */
const groupRelativeSettings = {
  ...clippedSettings,
  groupSize: z.int().min(2).max(10_000),
  ...variantSettings,
};

/** One section per trainer, under its name. */
const sections = {
  grpo: z.strictObject({
    ...groupRelativeSettings,
    /** Passages per query, drawn for each step; default: the rollout's topK. */
    topKs: z.array(count).min(1).optional(),
  }),
  ppo: z.strictObject({
    ...clippedSettings,
    valueLearningRate: positive,
    valueWarmupSteps: z.int().min(0),
    /** Weight of the value loss, whose gradient also reaches the policy. */
    valueWeight: z.number().min(0),
    /** Maximum change of a value before its loss is clipped. */
    valueClip: positive,
    gamma: share,
    lambda: share,
  }),
  sft: settings,
  'rejection-sampling': settings,
  demonstrations: settings,
  zerosearch: z.strictObject({
    ...groupRelativeSettings,
    /** The search engine's adapter: a name in `data/checkpoints`, or a folder. */
    simulator: z.string().min(1).optional(),
    /** Share of queries with noisy documents at the first and the last step. */
    startNoise: share,
    endNoise: share,
    /** Larger values delay the noise. */
    noiseBase: z.number().gt(1),
    simulatorTemperature: z.number().min(0),
  }),
  'zerosearch-simulator': settings,
} satisfies Record<TrainerName, z.ZodType>;

/** A configuration, whole or with defaults to fill in; unknown keys are refused. */
export const trainConfigSchema = z
  .strictObject({
    method: methodNameSchema,
    /** An initial model of the small world, or a Hugging Face folder. */
    model: z.string().min(1),
    seed: z.int(),
    trainer: z.enum(TRAINER_NAMES),
    rollout: rolloutSchema,
    rewards: rewardsSchema,
    ...z.object(sections).partial().shape,
    lora: z.strictObject({
      rank: z.int().min(1).max(4096),
      alpha: positive,
      /** Modules with an adapter, by tensor name; default: all. */
      targetModules: z.array(z.string().min(1)).min(1).optional(),
      /** Layers with an adapter, from 0; default: all. */
      layersToTransform: z.array(z.int().min(0)).min(1).optional(),
    }),
    retriever: retrieverNameSchema,
    /**
     * Maximum time that a step waits for searches that time out, milliseconds; default
     * 5,000. Their rollouts are left out. Not for a retriever in this process.
     */
    retrievalDeadlineMs: count.optional(),
    titleWeight: z.number().min(0),
    analyzer: nameSchema(ANALYZERS).optional(),
    /** Encoder folder for dense retrievers; default: the small world's. */
    encoder: z.string().min(1).optional(),
    checkpointEvery: count,
    guards: guardsSchema,
  })
  .superRefine((config, context) => {
    for (const trainer of TRAINER_NAMES) {
      const isWanted = trainer === config.trainer;
      if (isWanted === trainer in config) continue;
      const message = isWanted
        ? `Expected the settings of the trainer ${trainer}.`
        : `Expected no settings of ${trainer}, since ${config.method} is trained by ${config.trainer}.`;
      context.addIssue({ code: 'custom', path: [trainer], message });
    }
    const settings = config.grpo ?? config.zerosearch;
    if (!settings) return;
    const refuse = (name: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [config.trainer, name], message });
    const { miniBatches } = settings;
    const { scaleRewards, multiObjectiveAggregation, llds, ...sampling } = grpoVariant(settings);
    const { importanceSamplingClipMin: min, importanceSamplingClipMax: max } = sampling;
    if (min >= max)
      refuse(
        'importanceSamplingClipMin',
        `Expected less than importanceSamplingClipMax ${max}, but got ${min}. Lower it, or leave it out.`,
      );
    if (llds > 0 && miniBatches < 2)
      refuse(
        'miniBatches',
        `Expected miniBatches >= 2 with llds, but got ${miniBatches}: no log-prob has fallen before the first update of a step.`,
      );
    if (multiObjectiveAggregation === 'normalize_then_sum' && scaleRewards !== 'group')
      refuse(
        'scaleRewards',
        `Expected "group" with normalize_then_sum, which normalises by group and then by step, but got "${scaleRewards}". Leave it out.`,
      );
  });

export type TrainConfig = z.infer<typeof trainConfigSchema>;
export type TrainerSettings = z.infer<typeof settings>;

/** The section of the configuration's trainer, with the settings all share. */
export const trainerSettings = (config: TrainConfig): TrainerSettings => config[config.trainer]!;

/** Returns the configuration with changed trainer settings. */
export const withSettings = (
  config: TrainConfig,
  changes: Partial<TrainerSettings>,
): TrainConfig => ({ ...config, [config.trainer]: { ...config[config.trainer], ...changes } });

/** Validates a complete configuration. @throws Error naming every invalid field */
export function parseTrainConfig(json: unknown): TrainConfig {
  const parsed = trainConfigSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`Expected a training configuration, but:\n${describeFaults(parsed.error)}`);
}

/** Weights of the decomposition and search-count rewards (Eq. 4 and 5). */
export type Lambdas = Pick<RewardConstants, 'lambdaD' | 'lambdaS'>;

/** Small-world models: one update per step, a learning rate for 200 steps. */
const SMALL_MODEL_PRESET = {
  rollout: {},
  settings: {
    steps: 200,
    questionsPerStep: 8,
    groupSize: 8,
    miniBatches: 1,
    learningRate: 1e-3,
    warmupSteps: 10,
    temperature: 1, // App. A.4
    maxGradNorm: 1,
    maxTokensPerPass: 2048,
    mix: {
      singleHop: 0.2,
      sequential: 0.25,
      comparisons: [0.17, 0.14, 0.12, 0.12] as [number, number, number, number],
    },
  },
  lora: { rank: 4, alpha: 8 },
  checkpointEvery: 20,
};

/** Language models, at minutes a step: few steps, LoRA's usual learning rate. */
const LANGUAGE_MODEL_PRESET: typeof SMALL_MODEL_PRESET = {
  rollout: { maxSearchTurns: 4, maxNewTokens: 112, maxInformationTokens: 360, maxPassageWords: 32 },
  settings: {
    ...SMALL_MODEL_PRESET.settings,
    steps: 30,
    groupSize: 5, // as in Search-R1's GRPO script
    learningRate: 5e-4,
    warmupSteps: 3,
    // Real questions rarely compare more than two.
    mix: { singleHop: 0.1, sequential: 0.4, comparisons: [0.4, 0.05, 0.03, 0.02] },
  },
  lora: { rank: 8, alpha: 16 },
  checkpointEvery: 5,
};

/** App. A.4. */
const CLIPPED = { clip: 0.2, beta: 0.001 };

/** Warm-up share of PPO's learning rate (App. A.4). */
const PPO_WARM_UP = 0.285;

/** Trainer settings that replace or extend the preset of the model's scale. */
function trainerPreset(trainer: TrainerName, { settings }: typeof SMALL_MODEL_PRESET): object {
  const numRollouts = settings.questionsPerStep * settings.groupSize;
  const singleRollouts = { questionsPerStep: numRollouts, groupSize: 1 };
  /** Five candidates per question, as in Search-R1. */
  const groupsOfFive = { questionsPerStep: Math.floor(numRollouts / 5), groupSize: 5 };
  switch (trainer) {
    case 'grpo':
      return CLIPPED;
    case 'ppo':
      return {
        ...CLIPPED,
        ...singleRollouts,
        warmupSteps: Math.round(PPO_WARM_UP * settings.steps),
        // Ten times the policy's, with a shorter warm-up (App. A.4).
        valueLearningRate: 1e-2,
        valueWarmupSteps: 3,
        valueWeight: 0.1, // TRL's for a shared backbone
        valueClip: 0.5, // as in Search-R1's script
        gamma: 1,
        lambda: 1,
      };
    case 'sft':
      return singleRollouts;
    case 'rejection-sampling':
      return groupsOfFive;
    case 'demonstrations':
      // Few enough to leave RL something to learn. Three of four drawn are used.
      return { steps: 120, questionsPerStep: 10, groupSize: 1, learningRate: 1e-3, warmupSteps: 4 };
    case 'zerosearch':
      // As in its released scripts.
      return { ...CLIPPED, startNoise: 0, endNoise: 0.5, noiseBase: 4, simulatorTemperature: 0.8 };
    case 'zerosearch-simulator':
      return groupsOfFive;
  }
}

/** Scale of training: small-world models or language models. */
export type Scale = 'embedded' | 'language-model';

/**
 * The preset of a method and a model.
 * @param options.lambdas default: the paper's
 * @param options.scale default `embedded`
 * @throws RangeError for a method without training
 */
export function trainingPreset(
  method: string,
  model: string,
  seed: number,
  options: { lambdas?: Partial<Lambdas>; scale?: Scale; promptForm?: PromptForm } = {},
): TrainConfig {
  const { lambdas, scale = 'embedded', promptForm } = options;
  const { training } = METHODS.get(method);
  if (!training || !('trainer' in training))
    throw new RangeError(
      `Expected a method that is trained (${trainedMethods().join(', ')}), but got ${method}.`,
    );
  const { trainer, rewards } = training;
  // Demonstrations are for language models.
  const isSmall = scale === 'embedded' && trainer !== 'demonstrations';
  const preset = isSmall ? SMALL_MODEL_PRESET : LANGUAGE_MODEL_PRESET;
  // A small model needs more weights and updates to learn to write documents than to
  // search.
  const isSimulator = trainer === 'zerosearch-simulator' && isSmall;
  return parseTrainConfig({
    method,
    model,
    seed,
    trainer,
    rollout: resolveRollout(method, 'small-world', {
      changes: { ...preset.rollout, ...(promptForm && { promptForm }) },
    }),
    rewards: { preset: rewards, ...lambdas },
    [trainer]: {
      ...preset.settings,
      ...trainerPreset(trainer, preset),
      ...(isSimulator && { learningRate: 2e-3, miniBatches: 4 }),
    },
    lora: isSimulator ? { rank: 32, alpha: 64 } : preset.lora,
    retriever: DEFAULT_RETRIEVER,
    titleWeight: TITLE_WEIGHT,
    checkpointEvery: preset.checkpointEvery,
  });
}

/** Part of a configuration, from a file or flags. */
export type ConfigOverrides = { readonly [key: string]: unknown };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deep merge; later values win, lists are replaced. */
export function mergeOverrides(...parts: readonly ConfigOverrides[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) {
      if (value === undefined) continue;
      const before = merged[key];
      merged[key] = isObject(before) && isObject(value) ? mergeOverrides(before, value) : value;
    }
  return merged;
}

/**
 * Overrides from `--set grpo.learningRate=5e-4`; values are JSON, else text.
 * @throws RangeError without an equals sign
 */
export function parseSetting(text: string): ConfigOverrides {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (!path)
    throw new RangeError(`Expected a setting such as grpo.learningRate=5e-4, but got ${text}.`);
  let parsed: unknown = value;
  try {
    parsed = JSON.parse(value);
  } catch {
    // Text without quotes.
  }
  return nestSetting(path, parsed);
}

/** Nested objects with the value at a dotted name. */
export const nestSetting = (path: string, value: unknown): ConfigOverrides =>
  path
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as ConfigOverrides;

/** The values in an object by dotted names such as `grpo.steps`; lists are values. */
export function flatten(value: unknown, path = ''): [string, unknown][] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, path ? `${path}.${key}` : key),
  );
}

/** Settings that differ from a preset, by dotted names such as `grpo.steps`, as JSON. */
export function configDifferences(
  config: object,
  preset: object,
): { name: string; value: string; preset: string }[] {
  const [ours, theirs] = [config, preset].map((one) => new Map(flatten(one)));
  const print = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value));
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((name) => ({ name, value: print(ours.get(name)), preset: print(theirs.get(name)) }))
    .filter(({ value, preset }) => value !== preset);
}
