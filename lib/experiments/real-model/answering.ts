/** A language model's answers and times on real questions, as jobs record them. */
import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from 'd3-array';
import type { Question } from '../../data/question.js';
import type { Measurement } from '../../evaluation/result.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { loadLocalPolicy } from '../../policy/folders/model-folder.js';
import { formatTrajectory, type Trajectory } from '../../rollout/trajectory.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { RolloutConfig } from '../../rollout/options.js';
import { answerInBatches, mergeAnswers } from '../running/answers.js';
import { type Job, type WorkContext } from '../experiment.js';
import { timeAnswers, type Contestant, type TimedAnswer } from '../timing.js';
import {
  adapterPath,
  answeringAdapter,
  askedQuestions,
  BATCH_SIZE,
  FOLDERS,
  INITIAL,
  LIVE_BATCH_SIZE,
  loadRealWorld,
  missingInputs,
  MULTI_HOP,
  numTest,
  realRollout,
  realRunName,
  RETRIEVER,
  timedQuestions,
  TRANSCRIPTS,
  WARM_UP,
  type RealRun,
  type RealWorld,
} from './settings.js';
import { makeInitialModel } from './train.js';
import { normalizeAnswer } from '../../text/answer-match.js';
import { configHash, contentHash } from '../../io/provenance.js';

/** Answers to the test questions, without the benchmarks' texts. */
export interface RecordedAnswers {
  run: RealRun;
  measurements: Measurement[];
}
export interface RecordedTimes {
  answers: TimedAnswer[];
}

/** Seconds per answer, in a batch with two processes and alone; for estimates only. */
export const ROUGH_SECONDS = { batched: 5, alone: 8 };

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
export const mergeRecorded = <Recorded extends { measurements: Measurement[] }>(
  recorded: Recorded,
  kept: readonly unknown[],
): { value: Recorded; note: string } =>
  mergeAnswers(
    recorded,
    (kept as Measurement[][]).map((batch) => batch.map(withoutTexts)),
  );

const askedBenchmarks = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

/** A hash of a run's weights, settings and number of questions. */
export async function hashRun(run: RealRun): Promise<string> {
  const adapters = [adapterPath(WARM_UP), answeringAdapter(run)].flatMap((folder) => folder ?? []);
  const files = adapters.map((folder) => join(folder, 'adapter_model.safetensors'));
  return configHash({
    rollout: realRollout(run),
    retriever: RETRIEVER,
    numTest: askedBenchmarks(run).map((benchmark) => numTest(benchmark, run.topK)),
    inputs: await contentHash(files),
  });
}

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

interface Asking<Run> {
  run: Run;
  /** Name of the file with full transcripts, which stays on this machine. */
  name: string;
  policy: LocalPolicy;
  retriever: Retriever;
  questions: readonly Question[];
  rollout: RolloutConfig;
  onTrajectory?: (trajectory: Trajectory) => void;
}

/** Answers questions greedily, keeping no texts; undefined if time ran out. */
export async function answerBatches<Run extends object>(
  { run, name, onTrajectory, ...asking }: Asking<Run>,
  context: WorkContext,
): Promise<{ run: Run; measurements: Measurement[] } | undefined> {
  const file = join(TRANSCRIPTS, `${name}.jsonl`);
  await mkdir(TRANSCRIPTS, { recursive: true });
  const measurements = await answerInBatches(
    {
      ...asking,
      batchSize: Number.isFinite(context.until) ? LIVE_BATCH_SIZE : BATCH_SIZE,
      onBatch: (trajectories) => {
        if (onTrajectory) trajectories.forEach(onTrajectory);
        return appendFile(
          file,
          trajectories.map((one) => formatTrajectory({ ...run, ...one })).join(''),
        );
      },
    },
    context,
  );
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

/** Answers a run's questions greedily. */
export async function answerAll(
  run: RealRun,
  context: WorkContext,
): Promise<RecordedAnswers | undefined> {
  const start = performance.now();
  const { retriever, ...splits } = await openWorld();
  const asking = {
    run,
    name: realRunName(run),
    policy: await openPolicy(run),
    retriever,
    questions: askedQuestions(splits, run.topK),
    rollout: realRollout(run),
  };
  // Loading does not count: on a busy machine it takes longer than the budget.
  const until = context.until + performance.now() - start;
  return answerBatches(asking, { ...context, until });
}

export const answeringJob = async (run: RealRun): Promise<Job<RealRun>> => ({
  key: `real-model/${realRunName(run)}`,
  hash: await hashRun(run),
  input: run,
  seconds: ROUGH_SECONDS.batched * sum(askedBenchmarks(run), (name) => numTest(name, run.topK)),
});

export async function timeRuns(
  runs: readonly RealRun[],
  { onFraction }: WorkContext,
): Promise<RecordedTimes> {
  const { retriever, ...splits } = await openWorld();
  const contestants: Contestant[] = [];
  for (const run of runs) {
    const policy = await openPolicy(run);
    contestants.push({ run: runFields(run), policy, rollout: realRollout(run) });
  }
  const questions = timedQuestions(splits);
  const answers = await timeAnswers(contestants, retriever, questions, { onFraction });
  return { answers: answers.map(withoutTexts) };
}
