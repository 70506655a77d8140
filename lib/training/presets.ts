/** Presets of methods and models: every default of a training run. */
import { DEFAULT_RETRIEVER, TITLE_WEIGHT } from '../retrieval/retrievers.js';
import type { RewardConstants } from '../rewards/parallelsearch.js';
import type { PromptForm } from '../text/prompts.js';
import { parseTrainConfig, type TrainConfig } from './config.js';
import { METHODS, resolveRollout, trainedMethods, type TrainerName } from './methods.js';

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
type ScalePreset = typeof SMALL_MODEL_PRESET;

/**
 * Preset of small-world models that write documents, which is harder than searching: more
 * adapter weights and updates.
 */
const SMALL_SIMULATOR_PRESET: ScalePreset = {
  ...SMALL_MODEL_PRESET,
  settings: { ...SMALL_MODEL_PRESET.settings, miniBatches: 4, learningRate: 2e-3 },
  lora: { rank: 32, alpha: 64 },
};

/**
 * Preset of language models, at minutes a step: few steps, LoRA's usual learning rate.
 */
const LANGUAGE_MODEL_PRESET: ScalePreset = {
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
function trainerPreset(trainer: TrainerName, { settings }: ScalePreset): object {
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

function scalePreset(trainer: TrainerName, scale: Scale): ScalePreset {
  // Only language models are trained on demonstrations.
  if (scale === 'language-model' || trainer === 'demonstrations') return LANGUAGE_MODEL_PRESET;
  return trainer === 'zerosearch-simulator' ? SMALL_SIMULATOR_PRESET : SMALL_MODEL_PRESET;
}

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
  const preset = scalePreset(trainer, scale);
  return parseTrainConfig({
    method,
    model,
    seed,
    trainer,
    rollout: resolveRollout(method, 'small-world', {
      changes: { ...preset.rollout, ...(promptForm && { promptForm }) },
    }),
    rewards: { preset: rewards, ...lambdas },
    [trainer]: { ...preset.settings, ...trainerPreset(trainer, preset) },
    lora: preset.lora,
    retriever: DEFAULT_RETRIEVER,
    titleWeight: TITLE_WEIGHT,
    checkpointEvery: preset.checkpointEvery,
  });
}
