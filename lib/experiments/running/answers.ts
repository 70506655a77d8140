/**
 * The jobs of most experiments: a run's policy greedily answers all test questions, or
 * dev questions before a test is drawn.
 */
import { join } from 'node:path';
import { evaluatedQuestions, type Question } from '../../data/question.js';
import { mapAnswers, evaluatePolicy, createBatches } from '../../evaluation/evaluate.js';
import type { Measurement } from '../../evaluation/measurement.js';
import { SMALL_WORLD } from '../../io/paths.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { loadModel } from '../../policy/folders/model-folder.js';
import {
  committedWeights,
  listFolders,
  requireFolders,
} from '../../policy/folders/policy-folders.js';
import { disposeWeights } from '../../policy/model/weights.js';
import type { Policy } from '../../policy/policy.js';
import { createRandom } from '../../random.js';
import type { Retriever } from '../../retrieval/retriever.js';
import type { World } from '../../retrieval/small-world.js';
import type { RolloutConfig } from '../../rollout/options.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { defineComputation, type Computation, type Job, type WorkContext } from '../experiment.js';
import { createLookupPolicy } from './lookup.js';
import {
  isTrained,
  loadPolicy,
  rolloutForRun,
  runName,
  weightFolders,
  type PolicyRun,
} from './policy-runs.js';

const BATCH_SIZE = 128;
/** A wasm heap is limited to 2 GB, and fragments. */
const WASM_BATCH_SIZE = 16;
export const evaluationBatchSize = (backend: string): number =>
  backend === 'wasm' ? WASM_BATCH_SIZE : BATCH_SIZE;

/** Rough duration of an evaluation on one core, for estimates only. */
const ROUGH_SECONDS = 240;

/** A run with its answers, as recorded. */
export interface Answers<Run = PolicyRun> {
  run: Run;
  /** In the order of the evaluated questions. */
  measurements: Measurement[];
}

const DATA = ['passages.jsonl', 'questions.jsonl'].map((name) => join(SMALL_WORLD, name));

/** A hash of the small world's passages and questions. */
export const dataHash = (): Promise<string> => contentHash(DATA);

/** A hash of everything that answers depend on: rollout, questions, passages, weights. */
export async function evaluationHash(run: PolicyRun): Promise<string> {
  const folders = weightFolders(run);
  requireFolders(listFolders(folders));
  return configHash({
    rollout: rolloutForRun(run),
    inputs: await contentHash([...committedWeights(folders), ...DATA]),
  });
}

/** Loads the policy of a run; the lookup table has no weights. */
async function openPolicy(run: PolicyRun, { questions, passages }: World): Promise<Policy> {
  if (run.method !== 'lookup') return loadPolicy(run);
  const { tokenizer, weights } = await loadModel(weightFolders(run).model);
  disposeWeights(weights);
  return createLookupPolicy(
    questions.filter(({ split }) => split === 'train'),
    passages,
    tokenizer,
  );
}

interface BatchOptions {
  policy: Policy;
  retriever: Retriever;
  questions: readonly Question[];
  rollout: RolloutConfig;
  batchSize: number;
  /** Awaited after each batch. */
  onBatch?: (trajectories: readonly Trajectory[]) => unknown;
}

/**
 * Answers questions in batches of mixed types, keeping each batch; resumes after kept
 * ones. Returns measurements in the order of the questions, or undefined if time ran out.
 */
export async function answerInBatches(
  { policy, retriever, questions, rollout, batchSize, onBatch }: BatchOptions,
  { kept, keep, until, onFraction }: Pick<WorkContext, 'kept' | 'keep' | 'until' | 'onFraction'>,
): Promise<Measurement[] | undefined> {
  const answered = byQuestion(kept);
  for (const batch of createRandom('batches').shuffle(createBatches(questions, batchSize))) {
    const left = batch.map((i) => questions[i]).filter(({ id }) => !answered.has(id));
    if (left.length === 0) continue;
    if (performance.now() >= until) break;
    const measurements = await evaluatePolicy(policy, retriever, left, {
      rollout,
      batchSize,
      onBatch: (_, trajectories) => onBatch?.(trajectories),
    });
    measurements.forEach((measurement) => answered.set(measurement.questionId, measurement));
    await keep(measurements);
    onFraction(answered.size / questions.length);
  }
  policy.dispose?.();
  return answered.size < questions.length
    ? undefined
    : questions.map(({ id }) => answered.get(id)!);
}

async function answerWorld(run: PolicyRun, context: WorkContext): Promise<Answers | undefined> {
  const { backend, world } = context;
  const measurements = await answerInBatches(
    {
      policy: await openPolicy(run, world),
      retriever: world.retriever,
      questions: evaluatedQuestions(world.questions),
      rollout: rolloutForRun(run),
      batchSize: evaluationBatchSize(backend),
    },
    context,
  );
  return measurements && { run, measurements };
}

const byQuestion = (batches: readonly unknown[]): Map<string, Measurement> =>
  new Map((batches as Measurement[][]).flat().map((one) => [one.questionId, one]));

const isSame = (a: Measurement, b?: Measurement): boolean =>
  a.answer === b?.answer && JSON.stringify(a.searches) === JSON.stringify(b.searches);

/** Replaces recorded answers with new ones. @param kept batches of new measurements */
export function mergeAnswers<Value extends { measurements: Measurement[] }>(
  recorded: Value,
  kept: readonly unknown[],
): { value: Value; note: string } {
  const now = byQuestion(kept);
  const same = recorded.measurements.filter((one) => isSame(one, now.get(one.questionId)));
  const measurements = recorded.measurements.map((one) => now.get(one.questionId) ?? one);
  const note = `${now.size} of ${measurements.length} questions re-evaluated, ${same.length} with the recorded answer`;
  return { value: { ...recorded, measurements }, note };
}

interface SampleJob<T> {
  questions: readonly Question[];
  /** Default: the small world's. */
  retriever?: Retriever;
  rollout?: Partial<RolloutConfig>;
  /** Converts a trajectory to a result. */
  keep: (question: Question, trajectory: Trajectory) => T;
}

export async function answerSample<T>(
  run: PolicyRun,
  { backend, world, onFraction }: WorkContext,
  { questions, retriever = world.retriever, rollout, keep }: SampleJob<T>,
): Promise<T[]> {
  const policy = await openPolicy(run, world);
  const kept = await mapAnswers(policy, retriever, questions, {
    toResult: keep,
    rollout: { ...rolloutForRun(run), ...rollout },
    batchSize: evaluationBatchSize(backend),
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose?.();
  return kept;
}

/**
 * Lists a job per trained run. @param options.hash maps an evaluation's hash to a job's
 */
export function listRunJobs(
  runs: readonly PolicyRun[],
  options: { name: string; seconds: number; hash?: (evaluation: string) => string },
): Promise<Job<PolicyRun>[]> {
  const { name, seconds, hash = (evaluation) => evaluation } = options;
  const jobs = runs
    .filter((run) => isTrained(run))
    .map(async (run) => {
      const key = `${name}/${runName(run)}`;
      return { key, hash: hash(await evaluationHash(run)), input: run, seconds };
    });
  return Promise.all(jobs);
}

/**
 * Defines the computation of an experiment that compares trained runs by their answers.
 * It has a job per run; experiments that share runs share the records.
 */
export const answerComputation = (
  runs: () => readonly PolicyRun[],
  prepare?: Computation['prepare'],
): Computation =>
  defineComputation<PolicyRun, Answers>({
    prepare,
    jobs: () => listRunJobs(runs(), { name: 'answers', seconds: ROUGH_SECONDS }),
    work: answerWorld,
    merge: mergeAnswers<Answers>,
  });
