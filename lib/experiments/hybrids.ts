/**
 * Comparisons of two chains (hybrid questions), on which ParallelSearch falls behind: is
 * it because RL has none of them, because of Eq. 4, or because no demonstration searched
 * both chains at once? Both methods are trained with a fifth of hybrids in RL, with and
 * without the decomposition reward, and from models that have seen both chains searched
 * at once. The tests, one after the other, are their own, with many hybrids.
 */
import { HYBRIDS_TEST, PAIRED_TEST } from '../io/paths.js';
import { type SummaryOptions, type TidyContrast, type TidyRow } from '../evaluation/table.js';
import type { PolicyRun } from '../training/stored-policies.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import { computation, type Experiment } from './experiment.js';
import {
  answerFreshTest,
  listStageJobs,
  readStages,
  stageName,
  stageMeasures,
  type FreshTest,
  type Stage,
  type StageRecord,
} from './fresh-test.js';
import type { Done } from './records.js';
import { summarise } from './report.js';
import { listRuns } from './runs.js';
import { planTraining } from './train-runs.js';

/** RL steps: the main comparison's 200 take too long here. */
const STEPS = { mixed: 100, paired: 50 };
/** Of the training questions. */
const HYBRID_SHARE = 0.2;
/** The paper's reward without r_d, so that Eq. 4 says nothing about hybrids. */
const WITHOUT_RD = { lambdaD: 0, lambdaS: 0.35 };

const mixedRuns = (): PolicyRun[] =>
  budgetRuns().map((run) => ({ ...run, steps: STEPS.mixed, hybridShare: HYBRID_SHARE }));
/** Search-R1 has no r_d to leave out. */
const runsWithoutRd = (): PolicyRun[] =>
  mixedRuns().map((run) =>
    run.method === BUDGET_METHODS[0] ? { ...run, lambdas: WITHOUT_RD } : run,
  );
const pairedRuns = (): PolicyRun[] =>
  listRuns({ methods: BUDGET_METHODS, models: ['paired'] }).map((run) => ({
    ...run,
    steps: STEPS.paired,
  }));

/** Runs that these experiments train; some of them twice in the list. */
export const hybridRuns = (): PolicyRun[] => [...mixedRuns(), ...runsWithoutRd(), ...pairedRuns()];

const atStep =
  (step: number) =>
  (run: PolicyRun): Stage => ({ run, step });

/** What answers a test, by how it was trained. */
const HYBRID_TRAININGS = {
  /** As in the main comparison, with its 200 steps. */
  main: () => budgetRuns().map(atStep(200)),
  mixed: () => mixedRuns().map(atStep(STEPS.mixed)),
  mixed_without_rd: () => runsWithoutRd().map(atStep(STEPS.mixed)),
  paired_before_rl: () => pairedRuns().map(atStep(0)),
  paired: () => pairedRuns().map(atStep(STEPS.paired)),
} as const;
export type HybridTraining = keyof typeof HYBRID_TRAININGS;

/** A fresh test with many hybrids, and the trainings whose policies answer it. */
export interface HybridTest extends FreshTest {
  trainings: readonly HybridTraining[];
}

export const HYBRIDS: HybridTest = {
  name: 'hybrids',
  folder: HYBRIDS_TEST,
  label: 'hybrid',
  trainings: ['main', 'mixed'],
};
export const PAIRED: HybridTest = {
  name: 'paired',
  folder: PAIRED_TEST,
  label: 'paired',
  trainings: ['main', 'mixed', 'mixed_without_rd', 'paired_before_rl', 'paired'],
};

/** The stages that answer a test; one that two trainings share, once. */
export const hybridStages = ({ trainings }: HybridTest): Stage[] => {
  const stages = trainings.flatMap((training) => HYBRID_TRAININGS[training]());
  return [...new Map(stages.map((stage) => [stageName(stage), stage])).values()];
};

/** For the test on one core; only for estimates. */
const ROUGH_SECONDS = 60;

const hybridExperiment = (test: HybridTest, title: string): Experiment => ({
  name: test.name,
  title,
  computation: computation<Stage, StageRecord>({
    // Runs with twice the steps, but without the time of dev answers, give an estimate.
    prepare: planTraining(
      () => [...new Set(hybridStages(test).map(({ run }) => run))].filter(({ steps }) => steps),
      budgetRuns,
    ),
    jobs: () => listStageJobs(test, hybridStages(test), ROUGH_SECONDS),
    work: (stage, context) => answerFreshTest(test, stage, context),
  }),
});

export const hybrids = hybridExperiment(HYBRIDS, 'comparisons of two chains in RL');
export const paired = hybridExperiment(
  PAIRED,
  'comparisons of two chains without the decomposition reward, and in demonstrations',
);

/** Answers by how the policies were trained. */
export interface HybridResults {
  /** A row per figure and training, and per difference between the methods. */
  rows: (TidyRow & { training: HybridTraining })[];
  contrasts: (TidyContrast & { training: HybridTraining })[];
  done: Done<Stage, StageRecord>[];
}

/**
 * Trainings whose runs have all answered a test; null if only the main comparison's have.
 */
export async function loadHybrids(
  test: HybridTest,
  folder?: string,
  options: SummaryOptions = {},
): Promise<HybridResults | null> {
  const stages = await readStages(test === HYBRIDS ? hybrids : paired, folder);
  if (stages === null) return null;
  const answersOf = new Map(stages.answered.map((stage) => [stageName(stage), stage.answers]));
  const trainings = test.trainings.flatMap((training) => {
    const answers = HYBRID_TRAININGS[training]().map((stage) => answersOf.get(stageName(stage)));
    return answers.every((own) => own !== undefined) ? [{ training, answers: answers.flat() }] : [];
  });
  if (trainings.length < 2) return null;
  const settings = { measures: stageMeasures(hybridRuns()), pairs: [BUDGET_METHODS] };
  const tables = trainings.map(({ training, answers }) => {
    const { rows, contrasts } = summarise({ answers, provenance: {} }, settings, options);
    return {
      rows: rows.map((row) => ({ ...row, training })),
      contrasts: contrasts.map((contrast) => ({ ...contrast, training })),
    };
  });
  return {
    rows: tables.flatMap(({ rows }) => rows),
    contrasts: tables.flatMap(({ contrasts }) => contrasts),
    done: stages.done,
  };
}
