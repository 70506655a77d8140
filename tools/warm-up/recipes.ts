/**
 * Training recipes of the initial models of the embedded scale. `base` learns to copy, to
 * read and to compare, and sees some transcripts and raw text; `instruct` continues from
 * it with demonstrations under the prompts that RL uses. Both leave RL something to
 * learn: their queries are worded at random, they search again after a third of their
 * misses, and they mostly search one by one for what they could search at once. `hasty`
 * continues from instruct and acquires a habit: one query for everything, then an answer.
 * `paired` also continues from instruct, and sees both chains of a comparison of chains
 * searched at once.
 */
import type { ModelConfig } from '../../lib/policy/model/families.js';
import type { InitialModelName } from '../../lib/training/models.js';
import type { WarmUpOptions } from './rows.js';
import type { WarmUpRun, WarmUpStage } from './run-warm-up.js';

/** The model, with the same seed, from which each one continues. */
export const TRAINED_FROM: Readonly<Record<InitialModelName, InitialModelName | undefined>> = {
  base: undefined,
  instruct: 'base',
  hasty: 'instruct',
  paired: 'instruct',
};

/** 0.9 million parameters. */
export const SMALL_MODEL: ModelConfig = {
  modelType: 'llama',
  vocabSize: 1536,
  hiddenSize: 128,
  intermediateSize: 344,
  numLayers: 4,
  numHeads: 4,
  numKeyValueHeads: 2,
  headDim: 32,
  maxPositionEmbeddings: 1024,
  rmsNormEps: 1e-5,
  rope: { theta: 10000, scaling: { rope_type: 'default' } },
  tieWordEmbeddings: true,
  biases: { qkv: false, o: false, mlp: false },
  qkNorm: false,
  eosTokenIds: [1],
  padTokenId: 0,
};

export type Recipe = Pick<WarmUpRun, 'supervised' | 'stages' | 'maxTokens'>;

/** The defaults of a stage. */
const COMMON: Omit<WarmUpOptions, 'mix'> = {
  rowsPerStep: 24,
  mostRepeated: 8,
  topKs: [3, 3, 3, 3, 3, 1, 5, 10],
  maxSearchTurns: 6,
  retryShare: 0.35,
  contextWeight: 0.01,
  recapWeight: 3,
  parallelShare: 0.25,
};

/** A stage between two learning rates, with what differs from {@link COMMON}. */
function stage(
  steps: number,
  [learningRate, finalLearningRate]: readonly [number, number],
  {
    warmupSteps = 0,
    ...options
  }: Partial<WarmUpOptions> & Pick<WarmUpOptions, 'mix'> & { warmupSteps?: number },
): WarmUpStage {
  return {
    steps,
    learningRate,
    finalLearningRate,
    warmupSteps,
    options: { ...COMMON, ...options },
  };
}

// prettier-ignore
const STAGES: Record<InitialModelName, WarmUpStage[]> = {
  base: [
    // Copying emerges suddenly, at a high learning rate, and sooner if little else is
    // practised; everything that follows needs it.
    stage(700, [2e-3, 2e-3], {
      warmupSteps: 50, rowsPerStep: 64, recapWeight: 1, contextWeight: 0.1, topKs: [1, 3],
      mix: { passages: 0.04, repeat: 0.45, find: 0.25, copy: 0.26 },
    }),
    // From question to search, from passage to fact, from recap to conclusion, and the
    // first transcripts.
    stage(1000, [2e-3, 2e-3], {
      rowsPerStep: 40, contextWeight: 0.02, topKs: [1, 3],
      mix: { repeat: 0.05, sort: 0.1, find: 0.08, read: 0.32, copy: 0.1, verdict: 0.22, skill: 0.13 },
    }),
    stage(2400, [2e-3, 3e-5], {
      rowsPerStep: 30,
      mix: {
        passages: 0.02, repeat: 0.02, sort: 0.04, find: 0.05, read: 0.23, copy: 0.05, verdict: 0.12, skill: 0.27,
        drillHabit: 0.05, sequentialHabit: 0.06, parallelHabit: 0.06, direct: 0.01, continuation: 0.02,
      },
    }),
  ],
  instruct: [
    stage(1000, [1.5e-3, 1e-5], {
      warmupSteps: 20,
      mix: {
        sort: 0.02, find: 0.05, read: 0.13, copy: 0.02, verdict: 0.1, skill: 0.24,
        drillHabit: 0.06, sequentialHabit: 0.2, parallelHabit: 0.2, direct: 0.03,
      },
    }),
  ],
  hasty: [
    stage(120, [7e-4, 1e-5], {
      warmupSteps: 10,
      mix: {
        find: 0.04, read: 0.1, verdict: 0.08, skill: 0.2, direct: 0.02,
        hastyHabit: 0.28, hastyParallelHabit: 0.28,
      },
    }),
  ],
  paired: [
    stage(120, [7e-4, 1e-5], {
      warmupSteps: 10,
      mix: {
        find: 0.04, read: 0.1, verdict: 0.08, skill: 0.2, direct: 0.02,
        sequentialHabit: 0.16, parallelHabit: 0.16, hybridHabit: 0.12, pairedHabit: 0.12,
      },
    }),
  ],
};

const SUPERVISED = { maxGradNorm: 1, maxTokensPerPass: 2048 };
/** Maximum row length in tokens. */
const MAX_TOKENS = 640;

/** The recipe of a model, with at most `maxSteps` steps per stage. */
export function findRecipe(name: InitialModelName, maxSteps = Infinity): Recipe {
  const stages = STAGES[name].map((stage) => ({
    ...stage,
    steps: Math.min(maxSteps, stage.steps),
  }));
  return { supervised: SUPERVISED, stages, maxTokens: MAX_TOKENS };
}
