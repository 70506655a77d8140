/**
 * Comparisons of two chains (hybrid questions), on which ParallelSearch falls behind: is
 * it because RL has none of them, or because no demonstration searched both chains at
 * once? Both methods are trained with a fifth of hybrids in RL, and from models that have
 * seen both chains searched at once. The test is one of its own, with many hybrids.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKPOINTS, HYBRIDS_TEST } from '../io/paths.js';
import { type SummaryOptions, type TidyContrast, type TidyRow } from '../evaluation/table.js';
import { modelNameForRun, type PolicyRun } from '../training/stored-policies.js';
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

const mixedRuns = (): PolicyRun[] =>
  budgetRuns().map((run) => ({ ...run, steps: STEPS.mixed, hybridShare: HYBRID_SHARE }));
const pairedRuns = (): PolicyRun[] =>
  listRuns({ methods: BUDGET_METHODS, models: ['paired'] }).map((run) => ({
    ...run,
    steps: STEPS.paired,
  }));

/** Runs that this experiment trains. */
export const hybridRuns = (): PolicyRun[] => [...mixedRuns(), ...pairedRuns()];

/** Paired models are not in the repository yet; `tools` trains them. */
const hasModel = (run: PolicyRun): boolean => existsSync(join(CHECKPOINTS, modelNameForRun(run)));

const atStep =
  (step: number) =>
  (run: PolicyRun): Stage => ({ run, step });

/** What answers the test, by how it was trained. */
export const HYBRID_TRAININGS = {
  /** As in the main comparison, with its 200 steps. */
  main: () => budgetRuns().map(atStep(200)),
  mixed: () => mixedRuns().map(atStep(STEPS.mixed)),
  paired_before_rl: () => pairedRuns().map(atStep(0)),
  paired: () => pairedRuns().map(atStep(STEPS.paired)),
} as const;
type HybridTraining = keyof typeof HYBRID_TRAININGS;
const TRAININGS = Object.keys(HYBRID_TRAININGS) as HybridTraining[];

export const HYBRIDS: FreshTest = { name: 'hybrids', folder: HYBRIDS_TEST, label: 'hybrid' };

/** For the test on one core; only for estimates. */
const ROUGH_SECONDS = 100;

export const hybrids: Experiment = {
  name: 'hybrids',
  title: 'comparisons of two chains in RL, and in demonstrations',
  computation: computation<Stage, StageRecord>({
    // Runs with twice the steps, but without the time of dev answers, give an estimate.
    prepare: planTraining(() => hybridRuns().filter(hasModel), budgetRuns),
    jobs: () =>
      listStageJobs(
        HYBRIDS,
        TRAININGS.flatMap((training) => HYBRID_TRAININGS[training]()),
        ROUGH_SECONDS,
      ),
    work: (stage, context) => answerFreshTest(HYBRIDS, stage, context),
  }),
};

/** Answers by how the policies were trained. */
export interface HybridResults {
  /** A row per figure and training, and per difference between the methods. */
  rows: (TidyRow & { training: HybridTraining })[];
  contrasts: (TidyContrast & { training: HybridTraining })[];
  done: Done<Stage, StageRecord>[];
}

/** Trainings whose runs have all answered; null if only the main comparison's have. */
export async function loadHybrids(
  folder?: string,
  options: SummaryOptions = {},
): Promise<HybridResults | null> {
  const stages = await readStages(hybrids, folder);
  if (stages === null) return null;
  const answersOf = new Map(stages.answered.map((stage) => [stageName(stage), stage.answers]));
  const trainings = TRAININGS.flatMap((training) => {
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
