/**
 * The work that most experiments are made of: a run's policy answers all test questions,
 * greedily; those of dev before a test is drawn.
 */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { group } from 'd3-array';
import { answerQuestions, evaluatePolicy, createBatches } from '../evaluation/evaluate.js';
import { loadQuestions } from '../data/flashrag.js';
import {
  graphDepth,
  type Question,
  evaluatedQuestions,
  graphQuestionType,
} from '../data/question.js';
import type { Measurement, QuestionResult } from '../evaluation/result.js';
import { SMALL_WORLD } from '../io/paths.js';
import { type Provenance, configHash, contentHash } from '../io/provenance.js';
import { createRandom } from '../random.js';
import type { CurvePoint } from '../report/curves.js';
import {
  computation,
  type Computation,
  type Experiment,
  type Job,
  type WorkContext,
} from './experiment.js';
import { provenanceOf, requireResults } from './records.js';
import { requireFolders } from '../policy/model-files.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { RolloutConfig } from '../rollout/options.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { loadModel } from '../policy/model-folder.js';
import type { Policy } from '../policy/policy.js';
import { disposeWeights } from '../policy/weights.js';
import { createLookupPolicy } from './lookup.js';
import {
  adapterFolder,
  isTrained,
  loadPolicy,
  rolloutOf,
  runName,
  weightFolders,
  type PolicyRun,
} from '../training/checkpoints.js';
import { readDraw, type World } from '../retrieval/world.js';

const BATCH_SIZE = 128;
/** A wasm heap ends at 2 GB, and what is freed in it stays in pieces. */
const WASM_BATCH_SIZE = 16;
/** Questions answered side by side. */
export const evaluationBatchSize = (backend: string): number =>
  backend === 'wasm' ? WASM_BATCH_SIZE : BATCH_SIZE;

/**
 * What an evaluation of all questions takes on one core, roughly: for an estimate and
 * nothing else.
 */
const ROUGH_SECONDS = 240;

/** A run's answers. */
export interface Answers {
  run: PolicyRun;
  /** In the order of the evaluated questions. */
  measurements: Measurement[];
}

const DATA = ['passages.jsonl', 'questions.jsonl'].map((name) => join(SMALL_WORLD, name));

/** Identifies the small world's passages and questions. */
export const dataHash = (): Promise<string> => contentHash(DATA);

/**
 * Identifies what a run's policy would answer: changes with the rollout's settings, the
 * questions, the passages and the weights.
 */
export async function evaluationHash(run: PolicyRun): Promise<string> {
  const folders = weightFolders(run);
  requireFolders(folders);
  const files = folders.map((folder, i) =>
    join(folder, i === 0 ? 'model.safetensors' : 'adapter_model.safetensors'),
  );
  return configHash({ rollout: rolloutOf(run), inputs: await contentHash([...files, ...DATA]) });
}

/** A job for each run; experiments that share runs share its result. */
export const answerJobs = (runs: readonly PolicyRun[]): Promise<Job<PolicyRun>[]> =>
  Promise.all(
    runs.map(async (run) => ({
      key: `answers/${runName(run)}`,
      hash: await evaluationHash(run),
      input: run,
      seconds: ROUGH_SECONDS,
    })),
  );

/** The policy of a run, or the table that stands beside them. */
async function policyOf(run: PolicyRun, { questions, passages }: World): Promise<Policy> {
  if (run.method !== 'lookup') return loadPolicy(run);
  const { tokenizer, weights } = await loadModel(weightFolders(run)[0]);
  disposeWeights(weights);
  return createLookupPolicy(
    questions.filter(({ split }) => split === 'train'),
    passages,
    tokenizer,
  );
}

/** Who is asked what in a job. */
interface Asking {
  policy: Policy;
  retriever: Retriever;
  questions: readonly Question[];
  rollout: RolloutConfig;
  batchSize: number;
  /** What it returns is waited for. */
  onBatch?: (trajectories: readonly Trajectory[]) => unknown;
}

/**
 * Answers questions in batches of mixed kinds, each kept as it comes, those of an
 * earlier call first; in the order of the questions. Undefined where time ran out.
 */
export async function answerInBatches(
  { policy, retriever, questions, rollout, batchSize, onBatch }: Asking,
  { kept, keep, until, onFraction }: Pick<WorkContext, 'kept' | 'keep' | 'until' | 'onFraction'>,
): Promise<Measurement[] | undefined> {
  const known = byQuestion(kept as Measurement[][]);
  for (const batch of createRandom('batches').shuffle(createBatches(questions, batchSize))) {
    const left = batch.map((i) => questions[i]).filter(({ id }) => !known.has(id));
    if (left.length === 0) continue;
    if (performance.now() >= until) break;
    const measurements = await evaluatePolicy(policy, retriever, left, {
      rollout,
      batchSize,
      onBatch: (_, trajectories) => onBatch?.(trajectories),
    });
    measurements.forEach((measurement) => known.set(measurement.questionId, measurement));
    await keep(measurements);
    onFraction(known.size / questions.length);
  }
  policy.dispose?.();
  return known.size < questions.length ? undefined : questions.map(({ id }) => known.get(id)!);
}

/** A run's policy answers the evaluated questions of the small world. */
async function answerAll(run: PolicyRun, context: WorkContext): Promise<Answers | undefined> {
  const { backend, world } = context;
  const asking = {
    policy: await policyOf(run, world),
    retriever: world.retriever,
    questions: evaluatedQuestions(world.questions),
    rollout: rolloutOf(run),
    batchSize: evaluationBatchSize(backend),
  };
  const measurements = await answerInBatches(asking, context);
  return measurements && { run, measurements };
}

const byQuestion = (batches: readonly Measurement[][]): Map<string, Measurement> =>
  new Map(batches.flat().map((measurement) => [measurement.questionId, measurement]));

const isAlike = (a: Measurement, b: Measurement): boolean =>
  a.answer === b.answer && JSON.stringify(a.searches) === JSON.stringify(b.searches);

/**
 * A recorded run with the answers of now where there are any. @param kept batches of them
 */
export function mergeAnswers<Recorded extends { measurements: Measurement[] }>(
  recorded: Recorded,
  kept: readonly unknown[],
): { value: Recorded; note: string } {
  const { measurements } = recorded;
  const now = byQuestion(kept as Measurement[][]);
  const alike = measurements.filter(
    (m) => now.has(m.questionId) && isAlike(now.get(m.questionId)!, m),
  );
  const note = `${now.size} of ${measurements.length} questions answered now, ${alike.length} of them as recorded`;
  return {
    value: { ...recorded, measurements: measurements.map((m) => now.get(m.questionId) ?? m) },
    note,
  };
}

/**
 * What a run's policy is asked in a job, by which retriever and settings of its own, and
 * what is kept of each trajectory.
 */
interface Asked<T> {
  questions: readonly Question[];
  /** Default: that of the small world. */
  retriever?: Retriever;
  rollout?: Partial<RolloutConfig>;
  keep: (question: Question, trajectory: Trajectory) => T;
}

/** A run's policy answers some questions, greedily. */
export async function answerSample<T>(
  run: PolicyRun,
  { backend, world, onFraction }: WorkContext,
  { questions, retriever = world.retriever, rollout, keep }: Asked<T>,
): Promise<T[]> {
  const policy = await policyOf(run, world);
  const kept = await answerQuestions(policy, retriever, questions, {
    keep,
    rollout: { ...rolloutOf(run), ...rollout },
    batchSize: evaluationBatchSize(backend),
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose?.();
  return kept;
}

/**
 * The computation of an experiment that compares runs by their answers: those that have
 * been trained.
 */
export const answersOf = (
  runs: () => readonly PolicyRun[] | Promise<readonly PolicyRun[]>,
  more: Pick<Computation, 'prepare'> = {},
): Computation =>
  computation<PolicyRun, Answers>({
    ...more,
    jobs: async () => answerJobs((await runs()).filter((run) => isTrained(run))),
    work: answerAll,
    merged: mergeAnswers<Answers>,
  });

/** The training curves of the trained runs. @param methodOf names the method of a run */
async function readCurves(
  runs: readonly PolicyRun[],
  methodOf: (run: PolicyRun) => string,
): Promise<CurvePoint[]> {
  const curves: CurvePoint[] = [];
  for (const run of runs) {
    const path = join(adapterFolder(run), 'metrics.jsonl');
    if (!existsSync(path)) continue;
    for await (const line of createInterface({ input: createReadStream(path) })) {
      const { alarms: _, ...metrics } = JSON.parse(line) as { alarms: string[]; step: number };
      const { model, warmUp, seed } = run;
      curves.push({ method: methodOf(run), model, warmUp, seed, ...metrics });
    }
  }
  return curves;
}

/** All that reports read of answered runs. */
export interface AnsweredRuns {
  answers: QuestionResult[];
  curves: CurvePoint[];
  provenance: Provenance;
}

/**
 * Of each question of the small world: answers recorded before it was measured do not say
 * it.
 */
async function hopsOfQuestions(): Promise<Map<string, number>> {
  const questions = await loadQuestions();
  return new Map(questions.map(({ id, metadata: { graph = [] } }) => [id, graphDepth(graph)]));
}

/**
 * The answers and training curves of an experiment's runs.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 * @param methodOf names the method of a run in rows
 * @throws Error naming the command that computes what is missing
 */
export async function loadAnswers(
  experiment: Experiment,
  folder?: string,
  methodOf: (run: PolicyRun) => string = ({ method }) => method,
): Promise<AnsweredRuns> {
  const done = await requireResults<PolicyRun, Answers>(experiment, folder);
  const hops = await hopsOfQuestions();
  const answers = done.flatMap(({ record }) => {
    const { run, measurements } = record.value;
    const who = { method: methodOf(run), model: run.model, warmUp: run.warmUp, seed: run.seed };
    return measurements.map((measurement): QuestionResult => ({
      ...who,
      ...measurement,
      hops: hops.get(measurement.questionId),
    }));
  });
  const runs = done.map(({ job }) => job.input);
  return {
    answers,
    curves: await readCurves(runs, methodOf),
    provenance: provenanceOf(done, { ...seedsOf(runs), ...(await drawOf()) }),
  };
}

/**
 * The seeds that there are answers of, for the provenance: those of the warm-up and those
 * of reinforcement.
 */
export const seedsOf = (runs: readonly PolicyRun[]): Provenance => ({
  warmUps: [...new Set(runs.map(({ warmUp }) => warmUp))].sort(),
  seeds: [...new Set(runs.map(({ seed }) => seed))].sort(),
});

/** Which questions were asked, for the provenance. */
export async function drawOf(): Promise<Provenance> {
  const draw = await readDraw();
  return draw === null
    ? {
        questions:
          'dev, by some of which the adapters were chosen: no test has been drawn for these weights',
      }
    : { questions: 'test', testDrawnFrom: draw.commit };
}

/** How many there are, such as `46,520`. */
export const count = ({ length }: readonly unknown[]): string => length.toLocaleString('en');

export interface SampleOptions {
  /** One of so many questions of each benchmark and kind, rounded up. */
  oneOf: number;
  /** The same seed draws the same questions. */
  seed: string;
}

/** One of `oneOf` evaluated questions of each benchmark, shape and size of the graph. */
export function stratifiedSample(
  questions: readonly Question[],
  { oneOf, seed }: SampleOptions,
): Question[] {
  const strata = group(
    evaluatedQuestions(questions),
    ({ metadata: { benchmark, graph = [] } }) =>
      `${benchmark}/${graphQuestionType(graph)}/${graph.length}`,
  );
  return [...strata].flatMap(([stratum, members]) =>
    createRandom(`${seed}/${stratum}`)
      .shuffle(members)
      .slice(0, Math.ceil(members.length / oneOf)),
  );
}
