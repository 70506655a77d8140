/** Evaluates runs at given steps, once, on questions sampled after their training. */
import { join } from 'node:path';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import type { MethodPair, TidyContrast, TidyRow } from '../../evaluation/table.js';
import { CONDITIONS } from '../../io/paths.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { committedWeights, type PolicyFolders } from '../../policy/folders/policy-folders.js';
import { loadLocalPolicy } from '../../policy/folders/model-folder.js';
import { gaveUp } from '../../rewards/sub-questions.js';
import type { RolloutConfig } from '../../rollout/options.js';
import { trainerSettings } from '../../training/config.js';
import { BOTH_METHODS } from '../../training/methods.js';
import {
  runName,
  isTrained,
  RESERVE_PER_TURN,
  rolloutForRun,
  trainConfigForRun,
  weightFolders,
  type PolicyRun,
} from '../running/policy-runs.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { isShown } from '../results/judged-predictions.js';
import { splitNames, summarise } from '../results/summary.js';
import { dataHash, evaluationBatchSize } from '../running/answers.js';
import { freshTestHash, readFreshTest, type FreshTest } from '../running/fresh-test.js';
import { requireResults, type Done, type Recorded } from '../running/records.js';
import { identify, instructRuns, stepFolder } from '../running/runs.js';
import { planTraining } from '../running/train-runs.js';
import { NEAR_MISSES, withNearMisses } from './near-misses.js';

/** A run at an RL step. */
export interface Stage {
  run: PolicyRun;
  step: number;
  /** Passages per query. Default: the run's. */
  topK?: number;
}
/** A file name, such as `instruct-2-parallelsearch-seed1-step200`. */
const stageName = ({ run, step, topK }: Stage): string =>
  `${runName(run)}-step${step}${topK ? `-top${topK}` : ''}`;

const stageRollout = ({ run, topK }: Stage): RolloutConfig => ({
  ...rolloutForRun(run),
  ...(topK && { topK, reservePerTurn: RESERVE_PER_TURN }),
});

/** Folders of the model, and of the adapter at this step; at the last, the best one. */
function stageFolders({ run, step }: Stage): PolicyFolders {
  const { model, adapter } = weightFolders(run);
  if (step === 0 || adapter === undefined) return { model };
  const { steps } = trainerSettings(trainConfigForRun(run));
  return { model, adapter: step < steps ? join(adapter, stepFolder(step)) : adapter };
}

async function answerFreshTest(
  test: TrainingTestSpec,
  stage: Stage,
  { world, backend, onFraction }: WorkContext,
): Promise<Recorded> {
  const { model, adapter } = stageFolders(stage);
  const policy = await loadLocalPolicy(model, { adapter });
  const questions = await readFreshTest(test, world);
  const { retriever } = test.nearMisses ? withNearMisses(world) : world;
  const answers = await evaluatePolicy(policy, retriever, questions, {
    rollout: stageRollout(stage),
    batchSize: evaluationBatchSize(backend),
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose();
  return { answers };
}

/** For the test on one core, for estimates only. */
const ROUGH_SECONDS = 60;

async function listStageJobs(test: TrainingTestSpec): Promise<Job<Stage>[]> {
  const draw = await freshTestHash(test);
  const data = await dataHash();
  const jobs = listStages(test)
    .filter(({ run }) => isTrained(run))
    .map(async (input) => {
      const weights = await contentHash(committedWeights(stageFolders(input)));
      const nearMisses = test.nearMisses && { nearMisses: NEAR_MISSES };
      const hash = configHash({ rollout: stageRollout(input), weights, data, draw, ...nearMisses });
      return { key: `${test.name}/${stageName(input)}`, hash, input, seconds: ROUGH_SECONDS };
    });
  return Promise.all(jobs);
}

/** Metrics that are also shown for single runs. */
export const STAGE_METRICS = ['evidence_seen', 'em', 'model_calls'] as const;

/** Measures for answers of runs with the same limit on search turns. */
const stageMeasures = (maxSearchTurns: number): Measure[] => [
  ...STAGE_METRICS.map(mainMeasure),
  mainMeasure('decomposition_ratio'),
  { metric: 'gave_up', numerator: (answer) => Number(gaveUp({ ...answer, maxSearchTurns })) },
];

/** How policies were trained: fields of rows. */
export interface Training {
  training: string;
  /** RL steps. */
  step: number;
  /** Passages per query, if they are compared. */
  k?: number;
  test: string;
}

/** Stages whose methods are compared with each other. */
export interface StageGroup extends Omit<Training, 'k' | 'test'> {
  stages: readonly Stage[];
}

interface TrainingTestSpec extends FreshTest {
  title: string;
  nearMisses?: boolean;
  groups: () => readonly StageGroup[];
  /** Default: ParallelSearch with Search-R1. */
  pairs?: readonly MethodPair[];
  /** Names the method of a run in rows. Default: its method. */
  nameMethod?: (run: PolicyRun) => string;
}

export interface TrainingTest extends TrainingTestSpec {
  /** Trains the missing runs, then answers the test. */
  experiment: Experiment;
}

const K = ', k = ';
/** Numbers of passages are compared like methods, under names that contain both. */
export const variantName = (method: string, topK?: number): string =>
  topK === undefined ? method : `${method}${K}${topK}`;
const readVariant = (name: string): { method: string; k?: number } => {
  const [method, k] = name.split(K);
  return { method, ...(k !== undefined && { k: Number(k) }) };
};

export const listStages = ({ groups }: Pick<TrainingTest, 'groups'>): Stage[] => {
  const stages = groups().flatMap((group) => group.stages);
  return [...new Map(stages.map((stage) => [stageName(stage), stage])).values()];
};

export const listTestRuns = (test: Pick<TrainingTest, 'groups'>): PolicyRun[] => [
  ...new Map(listStages(test).map(({ run }) => [runName(run), run])).values(),
];

/** @param spec.folder in {@link CONDITIONS} */
export function trainingTest(spec: TrainingTestSpec): TrainingTest {
  const test = { ...spec, folder: join(CONDITIONS, spec.folder) };
  const computation = defineComputation<Stage, Recorded>({
    // Estimated from runs with twice the steps, but without the time of dev answers.
    prepare: planTraining(() => listTestRuns(test), instructRuns),
    jobs: () => listStageJobs(test),
    work: (stage, context) => answerFreshTest(test, stage, context),
  });
  return { ...test, experiment: { name: test.name, title: test.title, computation } };
}

export interface TrainingTestResults {
  test: TrainingTest;
  /** A row per figure and training, and per difference between methods. */
  rows: (TidyRow & Training)[];
  contrasts: (TidyContrast & Training)[];
  /** Answers with the method's name in rows. */
  answered: (Stage & { method: string; answers: QuestionResult[] })[];
  done: Done<Stage, Recorded>[];
}

/** @throws Error with the command that trains missing runs and computes their answers */
export async function loadTrainingTest(
  test: TrainingTest,
  folder?: string,
): Promise<TrainingTestResults> {
  const { pairs = [BOTH_METHODS], nameMethod = ({ method }) => method } = test;
  const done = await requireResults<Stage, Recorded>(test.experiment, folder);
  const answered = done.map(({ job: { input }, record }) => {
    const method = nameMethod(input.run);
    const named = { ...identify(input.run), method: variantName(method, input.topK) };
    const answers = record.value.answers.map((answer): QuestionResult => ({ ...answer, ...named }));
    return { ...input, method, answers };
  });
  const answersByStage = new Map(answered.map((stage) => [stageName(stage), stage.answers]));
  const missing = listStages(test)
    .map(stageName)
    .find((name) => !answersByStage.has(name));
  if (missing)
    throw new Error(
      `Expected all runs of ${test.name} to be trained, but ${missing} is not. Run "npx parallelsearch experiment ${test.name}".`,
    );
  const measures = stageMeasures(rolloutForRun(answered[0].run).maxSearchTurns);
  const settings = {
    measures,
    pairs,
    filter: isShown,
    weightsId: (name: string) => readVariant(name).method,
  };
  const tables = test.groups().map(({ training, step, stages: compared }) => {
    const fields = { training, step, test: test.name };
    const answers = compared.flatMap((stage) => answersByStage.get(stageName(stage))!);
    const tidy = summarise({ answers, provenance: {} }, settings);
    const { rows, contrasts } = splitNames(tidy, readVariant);
    return {
      rows: rows.map((row) => ({ ...row, ...fields })),
      contrasts: contrasts.map((row) => ({ ...row, ...fields })),
    };
  });
  return {
    test,
    rows: tables.flatMap(({ rows }) => rows),
    contrasts: tables.flatMap(({ contrasts }) => contrasts),
    answered,
    done,
  };
}
