/**
 * The two starting points of the embedded scale, and the foundation that they share. The foundation learns to copy, to read and
 * to compare under the drill prompt, which reinforcement never uses, and sees a little raw transcript text; `base` goes on from
 * it with names of all kinds to copy; `instruct` goes on from `base` with demonstrations under the prompts that reinforcement
 * uses, most of them sequential even where parallel was possible.
 */
import { join } from 'node:path';
import { WARM_UP_NAMES, type WarmUpName } from '../../experiments/runs.js';
import type { ModelConfig } from '../../policy/model-config.js';
import { loadModel, saveModel, type Model } from '../../policy/model-folder.js';
import { disposeWeights, randomWeights } from '../../policy/weights.js';
import { createRandom } from '../../random.js';
import type { BackendName } from '../../tensor/backend.js';
import { trainBpe } from '../../text/bpe.js';
import { createTokenizer } from '../../text/tokenizer.js';
import { startGradientWorker } from '../../training/gradient-worker.js';
import { runWarmUp, totalSteps, type WarmUpRun } from './run-warm-up.js';
import type { SupervisedStep } from '../../training/supervised.js';
import { TAG_TOKENS, tokenizerLines } from './tokenizer-text.js';
import { EMPTY_MIX, trainingPassages, type WarmUpOptions } from './warm-up.js';
import { writeModelCard } from '../model-card.js';
import { modelFolder } from '../../experiments/runs.js';
import type { World } from '../../experiments/world.js';
import { CHECKPOINTS } from '../../io/paths.js';

/** 1.1 million parameters. */
export const SMALL_MODEL: ModelConfig = {
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

const COMMON: Omit<WarmUpOptions, 'mix' | 'rowsPerStep' | 'contextWeight' | 'recapWeight'> = {
  topKs: [1, 1, 1, 2],
  maxSearchTurns: 4,
  renamedShare: 0.7,
  parallelShare: 0.3,
};

type Recipe = Pick<WarmUpRun, 'supervised' | 'stages'>;

const SUPERVISED = { maxGradNorm: 1, maxTokensPerPass: 4096 };

/** Whole transcripts under the drill prompt for the most part, with drills, and a little of what reinforcement will see. */
const TRANSCRIPTS: WarmUpOptions = {
  ...COMMON,
  rowsPerStep: 24,
  contextWeight: 0.01,
  recapWeight: 3,
  mix: {
    ...EMPTY_MIX,
    passages: 0.04,
    repeat: 0.02,
    read: 0.2,
    copy: 0.06,
    verdict: 0.12,
    practice: 0.42,
    sequentialHabit: 0.05,
    parallelHabit: 0.04,
    direct: 0.01,
    ramble: 0.04,
  },
};

/** Share of unusual names, once the copying of plain ones is learnt. */
const UNUSUAL_SHARE = 0.5;

/** What each is trained on, and for how long. */
export const RECIPES: Record<WarmUpName, Recipe> = {
  foundation: {
    supervised: SUPERVISED,
    stages: [
      {
        // Names, and the language of the passages.
        steps: 300,
        learningRate: 2e-3,
        finalLearningRate: 1.835e-3,
        warmupSteps: 50,
        options: {
          ...COMMON,
          rowsPerStep: 48,
          contextWeight: 0,
          recapWeight: 1,
          mix: { ...EMPTY_MIX, passages: 0.15, repeat: 0.6, read: 0.05, copy: 0.2 },
        },
      },
      {
        // The grammar: from question to search, from passage to fact, from recap to conclusion, and the first transcripts.
        steps: 500,
        learningRate: 1.835e-3,
        finalLearningRate: 1.504e-3,
        warmupSteps: 0,
        options: {
          ...COMMON,
          rowsPerStep: 32,
          contextWeight: 0.02,
          recapWeight: 3,
          mix: {
            ...EMPTY_MIX,
            passages: 0.02,
            repeat: 0.08,
            read: 0.3,
            copy: 0.25,
            verdict: 0.2,
            practice: 0.15,
          },
        },
      },
      {
        steps: 398,
        learningRate: 1.504e-3,
        finalLearningRate: 1.241e-3,
        warmupSteps: 0,
        options: TRANSCRIPTS,
      },
      {
        // Copying, which everything else needs. It comes late and suddenly, and soonest where nothing else helps to foretell
        // a word, at a high learning rate.
        steps: 204,
        learningRate: 1.241e-3,
        finalLearningRate: 1.106e-3,
        warmupSteps: 0,
        options: {
          ...COMMON,
          rowsPerStep: 40,
          contextWeight: 0,
          recapWeight: 3,
          mix: { ...EMPTY_MIX, repeat: 0.1, words: 0.35, read: 0.2, copy: 0.25, verdict: 0.1 },
        },
      },
      {
        steps: 160,
        learningRate: 4e-3,
        finalLearningRate: 3e-3,
        warmupSteps: 20,
        options: {
          ...COMMON,
          rowsPerStep: 48,
          contextWeight: 0,
          recapWeight: 3,
          mix: { ...EMPTY_MIX, repeat: 0.05, words: 0.85, copy: 0.1 },
        },
      },
      {
        steps: 1400,
        learningRate: 2e-3,
        finalLearningRate: 5e-5,
        warmupSteps: 0,
        options: TRANSCRIPTS,
      },
      {
        // Once more from a high learning rate, until whole transcripts come out right under the drill prompt; with more of
        // the sequential habit, for a name that is to be trained towards either method.
        steps: 1400,
        learningRate: 1.6e-3,
        finalLearningRate: 5e-5,
        warmupSteps: 30,
        options: { ...TRANSCRIPTS, mix: { ...TRANSCRIPTS.mix, sequentialHabit: 0.1 } },
      },
    ],
  },
  base: {
    supervised: SUPERVISED,
    stages: [
      {
        // Copying of names of all kinds.
        steps: 1000,
        learningRate: 1.5e-3,
        finalLearningRate: 5e-5,
        warmupSteps: 30,
        options: {
          ...TRANSCRIPTS,
          unusualShare: UNUSUAL_SHARE,
          mix: {
            ...EMPTY_MIX,
            passages: 0.04,
            repeat: 0.06,
            words: 0.08,
            read: 0.14,
            copy: 0.26,
            verdict: 0.1,
            practice: 0.27,
            sequentialHabit: 0.1,
            parallelHabit: 0.04,
            direct: 0.01,
            ramble: 0.04,
          },
        },
      },
      {
        // The habits of before: so much practice with the drill prompt has made decomposing likelier under the others.
        steps: 200,
        learningRate: 4e-4,
        finalLearningRate: 2e-5,
        warmupSteps: 0,
        options: {
          ...TRANSCRIPTS,
          unusualShare: UNUSUAL_SHARE,
          parallelShare: 0.15,
          mix: {
            ...EMPTY_MIX,
            passages: 0.04,
            words: 0.04,
            read: 0.08,
            copy: 0.12,
            verdict: 0.06,
            practice: 0.26,
            sequentialHabit: 0.22,
            parallelHabit: 0.12,
            direct: 0.01,
            ramble: 0.05,
          },
        },
      },
    ],
  },
  instruct: {
    supervised: SUPERVISED,
    stages: [
      {
        // More practice, with the first demonstrations.
        steps: 600,
        learningRate: 1.6e-3,
        finalLearningRate: 4e-4,
        warmupSteps: 30,
        options: {
          ...COMMON,
          rowsPerStep: 24,
          unusualShare: UNUSUAL_SHARE,
          parallelShare: 0.2,
          contextWeight: 0,
          recapWeight: 3,
          mix: {
            ...EMPTY_MIX,
            repeat: 0.03,
            words: 0.05,
            read: 0.2,
            copy: 0.04,
            verdict: 0.13,
            practice: 0.42,
            sequentialHabit: 0.1,
            parallelHabit: 0.08,
            direct: 0.02,
          },
        },
      },
      {
        steps: 200,
        learningRate: 4e-4,
        finalLearningRate: 2e-5,
        warmupSteps: 0,
        options: {
          ...COMMON,
          rowsPerStep: 24,
          unusualShare: UNUSUAL_SHARE,
          parallelShare: 0.2,
          contextWeight: 0,
          recapWeight: 3,
          mix: {
            ...EMPTY_MIX,
            read: 0.06,
            copy: 0.04,
            verdict: 0.06,
            practice: 0.32,
            sequentialHabit: 0.24,
            parallelHabit: 0.24,
            direct: 0.04,
          },
        },
      },
    ],
  },
};

/** A fresh model with a tokenizer trained on the training text, or the model to go on from. */
async function modelToTrain(
  name: WarmUpName,
  world: World,
  seed: number,
  checkpoints: string,
): Promise<Model> {
  const place = WARM_UP_NAMES.indexOf(name);
  if (place > 0) return loadModel(modelFolder(WARM_UP_NAMES[place - 1], checkpoints));
  const questions = world.questions.filter(({ split }) => split === 'train');
  const tokenizerJson = trainBpe(
    tokenizerLines(trainingPassages(world.passages, world.questions), questions),
    {
      vocabSize: SMALL_MODEL.vocabSize,
      minFrequency: 2,
      addedTokens: [
        ...['<pad>', '<eos>'].map((content) => ({ content, special: true })),
        // Not special: other trainers decode with special tokens skipped, and the tags must stay.
        ...TAG_TOKENS.map((content) => ({ content, special: false })),
      ],
    },
  );
  return {
    config: SMALL_MODEL,
    tokenizerJson,
    tokenizer: createTokenizer(tokenizerJson),
    weights: randomWeights(SMALL_MODEL, createRandom(seed).fork('weights')),
  };
}

export interface TrainInitialModelOptions {
  seed: number;
  /** Where the run's checkpoint and metrics go. */
  folder: string;
  /** Most steps of each stage. */
  maxSteps?: number;
  backend: BackendName;
  /** Where the finished weights go, and where those to go on from are. */
  checkpoints?: string;
  signal?: AbortSignal;
  onStep?: (report: SupervisedStep, totalSteps: number) => void;
}

/** The recipe with at most so many steps of each stage. */
function shortened({ stages, ...rest }: Recipe, maxSteps = Infinity): Recipe {
  return { ...rest, stages: stages.map((stage) => ({ ...stage, steps: Math.min(maxSteps, stage.steps) })) };
}

/** Trains a name, or the foundation, and writes it in half precision into the checkpoints' folder. */
export async function trainInitialModel(
  name: WarmUpName,
  world: World,
  options: TrainInitialModelOptions,
): Promise<void> {
  const checkpoints = options.checkpoints ?? CHECKPOINTS;
  const model = await modelToTrain(name, world, options.seed, checkpoints);
  const data = {
    questions: world.questions.filter(({ split }) => split === 'train'),
    passages: trainingPassages(world.passages, world.questions),
    retriever: world.retriever,
    tokenizer: model.tokenizer,
  };
  const worker = startGradientWorker(model.config, options.backend);
  const recipe = shortened(RECIPES[name], options.maxSteps);
  const run = { ...recipe, seed: options.seed, folder: options.folder, checkpointEvery: 50 };
  try {
    const weights = await runWarmUp(model, data, run, {
      worker,
      signal: options.signal,
      onStep: (report) => options.onStep?.(report, totalSteps(run.stages)),
    });
    await saveModel(join(checkpoints, name), { ...model, weights }, { storage: 'F16' });
    disposeWeights(weights);
    await writeModelCard(name, world, { seed: options.seed, recipe, checkpoints });
  } finally {
    worker.stop();
  }
}
