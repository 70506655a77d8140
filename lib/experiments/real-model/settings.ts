/**
 * A language model on real questions: where model and benchmarks lie, what is trained,
 * who answers, and what is asked.
 */
import { range } from 'd3-array';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { splitContents } from '../../data/flashrag-text.js';
import type { DataSet, Question } from '../../data/flashrag.js';
import { readFolder } from '../../data/formats/folder.js';
import { PassageCollector } from '../../data/formats/format.js';
import { packagePath } from '../../io/paths.js';
import { parseTrainConfig, type TrainConfig, trainingPreset } from '../../methods/config.js';
import { demonstrations } from '../../methods/demonstrations.js';
import { rolloutConfigOf, trainedBy } from '../../methods/index.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import { shapeOf } from '../../rewards/rollout.js';
import type { RolloutConfig } from '../../rollout/options.js';

/**
 * The language model: SmolLM2-135M-Instruct as `parallelsearch model` makes it, unless
 * `PARALLELSEARCH_MODEL` names another folder.
 */
export const MODEL =
  process.env.PARALLELSEARCH_MODEL ?? packagePath('models', 'smollm2-135m-instruct');
/**
 * Folders, as they are called from the package's own; what is made of a model lies under
 * its name.
 */
const NAMED = { model: `models/${basename(MODEL)}`, work: `runs/real-model/${basename(MODEL)}` };
const INITIAL_NAME = `${NAMED.work}/initial`;
/** Where trainings lie while they go on. */
export const WORK = packagePath(NAMED.work);
/** The model after the warm-up: made of the model and the warm-up's adapter. */
export const INITIAL = packagePath(INITIAL_NAME);
/** Where answers lie in full, to read; they stay on this machine. */
export const TRANSCRIPTS = join(WORK, 'answers');
/**
 * Folders of benchmarks in the FlashRAG layout, here or where `PARALLELSEARCH_BENCHMARKS`
 * says; nothing of them is kept.
 */
export const BENCHMARKS = process.env.PARALLELSEARCH_BENCHMARKS ?? packagePath('benchmarks');
/**
 * Where adapters are kept, unless `PARALLELSEARCH_ADAPTERS` names another folder: those
 * of another model want one.
 */
export const ADAPTERS = process.env.PARALLELSEARCH_ADAPTERS ?? packagePath('data', 'real-model');

/** Folders of {@link BENCHMARKS} and what their benchmarks are called. */
export const FOLDERS: Readonly<Record<string, string>> = {
  nq: 'nq',
  triviaqa: 'triviaqa',
  popqa: 'popqa',
  hotpotqa: 'hotpotqa',
  '2wiki': '2wikimultihopqa',
  musique: 'musique',
  bamboogle: 'bamboogle',
  multihoprag: 'multihoprag',
};
/**
 * Benchmarks whose training questions are trained on: those with annotations of which
 * graphs are made.
 */
export const TRAINED_ON = ['hotpotqa', '2wikimultihopqa', 'musique'];
/**
 * Those of which comparisons and chains are told apart, and of which there are most: here
 * what reinforcement teaches is to show.
 */
export const MULTI_HOP = ['hotpotqa', '2wikimultihopqa'];

/** Passages per query. */
export const DEFAULT_TOP_K = 3;

/** Training questions kept back, by which adapters are chosen. */
export const NUM_DEV = 48;
/**
 * Most test questions of a benchmark: more of those of {@link MULTI_HOP}, on which most
 * is decided, and half of these with other numbers of passages.
 */
const [FEW, MANY] = [40, 120];
export function numTest(benchmark: string, topK = DEFAULT_TOP_K): number {
  if (topK !== DEFAULT_TOP_K) return MANY / 2;
  return MULTI_HOP.includes(benchmark) ? MANY : FEW;
}
/**
 * Questions answered side by side, and where there are seconds and not hours, in each of
 * two processes.
 */
export const [BATCH_SIZE, BATCH_SIZE_FOR_A_WHILE] = [48, 10];
/**
 * BM25 with stop words left out and stems: of what needs no second model, the best on
 * these passages.
 */
export const RETRIEVER = { name: 'bm25', options: { titleWeight: 1, analyzer: 'english' } };
/** Steps between two adapters that are tried on dev questions. */
const KEEP_EVERY = 15;

export const REINFORCED = ['parallelsearch', 'search-r1'] as const;
const UNTRAINED = ['r1', 'untrained:search-r1', 'untrained:parallel'] as const;
const SEEDS = [1, 2];
const TOP_K = [1, 5, 10];

/** A method with a seed; the warm-up is one, too. */
export interface RealRun {
  method: string;
  seed: number;
  /** Passages per query where they are not three. */
  topK?: number;
}

export const WARM_UP: RealRun = { method: demonstrations.name, seed: 1 };
/** Reinforcement from the same initial model. */
export const TRAINED: readonly RealRun[] = SEEDS.flatMap((seed) =>
  REINFORCED.map((method) => ({ method, seed })),
);
/** Who answers the test questions. */
export const ANSWERING: readonly RealRun[] = [
  ...TRAINED,
  ...UNTRAINED.map((method) => ({ method, seed: 1 })),
];
/** Who is timed on single questions, in turn. */
export const TIMED: readonly RealRun[] = REINFORCED.map((method) => ({ method, seed: 1 }));
/** Questions of each kind that they are timed on. */
export const NUM_TIMED = 16;
/** Who answers those of {@link MULTI_HOP} with other numbers of passages. */
export const BY_TOP_K: readonly RealRun[] = TOP_K.flatMap((topK) =>
  REINFORCED.map((method) => ({ method, seed: 1, topK })),
);

export const realRunName = ({ method, seed, topK = DEFAULT_TOP_K }: RealRun): string =>
  [method.replace(':', '-'), ...(topK === DEFAULT_TOP_K ? [] : [`k${topK}`]), `seed${seed}`].join(
    '-',
  );

/** The folder of a trained run's adapter. */
export const adapterOf = (run: RealRun, root = ADAPTERS): string => join(root, realRunName(run));

/**
 * The adapter that a run answers with, on the initial model; undefined for the initial
 * model itself.
 */
export function weightsOf({ method, seed }: RealRun, root = ADAPTERS): string | undefined {
  const trained = trainedBy(method);
  return trained === null ? undefined : adapterOf({ method: trained, seed }, root);
}

/**
 * Whether all weights of a run are there: the warm-up's, and its own where it has some.
 */
export const isThere = (run: RealRun, root = ADAPTERS): boolean =>
  [adapterOf(WARM_UP, root), weightsOf(run, root)].every((folder) => !folder || existsSync(folder));

/**
 * Adapters of 0.6 MB for the grammar of actions and of 0.4 MB for each run after it: they
 * are kept in the repository.
 */
const WARM_UP_LORA = { rank: 1, alpha: 8 };
const REINFORCED_MODULES = ['q_proj', 'k_proj', 'v_proj'];

/** The upper layers, in which a gradient ends soon: three of ten. */
const UPPER_SHARE = 0.3;
/** Layers of the model; SmolLM2-135M's where there is no folder to look into. */
function numLayers(): number {
  const file = join(MODEL, 'config.json');
  if (!existsSync(file)) return 30;
  return (JSON.parse(readFileSync(file, 'utf8')) as { num_hidden_layers: number })
    .num_hidden_layers;
}
function reinforcedLora() {
  const layers = numLayers();
  const layersToTransform = range(Math.round((1 - UPPER_SHARE) * layers), layers);
  return { rank: 8, alpha: 16, targetModules: REINFORCED_MODULES, layersToTransform };
}
/**
 * A rate at which 30 steps change something: at a third of it the KL was below .006
 * after 13. The paper's temperature: at .7, 2 of 35 rollouts of comparisons asked for
 * both at once after the warm-up, and seven of eight of Search-R1's groups had nothing to
 * learn from.
 */
const [LEARNING_RATE, TEMPERATURE] = [3e-3, 1];
/** A step takes minutes. */
const CHECKPOINT_EVERY = 1;

/**
 * Questions that compare two, and chains for the rest: of larger comparisons there is one
 * question in all.
 */
const mixOf = (comparisons: number) => ({
  singleHop: 0,
  sequential: 1 - comparisons,
  comparisons: [comparisons, 0, 0, 0],
});
/**
 * Share of comparisons. In reinforcement, at half, what parallel rollouts of
 * comparisons earned was lost again by those of chains: over six steps ParallelSearch
 * decomposed fewer and fewer.
 */
const COMPARISONS = { warmUp: 0.5, reinforcement: 0.75 };

/** The configuration that a run is trained with. */
export function realConfigOf({ method, seed }: RealRun): TrainConfig {
  const isWarmUp = method === WARM_UP.method;
  const model = isWarmUp ? NAMED.model : INITIAL_NAME;
  const preset = trainingPreset(method, model, seed, { scale: 'language-model' });
  const rollout = { ...preset.rollout, promptForm: 'chat' };
  const mix = mixOf(isWarmUp ? COMPARISONS.warmUp : COMPARISONS.reinforcement);
  const grpo = { ...preset.grpo, mix };
  const own = isWarmUp
    ? { lora: WARM_UP_LORA, grpo }
    : {
        lora: reinforcedLora(),
        grpo: { ...grpo, learningRate: LEARNING_RATE, temperature: TEMPERATURE },
        checkpointEvery: CHECKPOINT_EVERY,
      };
  return parseTrainConfig({
    ...preset,
    rollout,
    retriever: RETRIEVER.name,
    ...RETRIEVER.options,
    ...own,
  });
}

/** How a run's policy answers: as it would be trained. */
export function realRolloutOf({ method, topK = DEFAULT_TOP_K }: RealRun): RolloutConfig {
  const { maxSearchTurns, maxNewTokens, maxInformationTokens, maxPassageWords } = realConfigOf(
    TRAINED[0],
  ).rollout;
  const own = rolloutConfigOf(method);
  const limits = {
    maxNewTokens,
    maxInformationTokens,
    maxPassageWords,
    maxSearchTurns: Math.min(own.maxSearchTurns, maxSearchTurns),
  };
  return { ...own, ...limits, promptForm: 'chat', topK };
}

/** Numbers of steps after which an adapter is tried. */
export const triedSteps = ({ grpo: { steps } }: TrainConfig): number[] => [
  ...range(KEEP_EVERY, steps, KEEP_EVERY),
  steps,
];

/**
 * What is missing for training and answers, with the remedy; undefined where all is
 * there.
 */
export function missingInputs(model = MODEL, benchmarks = BENCHMARKS): string | undefined {
  if (!existsSync(join(model, 'config.json')))
    return `there is no model in ${model} (npx parallelsearch model smollm2-135m-instruct, or PARALLELSEARCH_MODEL)`;
  const folder = Object.keys(FOLDERS).find((name) => !existsSync(join(benchmarks, name)));
  if (folder === undefined) return undefined;
  return `there is no benchmark ${folder} in ${benchmarks} (folders in the FlashRAG layout, or PARALLELSEARCH_BENCHMARKS)`;
}

/**
 * All questions with their graphs, and the passages of all benchmarks. @throws Error
 * where a folder is missing
 */
async function loadBenchmarks(root = BENCHMARKS): Promise<DataSet> {
  const passages = new PassageCollector();
  const questions: Question[] = [];
  for (const [folder, benchmark] of Object.entries(FOLDERS))
    for await (const question of readFolder(join(root, folder), passages, benchmark))
      questions.push(question);
  const contents = [...passages.contents].map(([id, text]) => ({
    id,
    contents: text,
    ...splitContents(text),
  }));
  return { questions, passages: contents };
}

export interface RealWorld {
  retriever: Retriever;
  /** Training questions with graphs. */
  train: Question[];
  /** Others of the same kind, by which adapters are chosen. */
  dev: Question[];
  /** Of each benchmark as many as {@link numTest} says. */
  test: Question[];
}

const isAbout = (benchmarks: readonly string[]) => (question: Question) =>
  benchmarks.includes(question.metadata.benchmark!);

export async function loadRealWorld(root = BENCHMARKS): Promise<RealWorld> {
  const { questions, passages } = await loadBenchmarks(root);
  const shuffled = (name: string, some: readonly Question[]): Question[] =>
    createRandom(`real model/${name}`).shuffle(some);
  const ofSplit = (split: string): Question[] =>
    questions.filter((question) => question.split === split);
  const annotated = ofSplit('train').filter(
    (question) => isAbout(TRAINED_ON)(question) && question.metadata.graph?.length,
  );
  const dev = shuffled('dev', annotated.filter(isAbout(MULTI_HOP))).slice(0, NUM_DEV);
  const isDev = new Set(dev.map(({ id }) => id));
  return {
    retriever: await createRetriever(RETRIEVER.name, passages, RETRIEVER.options),
    train: annotated.filter(({ id }) => !isDev.has(id)),
    dev,
    test: Object.values(FOLDERS).flatMap((benchmark) =>
      shuffled(benchmark, ofSplit('test').filter(isAbout([benchmark]))).slice(
        0,
        numTest(benchmark),
      ),
    ),
  };
}

/**
 * The test questions that a run is asked. @param topK where passages per query are varied
 */
export const askedOf = ({ test }: Pick<RealWorld, 'test'>, topK?: number): Question[] =>
  topK === undefined
    ? test
    : MULTI_HOP.flatMap((name) => test.filter(isAbout([name])).slice(0, numTest(name, topK)));

/** Those that are timed: of either kind as many. */
export const timedOf = ({ test }: Pick<RealWorld, 'test'>): Question[] =>
  (['parallelizable', 'sequential'] as const).flatMap((shape) =>
    test
      .filter((question) => isAbout(MULTI_HOP)(question) && shapeOf(question) === shape)
      .slice(0, NUM_TIMED),
  );
