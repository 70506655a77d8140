/** Fresh tests of trainings: the policies of runs, after so many steps, answer once. */
import { join } from 'node:path';
import type { QuestionResult } from '../../evaluation/result.js';
import {
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../../evaluation/table.js';
import { CONDITIONS } from '../../io/paths.js';
import { runName, type PolicyRun } from '../../training/policy-runs.js';
import { BOTH_METHODS } from '../../training/methods.js';
import { defineComputation, type Experiment } from '../experiment.js';
import {
  answerFreshTest,
  listStageJobs,
  stageMeasures,
  stageName,
  type FreshTest,
  type Stage,
  type StageRecord,
} from '../running/fresh-test.js';
import { findResults, type Done } from '../running/records.js';
import { identify, instructRuns } from '../running/runs.js';
import { splitNames, summarise } from '../results/summary.js';
import { planTraining } from '../running/train-runs.js';

/** How policies were trained: fields of rows. */
export interface Training {
  training: string;
  /** RL steps. */
  step: number;
  /** Passages per query, if they are compared. */
  k?: number;
}

/** Stages whose methods are compared with each other. */
export interface StageGroup extends Training {
  stages: readonly Stage[];
}

interface TrainingTestSpec extends FreshTest {
  title: string;
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

/** For the test on one core, for estimates only. */
const ROUGH_SECONDS = 60;

const K = ', k = ';
/** Numbers of passages are compared like methods, under names that contain both. */
export const variantName = (method: string, topK?: number): string =>
  topK === undefined ? method : `${method}${K}${topK}`;
const readVariant = (name: string): { method: string; k?: number } => {
  const [method, k] = name.split(K);
  return { method, ...(k !== undefined && { k: Number(k) }) };
};

/** The distinct stages of all groups. */
export const listStages = ({ groups }: Pick<TrainingTest, 'groups'>): Stage[] => {
  const stages = groups().flatMap((group) => group.stages);
  return [...new Map(stages.map((stage) => [stageName(stage), stage])).values()];
};

/** The distinct runs of all groups. */
export const listTestRuns = (test: Pick<TrainingTest, 'groups'>): PolicyRun[] => [
  ...new Map(listStages(test).map(({ run }) => [runName(run), run])).values(),
];

/** @param spec.folder in {@link CONDITIONS} */
export function trainingTest(spec: TrainingTestSpec): TrainingTest {
  const test = { ...spec, folder: join(CONDITIONS, spec.folder) };
  const computation = defineComputation<Stage, StageRecord>({
    // Estimated from runs with twice the steps, but without the time of dev answers.
    prepare: planTraining(() => listTestRuns(test), instructRuns),
    jobs: () => listStageJobs(test, listStages(test), ROUGH_SECONDS),
    work: (stage, context) => answerFreshTest(test, stage, context),
  });
  return { ...test, experiment: { name: test.name, title: test.title, computation } };
}

export interface TrainingTestResults {
  /** A row per figure and training, and per difference between methods. */
  rows: (TidyRow & Training)[];
  contrasts: (TidyContrast & Training)[];
  /** Answers with the method's name in rows. */
  answered: (Stage & { method: string; answers: QuestionResult[] })[];
  done: Done<Stage, StageRecord>[];
}

/** Null before all runs are trained and have answered. */
export async function loadTrainingTest(
  { experiment, groups, pairs = [BOTH_METHODS], nameMethod = ({ method }) => method }: TrainingTest,
  folder?: string,
  options: SummaryOptions = {},
): Promise<TrainingTestResults | null> {
  const done = await findResults<Stage, StageRecord>(experiment, folder);
  const stages = listStages({ groups });
  if (!done) return null;
  const answered = done.map(({ job: { input }, record }) => {
    const method = nameMethod(input.run);
    const named = { ...identify(input.run), method: variantName(method, input.topK) };
    const answers = record.value.answers.map((answer): QuestionResult => ({ ...answer, ...named }));
    return { ...input, method, answers };
  });
  const answersOf = new Map(answered.map((stage) => [stageName(stage), stage.answers]));
  if (!stages.every((stage) => answersOf.has(stageName(stage)))) return null;
  const measures = stageMeasures(stages.map(({ run }) => run));
  const settings = { measures, pairs, weightsId: (name: string) => readVariant(name).method };
  const tables = groups().map(({ training, step, stages: compared }) => {
    const answers = compared.flatMap((stage) => answersOf.get(stageName(stage))!);
    const tidy = summarise({ answers, provenance: {} }, settings, options);
    const { rows, contrasts } = splitNames(tidy, readVariant);
    return {
      rows: rows.map((row) => ({ ...row, training, step })),
      contrasts: contrasts.map((row) => ({ ...row, training, step })),
    };
  });
  return {
    rows: tables.flatMap(({ rows }) => rows),
    contrasts: tables.flatMap(({ contrasts }) => contrasts),
    answered,
    done,
  };
}
