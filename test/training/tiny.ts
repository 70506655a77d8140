/**
 * A tiny world shared by the training tests: a model with 20,000 weights, six passages, a
 * few questions.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Passage } from '../../lib/data/passage.js';
import type { Question, SubQuestion } from '../../lib/data/question.js';
import type { ModelConfig } from '../../lib/policy/model/families.js';
import type { Model } from '../../lib/policy/model/model.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { Reward } from '../../lib/rewards/reward.js';
import { createTokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { parseTrainConfig, type TrainConfig } from '../../lib/training/config.js';
import { mergeOverrides } from '../../lib/training/overrides.js';
import type { TrainerName } from '../../lib/training/methods.js';
import { trainBpe, TAG_TOKENS } from '../../tools/warm-up/tokenizer.js';
import { subQuestion } from '../data/questions.js';
import { makePassages } from '../retrieval/passages.js';
import { randomModelWeights } from '../../tools/warm-up/random-weights.js';

export const PASSAGES: Passage[] = makePassages([
  'Ada Stone\nAda Stone is a singer born in 1922.',
  'Bo Reed\nBo Reed is a singer born in 1904.',
  'Cy Hill\nCy Hill is a singer born in 1960.',
  'Red River\nRed River is a film directed by Bo Reed.',
  'Blue Lake\nBlue Lake is a film directed by Ada Stone.',
  'Tallinn\nTallinn is the capital of Estonia.',
]);

const PEOPLE = [
  ['Ada Stone', '1922'],
  ['Bo Reed', '1904'],
  ['Cy Hill', '1960'],
] as const;

/** A sub-question about the birth of person `i`. */
export function bornIn(i: number, id: string, dependsOn: string[] = []): SubQuestion {
  const [entity, year] = PEOPLE[i];
  const text = { question: `When was ${entity} born?`, entity, attribute: 'born', query: entity };
  return subQuestion(id, { ...text, dependsOn, answers: [year], evidence: [`p${i}`] });
}

function directorOf(film: string, director: string, passage: string, id: string): SubQuestion {
  const asked = { question: `Who directed ${film}?`, entity: film, query: film };
  const text = { ...asked, attribute: 'director' };
  return subQuestion(id, { ...text, answers: [director], evidence: [passage] });
}

function question(
  id: string,
  text: string,
  answer: string,
  graph: SubQuestion[],
  operation?: 'argmin' | 'argmax',
): Question {
  const compares = operation ? { kind: operation, attribute: 'born' } : null;
  const type = operation ? 'comparison' : 'bridge';
  const metadata = { benchmark: 'hotpotqa', type, graph, operation: compares };
  return { id, question: text, goldenAnswers: [answer], split: 'train', metadata };
}

export const SINGLE = question('single', 'When was Cy Hill born?', '1960', [bornIn(2, 'q1')]);
export const SEQUENTIAL = question(
  'sequential',
  'When was the director of Red River born?',
  '1904',
  [directorOf('Red River', 'Bo Reed', 'p3', 'q1'), bornIn(1, 'q2', ['q1'])],
);
export const COMPARISON = question(
  'comparison',
  'Who was born first, Ada Stone, Bo Reed or Cy Hill?',
  'Bo Reed',
  [bornIn(0, 'q1'), bornIn(1, 'q2'), bornIn(2, 'q3')],
  'argmin',
);
/** Two chains of two, compared at the end. */
export const HYBRID = question(
  'hybrid',
  'Which film has the younger director, Red River or Blue Lake?',
  'Blue Lake',
  [
    directorOf('Red River', 'Bo Reed', 'p3', 'q1'),
    bornIn(1, 'q2', ['q1']),
    directorOf('Blue Lake', 'Ada Stone', 'p4', 'q3'),
    bornIn(0, 'q4', ['q3']),
  ],
  'argmax',
);
export const QUESTIONS: Question[] = [SINGLE, SEQUENTIAL, COMPARISON, HYBRID];

export const TOKENIZER_JSON = trainBpe(
  [...PASSAGES.map((p) => p.contents), ...QUESTIONS.map((q) => q.question)],
  {
    vocabSize: 300,
    minFrequency: 2,
    addedTokens: [
      ...['<pad>', '<eos>'].map((content) => ({ content, special: true })),
      ...TAG_TOKENS.map((content) => ({ content, special: false })),
    ],
  },
);
export const TOKENIZER = createTokenizer(TOKENIZER_JSON);

export const CONFIG: ModelConfig = {
  modelType: 'llama',
  vocabSize: 300,
  hiddenSize: 16,
  intermediateSize: 24,
  numLayers: 2,
  numHeads: 4,
  numKeyValueHeads: 2,
  headDim: 4,
  maxPositionEmbeddings: 512,
  rmsNormEps: 1e-5,
  rope: { theta: 10000, scaling: { rope_type: 'default' } },
  tieWordEmbeddings: true,
  biases: { qkv: false, o: false, mlp: false },
  qkNorm: false,
  eosTokenIds: [1],
  padTokenId: 0,
};

/** Fresh weights, the same at every call. The caller disposes of them. */
export const tinyModel = (seed = 3): Model => ({
  config: CONFIG,
  tokenizer: TOKENIZER,
  tokenizerJson: TOKENIZER_JSON,
  weights: randomModelWeights(CONFIG, createRandom(seed)),
});

/**
 * A model that mostly writes tags and a name, so that some samples are searches, some
 * answers and some nonsense: the first channel of every embedding is large, and the head
 * uses it as a bias.
 *
 * @param more further texts that it writes
 */
export function chattyModel(more: readonly string[] = []): Model {
  const config = { ...CONFIG, tieWordEmbeddings: false };
  const weights = randomModelWeights(config, createRandom('chatty'));
  const favourites = new Set(
    ['<search>', '</search>', '<answer>', '</answer>', ' Reed', ...more].flatMap((text) =>
      TOKENIZER.encode(text),
    ),
  );
  const rewrite = (
    key: string,
    change: (value: number, row: number, column: number) => number,
  ): void => {
    const old = weights[key];
    const columns = old.shape[1]!;
    const values = old.dataSync().map((x, i) => change(x, Math.floor(i / columns), i % columns));
    weights[key] = tf.tensor(values, old.shape);
    old.dispose();
  };
  rewrite('embed', (x, _, channel) => (channel === 0 ? 3 : x));
  rewrite('head', (x, channel, id) => (!favourites.has(id) ? x : channel === 0 ? 2.5 : 0.3 * x));
  return { config, tokenizer: TOKENIZER, tokenizerJson: TOKENIZER_JSON, weights };
}

/** What a training of the tiny world needs besides configuration and model. */
export const TASK = { questions: QUESTIONS, retriever: createBm25Retriever(PASSAGES) };

/** Rewards length, so that groups differ in reward. */
export const LENGTH_REWARD: Reward = {
  name: 'length',
  score: ({ trajectory: { segments } }) => segments.map(({ text }) => text).join('').length,
};

const SETTINGS = {
  steps: 4,
  questionsPerStep: 3,
  groupSize: 4,
  miniBatches: 2,
  learningRate: 0.02,
  warmupSteps: 5,
  temperature: 1,
  maxGradNorm: 1,
  maxTokensPerPass: 512,
  mix: { singleHop: 0.15, sequential: 0.3, comparisons: [0.2, 0.15, 0.1, 0.1] },
};
const CLIPPED = { ...SETTINGS, clip: 0.2, beta: 0.001 };
const ASK_ONCE = { questionsPerStep: 12, groupSize: 1 };
const SECTIONS: Record<TrainerName, object> = {
  grpo: CLIPPED,
  ppo: {
    ...CLIPPED,
    ...ASK_ONCE,
    valueLearningRate: 1e-2,
    valueWarmupSteps: 3,
    valueWeight: 0.1,
    valueClip: 0.5,
    gamma: 1,
    lambda: 1,
  },
  sft: { ...SETTINGS, ...ASK_ONCE },
  'rejection-sampling': { ...SETTINGS, questionsPerStep: 2, groupSize: 5 },
  demonstrations: { ...SETTINGS, ...ASK_ONCE },
  zerosearch: { ...CLIPPED, startNoise: 0, endNoise: 0.5, noiseBase: 4, simulatorTemperature: 0.8 },
  'zerosearch-simulator': { ...SETTINGS, questionsPerStep: 2, groupSize: 5 },
};

/** A few small training steps, with changes; `settings` are the trainer's. */
export const tinyTraining = ({
  trainer = 'grpo',
  settings = {},
  ...overrides
}: { trainer?: TrainerName; settings?: object; [key: string]: unknown } = {}): TrainConfig =>
  parseTrainConfig(
    mergeOverrides(
      {
        method: 'parallelsearch',
        model: 'tiny',
        seed: 1,
        trainer,
        rollout: { prompt: 'parallel', splitQueries: true, maxSearchTurns: 2, maxNewTokens: 10 },
        rewards: { preset: 'paper' },
        [trainer]: SECTIONS[trainer],
        lora: { rank: 2, alpha: 4 },
        retriever: 'bm25',
        titleWeight: 5,
        checkpointEvery: 100,
      },
      { [trainer]: settings },
      overrides,
    ),
  );
