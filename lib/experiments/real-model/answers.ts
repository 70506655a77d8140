/**
 * Who answers the real model's test questions: all of them in batches, or a few one at a
 * time to see how long they take.
 */
import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from 'd3-array';
import type { Measurement } from '../../evaluation/result.js';
import { configHash, contentHash } from '../../io/hash.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { loadLocalPolicy } from '../../policy/policies.js';
import { wordsOf } from '../../rewards/coverage.js';
import { printTrajectory, type Trajectory } from '../../rollout/trajectory.js';
import { answerInBatches, mergeAnswers } from '../answers.js';
import { computation, type Computation, type Job, type WorkContext } from '../experiment.js';
import { timeAnswers, type TimedAnswer } from '../timing/experiment.js';
import { askedOf, loadRealWorld, missingInputs, timedOf, type RealWorld } from './data.js';
import {
  adapterOf,
  ANSWERING,
  BATCH_SIZE,
  BATCH_SIZE_FOR_A_WHILE,
  BY_TOP_K,
  FOLDERS,
  INITIAL,
  isThere,
  MULTI_HOP,
  NUM_TIMED,
  numTest,
  realRolloutOf,
  realRunName,
  RETRIEVER,
  TIMED,
  TRANSCRIPTS,
  WARM_UP,
  weightsOf,
  type RealRun,
} from './settings.js';
import { makeInitialModel, realTraining } from './train.js';

/** A run's answers to the test questions, without their texts. */
export interface RealAnswers {
  run: RealRun;
  measurements: Measurement[];
}

/** Answers to single questions with the seconds that each took, without their texts. */
export interface RealTimes {
  answers: TimedAnswer[];
}

/**
 * What an answer takes, roughly, on one core among others and on two alone: for an
 * estimate and nothing else.
 */
const SECONDS_A_QUESTION = { among: 5, alone: 8 };

/** The model is one; its warm-up is the only one. */
export const whoOf = ({ method, seed }: RealRun) =>
  ({ method, model: 'instruct', warmUp: 1, seed }) as const;

/**
 * Equal words have equal digests, other words only once in 65,536, and nothing of the
 * benchmarks is told.
 */
const digest = (text: string): string =>
  createHash('sha256').update(wordsOf(text)).digest('hex').slice(0, 4);

/**
 * A measurement in which texts are digests: nothing of the benchmarks is kept, and what
 * is counted stays the same.
 */
export const withoutTexts = <T extends Measurement>(measurement: T): T => ({
  ...measurement,
  searches: measurement.searches.map((queries) => queries.map(digest)),
  answer: measurement.answer === null ? null : digest(measurement.answer),
});

/** The benchmarks that a run is asked. */
const asksOf = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

/**
 * Identifies what a run would answer: its weights, how it is asked, and how many
 * questions.
 */
async function hashOf(run: RealRun): Promise<string> {
  const adapters = [adapterOf(WARM_UP), weightsOf(run)].flatMap((folder) => folder ?? []);
  const files = adapters.map((folder) => join(folder, 'adapter_model.safetensors'));
  const counts = asksOf(run).map((benchmark) => numTest(benchmark, run.topK));
  const asked = { rollout: realRolloutOf(run), retriever: RETRIEVER, numTest: counts };
  return configHash({ ...asked, inputs: await contentHash(files) });
}

let world: Promise<RealWorld> | undefined;
/** The benchmarks, loaded once for each process. @throws Error naming what is missing */
function openWorld(): Promise<RealWorld> {
  const missing = missingInputs();
  if (missing) throw new Error(`Expected a model and benchmarks, but ${missing}.`);
  return (world ??= loadRealWorld());
}

async function policyOf(run: RealRun): Promise<LocalPolicy> {
  await makeInitialModel();
  return loadLocalPolicy(INITIAL, { adapter: weightsOf(run), name: realRunName(run) });
}

/**
 * A run's policy answers its questions, greedily; what it wrote and read is left on this
 * machine, to read.
 */
async function answerAll(run: RealRun, context: WorkContext): Promise<RealAnswers | undefined> {
  const begun = performance.now();
  const { retriever, ...splits } = await openWorld();
  const file = join(TRANSCRIPTS, `${realRunName(run)}.jsonl`);
  await mkdir(TRANSCRIPTS, { recursive: true });
  const asking = {
    policy: await policyOf(run),
    retriever,
    questions: askedOf(splits, run.topK),
    rollout: realRolloutOf(run),
    batchSize: Number.isFinite(context.until) ? BATCH_SIZE_FOR_A_WHILE : BATCH_SIZE,
    onBatch: (trajectories: readonly Trajectory[]) =>
      appendFile(file, trajectories.map((one) => printTrajectory({ ...run, ...one })).join('')),
  };
  // Loading does not count: on a busy machine it takes longer than there is.
  const until = context.until + performance.now() - begun;
  const measurements = await answerInBatches(asking, { ...context, until });
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

const jobOf = async (run: RealRun): Promise<Job<RealRun>> => ({
  key: `real-model/${realRunName(run)}`,
  hash: await hashOf(run),
  input: run,
  seconds: SECONDS_A_QUESTION.among * sum(asksOf(run), (benchmark) => numTest(benchmark, run.topK)),
});

const LANGUAGE_MODEL = { oneDnn: true, missing: missingInputs };

export const answering: Computation = computation<RealRun, RealAnswers>({
  ...LANGUAGE_MODEL,
  prepare: realTraining,
  work: answerAll,
  jobs: () => Promise.all([...ANSWERING, ...BY_TOP_K].filter((run) => isThere(run)).map(jobOf)),
  merged: (recorded, kept) =>
    mergeAnswers(
      recorded,
      (kept as Measurement[][]).map((batch) => batch.map(withoutTexts)),
    ),
});

/** Both methods answer the same single questions in turn. */
async function answerAlone(
  runs: readonly RealRun[],
  { onFraction }: WorkContext,
): Promise<RealTimes> {
  const { retriever, ...splits } = await openWorld();
  const questions = timedOf(splits);
  const contestants = [];
  for (const run of runs)
    contestants.push({ run: whoOf(run), policy: await policyOf(run), rollout: realRolloutOf(run) });
  const onAnswer = (done: number): void => onFraction(done / (questions.length * runs.length));
  const answers = await timeAnswers(contestants, retriever, questions, { onAnswer });
  contestants.forEach(({ policy }) => policy.dispose());
  return { answers: answers.map(withoutTexts) };
}

export const timing: Computation = computation<readonly RealRun[], RealTimes>({
  ...LANGUAGE_MODEL,
  processes: 1,
  threads: 2,
  work: answerAlone,
  jobs: async () => {
    if (!TIMED.every((run) => isThere(run))) return [];
    const hash = configHash({ numTimed: NUM_TIMED, runs: await Promise.all(TIMED.map(hashOf)) });
    const seconds = SECONDS_A_QUESTION.alone * 2 * NUM_TIMED * TIMED.length;
    return [{ key: 'real-model-timing/seeds-1', hash, input: TIMED, seconds }];
  },
});
