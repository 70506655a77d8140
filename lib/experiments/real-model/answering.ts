/**
 * A language model's answers and times on real questions, as jobs record them: the first
 * edition's to a test of its own, both editions' to two fresh tests. The second edition
 * was trained by the exported PyTorch trainer; only its answers are computed here.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { sum } from 'd3-array';
import type { Question } from '../../data/question.js';
import { labelTrajectory, type Behaviour } from '../../evaluation/behaviour.js';
import type { Measurement } from '../../evaluation/measurement.js';
import { appendText, makeFolder } from '../../io/files.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { ADAPTER_WEIGHTS, TRAIN_CONFIG_FILE } from '../../policy/folders/files.js';
import { loadLocalPolicy, makeWarmedUp } from '../../policy/folders/model-folder.js';
import type { PolicyFolders } from '../../policy/folders/policy-folders.js';
import { modelsFolder, READER, REAL_MODEL } from '../../policy/folders/trained-models.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import type { Policy } from '../../policy/policy.js';
import { rolloutSchema, type RolloutConfig } from '../../rollout/options.js';
import { formatTrajectory, type Trajectory } from '../../rollout/trajectory.js';
import { normalizeAnswer } from '../../text/answer-match.js';
import { METHODS } from '../../training/methods.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { answerInBatches, mergeAnswers, type Answers } from '../running/answers.js';
import type { Recorded } from '../running/records.js';
import { timeAnswers, type Contestant, type TimedAnswer } from '../timing.js';
import {
  adapterPath,
  ANSWERING,
  answeringAdapter,
  askedQuestions,
  BATCH_SIZE,
  BY_TOP_K,
  FOLDERS,
  INITIAL,
  isRealRunTrained,
  LIVE_BATCH_SIZE,
  loadRealWorld,
  missingInputs,
  MODEL,
  MULTI_HOP,
  NUM_TIMED,
  numTest,
  realRollout,
  realRunName,
  RETRIEVER,
  TIMED,
  timedBenchmarkQuestions,
  TRANSCRIPTS,
  WARM_UP,
  type RealRun,
  type RealWorld,
} from './settings.js';
import { makeInitialModel, realTraining } from './train.js';

/** Seconds per answer, in a batch with two processes and alone; for estimates only. */
const ROUGH_SECONDS = { batched: 5, alone: 8 };

/** There is one model and one warm-up. */
export const runFields = ({ method, seed }: RealRun) =>
  ({ method, model: 'instruct', initSeed: 1, seed }) as const;

/** A digest of a word or text. Different ones collide once in 65,536. */
const digest = (text: string): string =>
  createHash('sha256')
    .update(` ${normalizeAnswer(text)} `)
    .digest('hex')
    .slice(0, 4);

/** Replaces texts by digests: no benchmark text is kept, and metrics stay the same. */
export const withoutTexts = <T extends Measurement>(measurement: T): T => ({
  ...measurement,
  searches: measurement.searches.map((queries) => queries.map(digest)),
  answer: measurement.answer === null ? null : digest(measurement.answer),
});

/** Replaces recorded answers with new ones, without their texts. */
const mergeRecorded = <Run>(recorded: Answers<Run>, kept: readonly unknown[]) =>
  mergeAnswers(
    recorded,
    (kept as Measurement[][]).map((batch) => batch.map(withoutTexts)),
  );

const hashAdapters = (...folders: (string | undefined)[]): Promise<string> =>
  contentHash(folders.flatMap((folder) => (folder ? join(folder, ADAPTER_WEIGHTS) : [])));

const askedBenchmarks = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

const hashRealRun = async (run: RealRun): Promise<string> =>
  configHash({
    rollout: realRollout(run),
    retriever: RETRIEVER,
    numTest: askedBenchmarks(run).map((benchmark) => numTest(benchmark, run.topK)),
    inputs: await hashAdapters(adapterPath(WARM_UP), answeringAdapter(run)),
  });

let world: Promise<RealWorld> | undefined;
/** The benchmarks, loaded once per process. @throws Error naming what is missing */
export function openWorld(): Promise<RealWorld> {
  const missing = missingInputs();
  if (missing) throw new Error(`Expected a model and benchmarks, but ${missing}.`);
  return (world ??= loadRealWorld());
}

async function openPolicy(run: RealRun): Promise<LocalPolicy> {
  await makeInitialModel();
  return loadLocalPolicy(INITIAL, { adapter: answeringAdapter(run), name: realRunName(run) });
}

interface Answering {
  /** Name of the file with full transcripts, which stays on this machine. */
  name: string;
  policy: Policy;
  questions: readonly Question[];
  rollout: RolloutConfig;
  onTrajectory?: (trajectory: Trajectory) => void;
}

/** Answers questions greedily, keeping no texts; undefined if time ran out. */
export async function answerBatches<Run extends RealRun>(
  run: Run,
  { name, onTrajectory, ...asking }: Answering,
  context: WorkContext,
): Promise<Answers<Run> | undefined> {
  const { retriever } = await openWorld();
  const file = join(TRANSCRIPTS, `${name}.jsonl`);
  await makeFolder(TRANSCRIPTS);
  const batchSize = Number.isFinite(context.until) ? LIVE_BATCH_SIZE : BATCH_SIZE;
  const onBatch = (trajectories: readonly Trajectory[]): Promise<void> => {
    if (onTrajectory) trajectories.forEach(onTrajectory);
    const lines = trajectories.map((one) => formatTrajectory({ ...run, ...one }));
    return appendText(file, lines.join(''));
  };
  const options = { ...asking, retriever, batchSize, onBatch };
  const measurements = await answerInBatches(options, context);
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

async function answerBenchmarks(
  run: RealRun,
  context: WorkContext,
): Promise<Answers<RealRun> | undefined> {
  const start = performance.now();
  const questions = askedQuestions(await openWorld(), run.topK);
  const policy = await openPolicy(run);
  const asking = { name: realRunName(run), policy, questions, rollout: realRollout(run) };
  // Loading does not count: on a busy machine it takes longer than the budget.
  const until = context.until + performance.now() - start;
  return answerBatches(run, asking, { ...context, until });
}

const answeringJob = async (run: RealRun): Promise<Job<RealRun>> => ({
  key: `real-model/${realRunName(run)}`,
  hash: await hashRealRun(run),
  input: run,
  seconds: ROUGH_SECONDS.batched * sum(askedBenchmarks(run), (name) => numTest(name, run.topK)),
});

export const realModelComputation = defineComputation<RealRun, Answers<RealRun>>({
  missing: missingInputs,
  prepare: realTraining,
  work: answerBenchmarks,
  jobs: () =>
    Promise.all(
      [...ANSWERING, ...BY_TOP_K].filter((run) => isRealRunTrained(run)).map(answeringJob),
    ),
  merge: mergeRecorded,
});

async function timeRuns(
  runs: readonly RealRun[],
  { onFraction }: WorkContext,
): Promise<Recorded<TimedAnswer>> {
  const { retriever, ...splits } = await openWorld();
  const contestants: Contestant[] = [];
  for (const run of runs) {
    const policy = await openPolicy(run);
    contestants.push({ run: runFields(run), policy, rollout: realRollout(run) });
  }
  const questions = timedBenchmarkQuestions(splits);
  const answers = await timeAnswers(contestants, retriever, questions, { onFraction });
  return { answers: answers.map(withoutTexts) };
}

/** Times depend on the machine, which the provenance names. */
export const realModelTiming: Experiment = {
  name: 'real-model-timing',
  title: 'seconds per real question, methods alternating',
  computation: defineComputation<readonly RealRun[], Recorded<TimedAnswer>>({
    missing: missingInputs,
    processes: 1,
    threads: 2,
    work: timeRuns,
    jobs: async () => {
      if (!TIMED.every((run) => isRealRunTrained(run))) return [];
      const runs = await Promise.all(TIMED.map(hashRealRun));
      const hash = configHash({ numTimed: NUM_TIMED, runs });
      const seconds = ROUGH_SECONDS.alone * 2 * NUM_TIMED * TIMED.length;
      return [{ key: 'real-model-timing/seeds-1', hash, input: TIMED, seconds }];
    },
  }),
};

/** `none`: the model without training, within the limits of the second edition. */
export type Edition = 'none' | 'first' | 'second';

/** A run of an edition that answers the fresh questions. */
export interface FreshRun extends RealRun {
  edition: Edition;
}

export interface EditionsTest {
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
export const MULTI_HOP_TEST: EditionsTest = { file: 'questions.json', runs: FRESH };

/** A sample of the other benchmarks, see `npm run tools -- draw-others`. */
export const OTHERS_TEST: EditionsTest = {
  file: 'others.json',
  runs: [
    { edition: 'first', method: 'untrained:search-r1', seed: 1 },
    { edition: 'second', method: 'r1', seed: 1 },
    ...FRESH.filter(({ edition }) => edition === 'second'),
  ],
};

/** The run before RL with the prompt of each method. */
const BEFORE_RL: Readonly<Record<string, string>> = {
  parallelsearch: 'untrained:parallel',
  'search-r1': 'untrained:search-r1',
};

/** Folders of each edition's warm-up and adapters. */
const EDITIONS = {
  first: { root: REAL_MODEL, warmUp: adapterPath(WARM_UP, REAL_MODEL), base: 'warm-up' },
  second: { root: READER, warmUp: join(READER, 'warm-up'), base: 'reader' },
};

async function hashEdition(run: FreshRun): Promise<string> {
  if (run.edition === 'none') return 'none';
  const { root, warmUp } = EDITIONS[run.edition];
  return hashAdapters(warmUp, answeringAdapter(run, root));
}

/** Builds the model of an edition if it is missing; returns it and the run's adapter. */
export async function makeEdition(run: FreshRun): Promise<PolicyFolders> {
  if (run.edition === 'none') return { model: MODEL };
  const { root, warmUp, base } = EDITIONS[run.edition];
  const folder = join(modelsFolder(), `${basename(MODEL)}-${base}`);
  const model = await makeWarmedUp(MODEL, warmUp, folder);
  return { model, adapter: answeringAdapter(run, root) };
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

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

export const freshName = (run: FreshRun): string => `${run.edition}-${realRunName(run)}`;

/** @throws Error if the benchmarks are not the evaluated ones */
export function findQuestions(test: EditionsTest, { fresh }: Pick<RealWorld, 'fresh'>) {
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
  { run, name }: { run: FreshRun; name: string },
  context: WorkContext,
): Promise<Answers<FreshRun> | undefined> {
  const questions = findQuestions(test, await openWorld());
  const byId = new Map(questions.map((question) => [question.id, question]));
  const { model, adapter } = await makeEdition(run);
  const policy = await loadLocalPolicy(model, { adapter });
  const labels = new Map<string, Behaviour>();
  const onTrajectory = (trajectory: Trajectory): void => {
    const { questionId } = trajectory;
    labels.set(questionId, labelTrajectory(trajectory, byId.get(questionId)));
  };
  // Labels need the trajectory, which is not kept.
  const keep = (batch: unknown): Promise<void> => {
    for (const answer of batch as Measurement[]) answer.behaviour = labels.get(answer.questionId);
    return context.keep(batch);
  };
  const asking = { name, policy, questions, rollout: freshRollout(run), onTrajectory };
  return answerBatches(run, asking, { ...context, keep });
}

interface FreshExperiment extends Pick<Experiment, 'name' | 'title'> {
  test: EditionsTest;
  /** Estimated seconds per answer. */
  secondsEach: number;
  work: (run: FreshRun, context: WorkContext) => Promise<Answers<FreshRun> | undefined>;
}

/** A job for every run that does not reuse another's answers. */
export function freshExperiment({
  name,
  title,
  test,
  secondsEach,
  work,
}: FreshExperiment): Experiment {
  const listJob = async (run: FreshRun): Promise<Job<FreshRun>> => {
    const questions = readQuestionIds(test);
    const inputs = await hashEdition(run);
    return {
      key: `${name}/${freshName(run)}`,
      hash: configHash({ rollout: freshRollout(run), retriever: RETRIEVER, questions, inputs }),
      input: run,
      seconds: secondsEach * questions.length,
    };
  };
  const computation = defineComputation<FreshRun, Answers<FreshRun>>({
    missing: missingInputs,
    jobs: () => Promise.all(test.runs.filter((run) => answeringRun(run) === run).map(listJob)),
    work,
    merge: mergeRecorded,
  });
  return { name, title, computation };
}

const answeringExperiment = (name: string, title: string, test: EditionsTest): Experiment =>
  freshExperiment({
    name,
    title,
    test,
    secondsEach: ROUGH_SECONDS.batched,
    work: (run, context) => answerFresh(test, { run, name: `${name}-${freshName(run)}` }, context),
  });

export const realModelFresh = answeringExperiment(
  'real-model-fresh',
  'both editions of a language model on fresh questions',
  MULTI_HOP_TEST,
);
export const realModelOthers = answeringExperiment(
  'real-model-others',
  'both editions of a language model on other benchmarks',
  OTHERS_TEST,
);
