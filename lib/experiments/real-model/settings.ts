/**
 * A language model on real questions: where model and benchmarks are stored, what is
 * trained, which questions are asked.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { range } from 'd3-array';
import { PassageCollector } from '../../data/formats/format.js';
import { readFolder } from '../../data/formats/read.js';
import { type Passage, splitContents } from '../../data/passage.js';
import { type Question, questionType } from '../../data/question.js';
import { packagePath } from '../../io/paths.js';
import { modelsFolder, REAL_MODEL, warmedUpFolder } from '../../policy/folders/trained-models.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import { rolloutSchema, type RolloutConfig } from '../../rollout/options.js';
import { parseTrainConfig, type TrainConfig } from '../../training/config.js';
import { mergeOverrides } from '../../training/overrides.js';
import { trainingPreset } from '../../training/presets.js';
import { BOTH_METHODS, METHODS, trainedBy } from '../../training/methods.js';

/** SmolLM2-135M-Instruct made by `parallelsearch model`, or `PARALLELSEARCH_MODEL`. */
export const MODEL =
  process.env.PARALLELSEARCH_MODEL || join(modelsFolder(), 'smollm2-135m-instruct');
/** Benchmarks in the FlashRAG format; the repository contains nothing of them. */
const BENCHMARKS = process.env.PARALLELSEARCH_BENCHMARKS || packagePath('benchmarks');
/** Adapters; those of another model belong in another folder. */
export const ADAPTERS = process.env.PARALLELSEARCH_ADAPTERS || REAL_MODEL;

const MODEL_NAME = `models/${basename(MODEL)}`;
const WORK_NAME = `runs/real-model/${basename(MODEL)}`;
/** Unfinished runs. */
export const WORK = packagePath(WORK_NAME);
/** The model with the warm-up's adapter merged in. */
export const INITIAL = warmedUpFolder(MODEL);
/** Full answers to read; they stay on this machine. */
export const TRANSCRIPTS = join(WORK, 'answers');

/** The benchmark in each folder of {@link BENCHMARKS}. */
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
/** Benchmarks whose annotations give dependency graphs. */
const TRAINED_ON = ['hotpotqa', '2wikimultihopqa', 'musique'];
/** Benchmarks that distinguish comparisons from chains; most evidence comes from them. */
export const MULTI_HOP = ['hotpotqa', '2wikimultihopqa'];

/** Passages per query. */
export const DEFAULT_TOP_K = 3;
/** Training questions held out to choose adapters. */
export const NUM_DEV = 48;
/** Maximum test questions of a benchmark; half with other numbers of passages. */
export function numTest(benchmark: string, topK = DEFAULT_TOP_K): number {
  if (topK !== DEFAULT_TOP_K) return 60;
  return MULTI_HOP.includes(benchmark) ? 120 : 40;
}
/** Concurrent questions in each of two processes; fewer within a time budget. */
export const [BATCH_SIZE, LIVE_BATCH_SIZE] = [48, 10];
/** The best retriever on these passages that needs no second model. */
export const RETRIEVER = { name: 'bm25', options: { titleWeight: 1, analyzer: 'english' } };

/** A method with a seed. The warm-up is a run, too. */
export interface RealRun {
  method: string;
  seed: number;
  /** Passages per query. Default: three. */
  topK?: number;
}

const UNTRAINED = ['r1', 'untrained:search-r1', 'untrained:parallel'];
const withSeedOne = (method: string): RealRun => ({ method, seed: 1 });

export const WARM_UP = withSeedOne('demonstrations');
/** RL runs from the same initial model. */
export const TRAINED: readonly RealRun[] = [1, 2].flatMap((seed) =>
  BOTH_METHODS.map((method) => ({ method, seed })),
);
export const ANSWERING: readonly RealRun[] = [...TRAINED, ...UNTRAINED.map(withSeedOne)];
/** Timed question by question, alternating. */
export const TIMED: readonly RealRun[] = BOTH_METHODS.map(withSeedOne);
/** Number of timed questions of each type. */
export const NUM_TIMED = 16;
/** {@link MULTI_HOP} with other numbers of passages. */
export const BY_TOP_K: readonly RealRun[] = [1, 5, 10].flatMap((topK) =>
  BOTH_METHODS.map((method) => ({ method, seed: 1, topK })),
);

export const realRunName = ({ method, seed, topK = DEFAULT_TOP_K }: RealRun): string =>
  [method.replace(':', '-'), ...(topK === DEFAULT_TOP_K ? [] : [`k${topK}`]), `seed${seed}`].join(
    '-',
  );

export const adapterPath = (run: RealRun, root = ADAPTERS): string => join(root, realRunName(run));

/** The adapter that a run answers with; undefined for the initial model itself. */
export function answeringAdapter({ method, seed }: RealRun, root = ADAPTERS): string | undefined {
  const trained = trainedBy(method);
  return trained === null ? undefined : adapterPath({ method: trained, seed }, root);
}

/** Whether a run's weights exist: the warm-up's, and its own if it has any. */
export const isRealRunTrained = (run: RealRun, root = ADAPTERS): boolean =>
  [adapterPath(WARM_UP, root), answeringAdapter(run, root)].every(
    (folder) => !folder || existsSync(folder),
  );

/** Share of the layers that are trained; no gradient goes below them. */
const UPPER_SHARE = 0.3;
/** The number of layers of the model; without a model folder, SmolLM2-135M's. */
function numLayers(): number {
  const file = join(MODEL, 'config.json');
  if (!existsSync(file)) return 30;
  const config = JSON.parse(readFileSync(file, 'utf8')) as { num_hidden_layers: number };
  return config.num_hidden_layers;
}
/** Small enough for the repository: adapters of 0.6 MB, and 0.4 MB per RL run. */
const WARM_UP_LORA = { rank: 1, alpha: 8 };
function reinforcedLora() {
  const layersToTransform = range(Math.round((1 - UPPER_SHARE) * numLayers()), numLayers());
  const targetModules = ['q_proj', 'k_proj', 'v_proj'];
  return { rank: 8, alpha: 16, targetModules, layersToTransform };
}
/**
 * At a third of this rate, the KL was below 0.006 after 13 of 30 steps. Temperature as in
 * the paper: at 0.7, 2 of 35 rollouts of comparisons were parallel after the warm-up, and
 * seven of eight of Search-R1's groups had nothing to learn from.
 */
const LEARNING_RATE = 3e-3;
const TEMPERATURE = 1;
/** A step takes minutes. */
const CHECKPOINT_EVERY = 1;
/**
 * Share of comparisons of two; the rest are chains. With half in RL, parallel rollouts
 * gained on comparisons what they lost on chains, and ParallelSearch decomposed fewer and
 * fewer questions over six steps.
 */
const COMPARISONS = { warmUp: 0.5, rl: 0.75 };

export function realConfig({ method, seed }: RealRun): TrainConfig {
  const isWarmUp = method === WARM_UP.method;
  // The name it was trained under, because a file's hash depends on it.
  const model = isWarmUp ? MODEL_NAME : `${WORK_NAME}/initial`;
  const preset = trainingPreset(method, model, seed, { scale: 'language-model' });
  const share = isWarmUp ? COMPARISONS.warmUp : COMPARISONS.rl;
  const mix = { singleHop: 0, sequential: 1 - share, comparisons: [share, 0, 0, 0] };
  const overrides = isWarmUp
    ? { lora: WARM_UP_LORA, demonstrations: { mix } }
    : {
        lora: reinforcedLora(),
        grpo: { mix, learningRate: LEARNING_RATE, temperature: TEMPERATURE },
        checkpointEvery: CHECKPOINT_EVERY,
      };
  return parseTrainConfig(
    mergeOverrides(preset, {
      rollout: { promptForm: 'chat' },
      retriever: RETRIEVER.name,
      ...RETRIEVER.options,
      ...overrides,
    }),
  );
}

export function realRollout({ method, topK = DEFAULT_TOP_K }: RealRun): RolloutConfig {
  const trained = realConfig(TRAINED[0]).rollout;
  return rolloutSchema.parse({ ...trained, ...METHODS.get(method).rollout, topK });
}

/** The missing model or benchmark, with the remedy; undefined if nothing is missing. */
export function missingInputs(model = MODEL, benchmarks = BENCHMARKS): string | undefined {
  if (!existsSync(join(model, 'config.json')))
    return `there is no model in ${model} (npx parallelsearch model smollm2-135m-instruct, or PARALLELSEARCH_MODEL)`;
  const folder = Object.keys(FOLDERS).find((name) => !existsSync(join(benchmarks, name)));
  if (folder === undefined) return undefined;
  return `there is no benchmark ${folder} in ${benchmarks} (folders in the FlashRAG layout, or PARALLELSEARCH_BENCHMARKS)`;
}

export interface RealWorld {
  passages: Passage[];
  retriever: Retriever;
  /** Training questions with graphs. */
  train: Question[];
  /** Held-out training questions, to choose adapters. */
  dev: Question[];
  /** A sample of each benchmark (see {@link numTest}). */
  test: Question[];
  /** The other test questions, which no run has been asked. */
  fresh: Question[];
}

const isFrom = (benchmarks: readonly string[]) => (question: Question) =>
  benchmarks.includes(question.metadata.benchmark!);

/** @throws Error if a benchmark's folder is missing */
export async function loadRealWorld(root = BENCHMARKS): Promise<RealWorld> {
  const collector = new PassageCollector();
  const questions: Question[] = [];
  for (const [folder, benchmark] of Object.entries(FOLDERS))
    for await (const question of readFolder(join(root, folder), collector, benchmark))
      questions.push(question);
  const passages = [...collector.contents].map(([id, contents]) => {
    return { id, contents, ...splitContents(contents) };
  });
  const sample = (name: string, pool: readonly Question[], size: number): Question[] =>
    createRandom(`real model/${name}`).shuffle(pool).slice(0, size);
  const test = questions.filter(({ split }) => split === 'test');
  const annotated = questions
    .filter(({ split, metadata }) => split === 'train' && metadata.graph?.length)
    .filter(isFrom(TRAINED_ON));
  const dev = sample('dev', annotated.filter(isFrom(MULTI_HOP)), NUM_DEV);
  const devIds = new Set(dev.map(({ id }) => id));
  const asked = Object.values(FOLDERS).flatMap((benchmark) =>
    sample(benchmark, test.filter(isFrom([benchmark])), numTest(benchmark)),
  );
  return {
    passages,
    retriever: await createRetriever(RETRIEVER.name, passages, RETRIEVER.options),
    train: annotated.filter(({ id }) => !devIds.has(id)),
    dev,
    test: asked,
    fresh: test.filter((question) => !asked.includes(question)),
  };
}

export const askedQuestions = ({ test }: Pick<RealWorld, 'test'>, topK?: number): Question[] =>
  topK === undefined
    ? test
    : MULTI_HOP.flatMap((name) => test.filter(isFrom([name])).slice(0, numTest(name, topK)));

/** The timed questions, equally many of both types. */
export const timedBenchmarkQuestions = ({ test }: Pick<RealWorld, 'test'>): Question[] =>
  ['parallelizable', 'sequential'].flatMap((type) =>
    test
      .filter((question) => isFrom(MULTI_HOP)(question) && questionType(question) === type)
      .slice(0, NUM_TIMED),
  );
