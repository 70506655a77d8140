/**
 * The configuration of a training run: the preset of its method and model, overridden by
 * a file, overridden by flags. Presets hold every default; unknown keys throw.
 */
import { z } from 'zod';
import { hasNoCredentials } from '../io/credentials.js';
import { describeFaults } from '../io/json.js';
import { nameSchema } from '../registry.js';
import { ANALYZERS } from '../retrieval/analyzers.js';
import { DEFAULT_RETRIEVER, retrieverNameSchema, TITLE_WEIGHT } from '../retrieval/retrievers.js';
import type { RewardConstants } from '../rewards/parallelsearch.js';
import { CONSTANT_PRESET_NAMES, rewardConstants, rewardsSchema } from '../rewards/presets.js';
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
  /** G, the number of rollouts per question. */
  groupSize: count.max(10_000),
  /** Optimizer steps per training step, each on an equal share of the rollouts. */
  miniBatches: count,
  learningRate: positive,
  warmupSteps: z.int().min(0),
  temperature: positive,
  /** Gradients are clipped to this global L2 norm. */
  maxGradNorm: positive,
  /** Maximum number of padded tokens per pass through the model. */
  maxTokensPerPass: count,
  mix: questionMixSchema,
};
const settings = z.strictObject(sharedSettings);

/** Settings of policy gradients with a clipped ratio and a KL penalty. */
const clippedSettings = { ...sharedSettings, clip: positive, beta: z.number().min(0) };

/** Settings of GRPO and of the trainers based on it. */
const groupRelativeSettings = {
  ...clippedSettings,
  groupSize: z.int().min(2).max(10_000),
  ...variantSettings,
};

/** One section per trainer, named after it. */
const sections = {
  grpo: z.strictObject({
    ...groupRelativeSettings,
    /** Passages per query, one of these per step. Default: the rollout's topK. */
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
    /** Share of queries that get noisy documents, at the first and the last step. */
    startNoise: share,
    endNoise: share,
    /** Larger values delay the noise. */
    noiseBase: z.number().gt(1),
    simulatorTemperature: z.number().min(0),
  }),
  'zerosearch-simulator': settings,
} satisfies Record<TrainerName, z.ZodType>;

/** Schema of a complete configuration. Unknown keys throw. */
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
      /** Modules that get an adapter, by tensor name. Default: all. */
      targetModules: z.array(z.string().min(1)).min(1).optional(),
      /** Layers that get an adapter, counted from 0. Default: all. */
      layersToTransform: z.array(z.int().min(0)).min(1).optional(),
    }),
    retriever: retrieverNameSchema.refine(
      hasNoCredentials,
      "has a password, which runs would record. Set RETRIEVAL_TOKEN to the server's key instead",
    ),
    /**
     * Maximum time in milliseconds that a step waits for searches that time out; rollouts
     * with such a search are left out. Ignored for a local retriever. Default: 5,000.
     */
    retrievalDeadlineMs: count.optional(),
    titleWeight: z.number().min(0),
    analyzer: nameSchema(ANALYZERS).optional(),
    /** Folder of the encoder for dense retrievers. Default: the small world's. */
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

/** The section of the configuration's trainer, as the settings all trainers share. */
export const trainerSettings = (config: TrainConfig): TrainerSettings => config[config.trainer]!;

/** Returns a copy of the configuration with changed trainer settings. */
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

/** Preset of small-world models: one update per step, a learning rate for 200 steps. */
const SMALL_MODEL_PRESET = {
  rollout: {},
  settings: {
    steps: 200,
    questionsPerStep: 8,
    groupSize: 8,
    miniBatches: 1,
    learningRate: 1e-3,
    warmupSteps: 10,
    temperature: 1, // as in App. A.4
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

/**
 * Preset of language models, at minutes a step: few steps, LoRA's usual learning rate.
 */
const LANGUAGE_MODEL_PRESET: typeof SMALL_MODEL_PRESET = {
  rollout: { maxSearchTurns: 4, maxNewTokens: 112, maxInformationTokens: 360, maxPassageWords: 32 },
  settings: {
    ...SMALL_MODEL_PRESET.settings,
    steps: 30,
    groupSize: 5, // as in Search-R1's GRPO script
    learningRate: 5e-4,
    warmupSteps: 3,
    // Real questions rarely compare more than two entities.
    mix: { singleHop: 0.1, sequential: 0.4, comparisons: [0.4, 0.05, 0.03, 0.02] },
  },
  lora: { rank: 8, alpha: 16 },
  checkpointEvery: 5,
};

/** As in App. A.4. */
const CLIPPED = { clip: 0.2, beta: 0.001 };

/** Share of PPO's steps that warm up the learning rate (App. A.4). */
const PPO_WARM_UP = 0.285;

/** Settings of a trainer that replace or extend the preset of the scale. */
function trainerPreset(trainer: TrainerName, { settings }: typeof SMALL_MODEL_PRESET): object {
  const numRollouts = settings.questionsPerStep * settings.groupSize;
  const singleRollouts = { questionsPerStep: numRollouts, groupSize: 1 };
  /** Groups of five rollouts per question, as in Search-R1. */
  const groupsOfFive = { questionsPerStep: Math.floor(numRollouts / 5), groupSize: 5 };
  switch (trainer) {
    case 'grpo':
      return CLIPPED;
    case 'ppo':
      return {
        ...CLIPPED,
        ...singleRollouts,
        warmupSteps: Math.round(PPO_WARM_UP * settings.steps),
        // Ten times the policy's learning rate, with a shorter warm-up (App. A.4).
        valueLearningRate: 1e-2,
        valueWarmupSteps: 3,
        valueWeight: 0.1, // TRL's value for a shared backbone
        valueClip: 0.5, // as in Search-R1's script
        gamma: 1,
        lambda: 1,
      };
    case 'sft':
      return singleRollouts;
    case 'rejection-sampling':
      return groupsOfFive;
    case 'demonstrations':
      // Few, to leave RL something to learn. Three of four sampled rollouts are used.
      return { steps: 120, questionsPerStep: 10, groupSize: 1, learningRate: 1e-3, warmupSteps: 4 };
    case 'zerosearch':
      // As in ZeroSearch's released scripts.
      return { ...CLIPPED, startNoise: 0, endNoise: 0.5, noiseBase: 4, simulatorTemperature: 0.8 };
    case 'zerosearch-simulator':
      return groupsOfFive;
  }
}

/** Scale of training: small-world models or language models. */
type Scale = 'embedded' | 'language-model';

/**
 * Returns the preset of a method and a model.
 * @param options.lambdas default: the paper's
 * @param options.scale default: `embedded`
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
  // Only language models are trained on demonstrations.
  const isSmall = scale === 'embedded' && trainer !== 'demonstrations';
  const preset = isSmall ? SMALL_MODEL_PRESET : LANGUAGE_MODEL_PRESET;
  // Writing documents is harder for a small model than searching: it needs more adapter
  // weights and updates.
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

/** Merges deeply; later values win, lists are replaced, undefined is left out. */
export function mergeOverrides(...parts: readonly ConfigOverrides[]): Record<string, unknown> {
  const merged = new Map<string, unknown>();
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) {
      if (value === undefined) continue;
      const before = merged.get(key);
      const inner = isObject(before) ? before : {};
      merged.set(key, isObject(value) ? mergeOverrides(inner, value) : value);
    }
  return Object.fromEntries(merged);
}

/**
 * Parses `--set grpo.learningRate=5e-4`; a value that is not JSON is text.
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
    // Text may come without quotes.
  }
  return nestSetting(path, parsed);
}

/** Nests a value: `nestSetting('a.b', 1)` is `{ a: { b: 1 } }`. */
export const nestSetting = (path: string, value: unknown): ConfigOverrides =>
  path
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as ConfigOverrides;

/**
 * Merges options with `--set`.
 * @throws RangeError if they give a setting different values
 */
export function mergeOptions(
  options: ConfigOverrides,
  set: readonly string[] = [],
): ConfigOverrides {
  const given = set.map(parseSetting);
  const settings = mergeOverrides(...given);
  const values = new Map(flatten(settings));
  for (const [name, value] of given.flatMap((setting) => flatten(setting)))
    if (values.get(name) !== value)
      throw new RangeError(
        `Expected one value of ${name}, but --set has ${JSON.stringify(value)} and ${JSON.stringify(values.get(name))}. Leave one out.`,
      );
  for (const [name, value] of flatten(options))
    if (value !== undefined && values.has(name) && values.get(name) !== value)
      throw new RangeError(
        `Expected one value of ${name}, but --set has ${JSON.stringify(values.get(name))} and another option ${JSON.stringify(value)}. Leave one out.`,
      );
  return mergeOverrides(options, settings);
}

/** Lists an object's values by dotted names such as `grpo.steps`; arrays are values. */
export function flatten(value: unknown, path = ''): [string, unknown][] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, path ? `${path}.${key}` : key),
  );
}

/** A configuration with the weights of its reward preset, unless it has other rewards. */
function withRewardWeights(config: object): object {
  const { rewards } = config as Partial<TrainConfig>;
  if (!rewards || !CONSTANT_PRESET_NAMES.includes(rewards.preset)) return config;
  const { preset, ...overrides } = rewards;
  const { lambdaD, lambdaS, lambdaF, alpha } = rewardConstants(preset, overrides);
  return { ...config, rewards: { preset, lambdaD, lambdaS, lambdaF, alpha } };
}

/** Settings that differ from a preset, by dotted names such as `grpo.steps`, as JSON. */
export function configDifferences(
  config: object,
  preset: object,
): { name: string; value: string; preset: string }[] {
  const [ours, theirs] = [config, preset].map((one) => new Map(flatten(withRewardWeights(one))));
  const print = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value));
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((name) => ({ name, value: print(ours.get(name)), preset: print(theirs.get(name)) }))
    .filter(({ value, preset }) => value !== preset);
}
