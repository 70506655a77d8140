/**
 * What the initial models of the embedded scale are trained on, and the foundation that they share. The foundation learns to copy,
 * to read and to compare under the drill prompt, which reinforcement never uses, and sees a little raw transcript text; `base` goes
 * on from it with names of all kinds to copy; `instruct` goes on from `base` with demonstrations under the prompts that
 * reinforcement uses, most of them sequential even where parallel was possible.
 */
import type { WarmUpName } from '../../experiments/runs.js';
import type { ModelConfig } from '../../policy/model-config.js';
import type { WarmUpOptions } from './rows.js';
import type { WarmUpRun, WarmUpStage } from './run-warm-up.js';

/** 1.1 million parameters. */
export const SMALL_MODEL: ModelConfig = {
  modelType: 'llama',
  vocabSize: 2560,
  hiddenSize: 128,
  intermediateSize: 344,
  numLayers: 4,
  numHeads: 4,
  numKeyValueHeads: 4,
  headDim: 32,
  maxPositionEmbeddings: 1024,
  rmsNormEps: 1e-5,
  ropeTheta: 10000,
  tieWordEmbeddings: true,
  eosTokenId: 1,
  padTokenId: 0,
};

export type Recipe = Pick<WarmUpRun, 'supervised' | 'stages'>;

/** What a stage does where it says nothing else. */
const COMMON: Omit<WarmUpOptions, 'mix'> = {
  rowsPerStep: 24,
  topKs: [1, 1, 1, 2],
  maxSearchTurns: 4,
  contextWeight: 0,
  recapWeight: 3,
  renamedShare: 0.7,
  unusualShare: 0,
  parallelShare: 0.3,
};

/** Whole transcripts under the drill prompt for the most part, with drills, and a little of what reinforcement will see. */
// prettier-ignore
const TRANSCRIPTS = {
  contextWeight: 0.01,
  mix: {
    passages: 0.04, repeat: 0.02, read: 0.2, copy: 0.06, verdict: 0.12, practice: 0.42,
    sequentialHabit: 0.05, parallelHabit: 0.04, direct: 0.01, continuation: 0.04,
  },
};

/** Half of the names unusual, once the copying of plain ones is learnt. */
const UNUSUAL = { unusualShare: 0.5 };

/** A stage of so many steps, between two learning rates, with what differs from {@link COMMON}. */
function stage(
  steps: number,
  [learningRate, finalLearningRate]: readonly [number, number],
  {
    warmupSteps = 0,
    ...options
  }: Partial<WarmUpOptions> & Pick<WarmUpOptions, 'mix'> & { warmupSteps?: number },
): WarmUpStage {
  return { steps, learningRate, finalLearningRate, warmupSteps, options: { ...COMMON, ...options } };
}

// prettier-ignore
const STAGES: Record<WarmUpName, WarmUpStage[]> = {
  foundation: [
    // Names, and the language of the passages.
    stage(300, [2e-3, 1.835e-3], {
      warmupSteps: 50, rowsPerStep: 48, recapWeight: 1,
      mix: { passages: 0.15, repeat: 0.6, read: 0.05, copy: 0.2 },
    }),
    // The grammar: from question to search, from passage to fact, from recap to conclusion, and the first transcripts.
    stage(500, [1.835e-3, 1.504e-3], {
      rowsPerStep: 32, contextWeight: 0.02,
      mix: { passages: 0.02, repeat: 0.08, read: 0.3, copy: 0.25, verdict: 0.2, practice: 0.15 },
    }),
    stage(398, [1.504e-3, 1.241e-3], TRANSCRIPTS),
    // Copying, which everything else needs. It comes late and suddenly, and soonest where nothing else helps to predict
    // a word, at a high learning rate.
    stage(204, [1.241e-3, 1.106e-3], {
      rowsPerStep: 40,
      mix: { repeat: 0.1, words: 0.35, read: 0.2, copy: 0.25, verdict: 0.1 },
    }),
    stage(160, [4e-3, 3e-3], {
      warmupSteps: 20, rowsPerStep: 48,
      mix: { repeat: 0.05, words: 0.85, copy: 0.1 },
    }),
    stage(1400, [2e-3, 5e-5], TRANSCRIPTS),
    // Once more from a high learning rate, until whole transcripts come out right under the drill prompt; with more of
    // the sequential habit, for a model that is to be trained towards either method.
    stage(1400, [1.6e-3, 5e-5], {
      ...TRANSCRIPTS, warmupSteps: 30, mix: { ...TRANSCRIPTS.mix, sequentialHabit: 0.1 },
    }),
  ],
  base: [
    // Copying of names of all kinds.
    stage(1000, [1.5e-3, 5e-5], {
      ...TRANSCRIPTS, ...UNUSUAL, warmupSteps: 30,
      mix: {
        passages: 0.04, repeat: 0.06, words: 0.08, read: 0.14, copy: 0.26, verdict: 0.1, practice: 0.27,
        sequentialHabit: 0.1, parallelHabit: 0.04, direct: 0.01, continuation: 0.04,
      },
    }),
    // The habits of before: so much practice with the drill prompt has made decomposing likelier under the others.
    stage(200, [4e-4, 2e-5], {
      ...TRANSCRIPTS, ...UNUSUAL, parallelShare: 0.15,
      mix: {
        passages: 0.04, words: 0.04, read: 0.08, copy: 0.12, verdict: 0.06, practice: 0.26,
        sequentialHabit: 0.22, parallelHabit: 0.12, direct: 0.01, continuation: 0.05,
      },
    }),
  ],
  instruct: [
    // More practice, with the first demonstrations.
    stage(600, [1.6e-3, 4e-4], {
      ...UNUSUAL, warmupSteps: 30, parallelShare: 0.2,
      mix: {
        repeat: 0.03, words: 0.05, read: 0.2, copy: 0.04, verdict: 0.13, practice: 0.42,
        sequentialHabit: 0.1, parallelHabit: 0.08, direct: 0.02,
      },
    }),
    // Fewer drills, more demonstrations.
    stage(200, [4e-4, 2e-5], {
      ...UNUSUAL, parallelShare: 0.2,
      mix: {
        read: 0.06, copy: 0.04, verdict: 0.06, practice: 0.32,
        sequentialHabit: 0.24, parallelHabit: 0.24, direct: 0.04,
      },
    }),
  ],
};

const SUPERVISED = { maxGradNorm: 1, maxTokensPerPass: 4096 };

/** The recipe of a model, with at most so many steps of each stage. */
export function recipeOf(name: WarmUpName, maxSteps = Infinity): Recipe {
  const stages = STAGES[name].map((stage) => ({ ...stage, steps: Math.min(maxSteps, stage.steps) }));
  return { supervised: SUPERVISED, stages };
}
