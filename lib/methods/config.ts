/**
 * The configuration of a training run, and presets for each method. Unknown keys throw,
 * so that a misspelt option never passes for a default.
 */
import { z } from 'zod';
import { nameSchema } from '../registry.js';
import { ANALYZERS } from '../retrieval/words.js';
import { DEFAULT_RETRIEVER, retrieverNameSchema, TITLE_WEIGHT } from '../retrieval/retrievers.js';
import type { RewardOptions } from '../rewards/parallelsearch.js';
import { trainingFields } from '../training/options.js';
import { TRAINERS } from '../training/trainers.js';
import { METHODS, methodNameSchema, rolloutConfigOf, trainedMethods } from './index.js';

const trainSchema = z.strictObject({
  method: methodNameSchema,
  ...trainingFields,
  /** `grpo` by default. */
  trainer: nameSchema(TRAINERS).optional(),
  /** A name of the registry, or the address of a server. */
  retriever: retrieverNameSchema.default(DEFAULT_RETRIEVER),
  /** Weight of a title's words in BM25. */
  titleWeight: z.number().min(0).default(TITLE_WEIGHT),
  /** How BM25 makes words of texts; `plain` by default. */
  analyzer: nameSchema(ANALYZERS).optional(),
  /** Folder of the encoder of dense retrievers; by default the small world's. */
  encoder: z.string().min(1).optional(),
  checkpointEvery: z.int().min(1).default(10),
});

export type TrainConfig = z.infer<typeof trainSchema>;

/**
 * Reads a configuration.
 * @throws Error that names every field that does not fit
 */
export function parseTrainConfig(json: unknown): TrainConfig {
  const parsed = trainSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(`Expected a training configuration, but:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Weights of the decomposition and the search-count reward (Eq. 4 and 5). */
export type Lambdas = Pick<RewardOptions, 'lambdaD' | 'lambdaS'>;

/**
 * How the embedded scale is trained, whatever the method: one update a step, at a rate at
 * which 200 steps are enough.
 */
const EMBEDDED = {
  rollout: {},
  grpo: {
    steps: 200,
    learningRate: 1e-3,
    warmupSteps: 10,
    miniBatches: 1,
    maxTokensPerPass: 2048,
    mix: { singleHop: 0.2, sequential: 0.25, comparisons: [0.17, 0.14, 0.12, 0.12] },
  },
  lora: { rank: 4, alpha: 8 },
  checkpointEvery: 20,
};

/** Real questions seldom compare more than two. */
const REAL_MIX = { singleHop: 0.1, sequential: 0.4, comparisons: [0.4, 0.05, 0.03, 0.02] };

/**
 * How a language model is trained, where a step takes minutes on two cores: few steps,
 * at the rate of LoRA, on rollouts that its memory holds.
 */
const LANGUAGE_MODEL = {
  rollout: { maxSearchTurns: 4, maxNewTokens: 112, maxInformationTokens: 360, maxPassageWords: 32 },
  grpo: {
    steps: 30,
    questionsPerStep: 8,
    groupSize: 5,
    learningRate: 5e-4,
    warmupSteps: 3,
    miniBatches: 1,
    maxTokensPerPass: 2048,
    mix: REAL_MIX,
  },
  lora: { rank: 8, alpha: 16 },
  checkpointEvery: 5,
};

/**
 * Before reinforcement, on demonstrations: few enough that there is something left for
 * reward to teach. Three of four that are drawn find what they ask for, and are learned
 * from.
 */
const WARM_UP = {
  ...LANGUAGE_MODEL,
  grpo: {
    steps: 120,
    questionsPerStep: 5,
    groupSize: 2,
    learningRate: 1e-3,
    warmupSteps: 4,
    miniBatches: 1,
    maxTokensPerPass: 2048,
    mix: REAL_MIX,
  },
};

/**
 * The policy that plays ZeroSearch's search engine learns to write, which takes more
 * weights and more updates than learning to search.
 */
const SIMULATOR = {
  ...EMBEDDED,
  grpo: { ...EMBEDDED.grpo, learningRate: 2e-3, miniBatches: 4 },
  lora: { rank: 32, alpha: 64 },
};

/** How training is scaled: for the small world's models, or for language models. */
export type Scale = 'embedded' | 'language-model';

/**
 * Share of the steps over which PPO's learning rate rises (App. A.4); GRPO's needs fewer
 * at this rate.
 */
const PPO_WARM_UP = 0.285;

/**
 * The training configuration of a method; of demonstrations, for a language model
 * whatever the scale.
 * @param lambdas in place of the paper's
 * @throws RangeError for a method that is not trained
 */
export function trainingPreset(
  method: string,
  model: string,
  seed: number,
  { lambdas, scale = 'embedded' }: { lambdas?: Partial<Lambdas>; scale?: Scale } = {},
): TrainConfig {
  const { training } = METHODS.get(method);
  if (!training || !('trainer' in training))
    throw new RangeError(
      `Expected a method that is trained (${trainedMethods().join(', ')}), but got ${method}.`,
    );
  const { trainer, rewards } = training;
  const embedded = trainer === 'zerosearch-simulator' ? SIMULATOR : EMBEDDED;
  const ofScale = scale === 'embedded' ? embedded : LANGUAGE_MODEL;
  const preset = trainer === 'demonstrations' ? WARM_UP : ofScale;
  const { grpo, rollout } = preset;
  const warmUp = trainer === 'ppo' ? { warmupSteps: Math.round(PPO_WARM_UP * grpo.steps) } : {};
  return parseTrainConfig({
    method,
    model,
    seed,
    rewards: { preset: rewards, ...lambdas },
    ...(trainer === 'grpo' ? {} : { trainer }),
    ...preset,
    grpo: { ...grpo, ...warmUp },
    rollout: { ...rolloutConfigOf(method), ...rollout },
  });
}
