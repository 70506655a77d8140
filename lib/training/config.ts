/**
 * The configuration of a training run: a preset (`presets.ts`) and what overrides it
 * (`overrides.ts`). Unknown keys throw.
 */
import { z } from 'zod';
import { hasNoCredentials } from '../io/credentials.js';
import { parseAs } from '../io/json.js';
import { nameSchema } from '../registry.js';
import { ANALYZERS } from '../retrieval/analyzers.js';
import { retrieverNameSchema } from '../retrieval/retrievers.js';
import { rewardsSchema } from '../rewards/presets.js';
import { rolloutSchema } from '../rollout/options.js';
import { guardsSchema } from './guards.js';
import { methodNameSchema, TRAINER_NAMES, type TrainerName } from './methods.js';
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
export const parseTrainConfig = (json: unknown): TrainConfig =>
  parseAs(trainConfigSchema, json, 'a training configuration');
