/**
 * Both editions of the language model on two fresh tests. The second edition was trained
 * by the exported PyTorch trainer; only its answers are computed here.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { labelTrajectory, type Behaviour } from '../../evaluation/behaviour.js';
import type { Measurement } from '../../evaluation/result.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { TRAIN_CONFIG_FILE } from '../../policy/folders/folder-settings.js';
import { loadLocalPolicy, makeWarmedUp } from '../../policy/folders/model-folder.js';
import { modelsFolder, READER, REAL_MODEL } from '../../policy/folders/trained-models.js';
import { rolloutSchema, type RolloutConfig } from '../../rollout/options.js';
import { METHODS } from '../../training/methods.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { answerBatches, mergeRecorded, openWorld, ROUGH_SECONDS } from './answering.js';
import {
  adapterPath,
  answeringAdapter,
  missingInputs,
  MODEL,
  realRollout,
  type RealRun,
  realRunName,
  type RealWorld,
  RETRIEVER,
  WARM_UP,
} from './settings.js';

export const EDITIONS = ['first', 'second'] as const;
export type Edition = (typeof EDITIONS)[number];

/** A run of an edition that answers the fresh questions. */
export interface FreshRun extends RealRun {
  edition: Edition;
}
/** Answers to the fresh questions, without their texts. */
export interface FreshAnswers {
  run: FreshRun;
  measurements: Measurement[];
}

/** A test, and the runs that answer it. */
export interface EditionsTest {
  /** Also the name of its experiment. */
  name: string;
  title: string;
  /** File in `data/reader` with the ids of its questions. */
  file: string;
  runs: readonly FreshRun[];
}

/** The first edition: the best prompt before RL, and the chosen seed after it. */
const FRESH: readonly FreshRun[] = [
  { edition: 'first', method: 'untrained:search-r1', seed: 1 },
  { edition: 'first', method: 'parallelsearch', seed: 2 },
  { edition: 'second', method: 'untrained:search-r1', seed: 1 },
  { edition: 'second', method: 'untrained:parallel', seed: 1 },
  { edition: 'second', method: 'parallelsearch', seed: 1 },
  { edition: 'second', method: 'parallelsearch', seed: 2 },
  { edition: 'second', method: 'search-r1', seed: 1 },
  { edition: 'second', method: 'search-r1', seed: 2 },
];

/** HotpotQA and 2WikiMultiHopQA: all questions left of one, a sample of the other. */
export const MULTI_HOP_TEST: EditionsTest = {
  name: 'real-model-fresh',
  title: 'both editions of a language model on fresh questions',
  file: 'questions.json',
  runs: FRESH,
};

/** A sample of the other benchmarks, see `npm run tools -- draw-others`. */
export const OTHERS_TEST: EditionsTest = {
  name: 'real-model-others',
  title: 'both editions of a language model on other benchmarks',
  file: 'others.json',
  runs: [
    { edition: 'first', method: 'untrained:search-r1', seed: 1 },
    { edition: 'second', method: 'r1', seed: 1 },
    ...FRESH.filter(({ edition }) => edition === 'second'),
  ],
};

/** How the second edition was trained, for the provenance. */
export const TRAINING = 'demonstrations, then GRPO, in PyTorch (export torch) on an NVIDIA H200';

/** The run before RL with the prompt of each method. */
const BEFORE_RL: Readonly<Record<string, string>> = {
  parallelsearch: 'untrained:parallel',
  'search-r1': 'untrained:search-r1',
};

/** Folders of each edition's warm-up and adapters. */
const FOLDERS: Readonly<Record<Edition, { root: string; warmUp: string; base: string }>> = {
  first: { root: REAL_MODEL, warmUp: adapterPath(WARM_UP, REAL_MODEL), base: 'warm-up' },
  second: { root: READER, warmUp: join(READER, 'warm-up'), base: 'reader' },
};

/** The folder of a run of the second edition. */
export const readerPath = (run: RealRun): string => adapterPath(run, READER);

/** The number of RL steps of such a run, whether or not they were kept. */
export const readerSteps = (run: RealRun): number =>
  (readJson(join(readerPath(run), TRAIN_CONFIG_FILE)) as { grpo: { steps: number } }).grpo.steps;

/** Whether no RL step was kept: the adapter is zero. */
function hasNoKeptStep(run: RealRun): boolean {
  const lines = readFileSync(join(readerPath(run), 'dev.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const points = lines.map((line) => JSON.parse(line) as { step: number; chosen: boolean });
  return points.some(({ step, chosen }) => chosen && step === 0);
}

/** The run whose weights answer: the one before RL if no step was kept. */
export function answeringRun(run: FreshRun): FreshRun {
  const before = BEFORE_RL[run.method];
  return run.edition === 'second' && before !== undefined && hasNoKeptStep(run)
    ? { ...run, method: before, seed: 1 }
    : run;
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

export const testFile = ({ file }: EditionsTest): string => join(READER, file);

function readQuestionIds(test: EditionsTest): string[] {
  const drawn = readJson(testFile(test)) as string[] | { questions: string[] };
  return Array.isArray(drawn) ? drawn : drawn.questions;
}

/** The rollout of the adapter's training, with the method's prompt. */
export function freshRollout({ edition, method, seed }: FreshRun): RolloutConfig {
  if (edition === 'first') return realRollout({ method, seed });
  const trained = readJson(join(READER, 'warm-up', TRAIN_CONFIG_FILE)) as { rollout: object };
  return rolloutSchema.parse({ ...trained.rollout, ...METHODS.get(method).rollout });
}

/** A hash of a run's weights, settings and questions. */
async function hashFresh(test: EditionsTest, run: FreshRun): Promise<string> {
  const { root, warmUp } = FOLDERS[run.edition];
  const folders = [warmUp, answeringAdapter(run, root)].flatMap((folder) => folder ?? []);
  const files = folders.map((folder) => join(folder, 'adapter_model.safetensors'));
  return configHash({
    rollout: freshRollout(run),
    retriever: RETRIEVER,
    questions: readQuestionIds(test),
    inputs: await contentHash(files),
  });
}

/** A run's name among the runs of both editions. */
export const freshName = (run: FreshRun): string => `${run.edition}-${realRunName(run)}`;

async function freshJob(test: EditionsTest, run: FreshRun): Promise<Job<FreshRun>> {
  const hash = await hashFresh(test, run);
  const seconds = ROUGH_SECONDS.batched * readQuestionIds(test).length;
  return { key: `${test.name}/${freshName(run)}`, hash, input: run, seconds };
}

/** @throws Error if the benchmarks are not the evaluated ones */
function findQuestions(test: EditionsTest, { fresh }: Pick<RealWorld, 'fresh'>) {
  const byId = new Map(fresh.map((question) => [question.id, question]));
  return readQuestionIds(test).map((id) => {
    const question = byId.get(id);
    if (!question)
      throw new Error(
        `Expected ${id} among the test questions that the first edition did not ask, but it is not there. Use the benchmarks that were asked (PARALLELSEARCH_BENCHMARKS).`,
      );
    return question;
  });
}

/** Answers a test greedily, and labels the behaviour. */
async function answerFresh(
  test: EditionsTest,
  run: FreshRun,
  context: WorkContext,
): Promise<FreshAnswers | undefined> {
  const world = await openWorld();
  const questions = findQuestions(test, world);
  const byId = new Map(questions.map((question) => [question.id, question]));
  const { root, warmUp, base } = FOLDERS[run.edition];
  const folder = join(modelsFolder(), `${basename(MODEL)}-${base}`);
  const model = await makeWarmedUp(MODEL, warmUp, folder);
  const labels = new Map<string, Behaviour>();
  return answerBatches(
    {
      run,
      name: `${test.name}-${freshName(run)}`,
      policy: await loadLocalPolicy(model, { adapter: answeringAdapter(run, root) }),
      retriever: world.retriever,
      questions,
      rollout: freshRollout(run),
      onTrajectory: (trajectory) => {
        const { questionId } = trajectory;
        labels.set(questionId, labelTrajectory(trajectory, byId.get(questionId)));
      },
    },
    {
      ...context,
      // Labels need the trajectory, which is not kept.
      keep: (batch) => {
        for (const answer of batch as Measurement[])
          answer.behaviour = labels.get(answer.questionId);
        return context.keep(batch);
      },
    },
  );
}

/** The answers to a test, for every run that does not reuse another's. */
const freshExperiment = (test: EditionsTest): Experiment => ({
  name: test.name,
  title: test.title,
  computation: defineComputation<FreshRun, FreshAnswers>({
    missing: missingInputs,
    jobs: () =>
      Promise.all(
        test.runs.filter((run) => answeringRun(run) === run).map((run) => freshJob(test, run)),
      ),
    work: (run, context) => answerFresh(test, run, context),
    merge: mergeRecorded,
  }),
});

export const realModelFresh = freshExperiment(MULTI_HOP_TEST);
export const realModelOthers = freshExperiment(OTHERS_TEST);
