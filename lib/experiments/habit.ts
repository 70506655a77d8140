/**
 * RL from a habit: initial models that search once, with one query for everything, and
 * answer from what they find. How many steps does each method need to search enough? The
 * models without adapter, after a few steps and after training answer a test of their
 * own, drawn once the weights were frozen.
 */
import { mean } from 'd3-array';
import { mainMeasure } from '../evaluation/metrics.js';
import { MANY } from '../evaluation/selections.js';
import {
  matching,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../evaluation/table.js';
import { HABIT_TEST } from '../io/paths.js';
import { modelNameForRun, type PolicyRun } from '../training/stored-policies.js';
import { trainingRows, type TrainingRow } from '../report/curves.js';
import { readCurves } from './answers.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import { computation, type Experiment } from './experiment.js';
import {
  answerFreshTest,
  listStageJobs,
  readStages,
  STAGE_METRICS,
  stageMeasures,
  type FreshTest,
  type Stage,
  type StageRecord,
} from './fresh-test.js';
import type { Done } from './records.js';
import { summarise } from './report.js';
import { EARLY_STEP, INIT_SEEDS, SEEDS } from './runs.js';
import { planTraining } from './train-runs.js';

/** RL steps from hasty models: half of the main comparison's, which takes an hour. */
export const HASTY_STEPS = 100;
/** Steps after which the test is answered; the last is the adapter chosen on dev. */
export const HABIT_STEPS = [0, EARLY_STEP, HASTY_STEPS] as const;

/** Both methods from each hasty model, with one seed. */
export const habitRuns = (): PolicyRun[] =>
  INIT_SEEDS.flatMap((initSeed) =>
    BUDGET_METHODS.map(
      (method): PolicyRun => ({
        method,
        model: 'hasty',
        initSeed,
        seed: SEEDS[0],
        steps: HASTY_STEPS,
      }),
    ),
  );

export const HABIT: FreshTest = { name: 'habit', folder: HABIT_TEST, label: 'habit' };

/** For the test on one core; only for estimates. */
const ROUGH_SECONDS = 60;

export const habit: Experiment = {
  name: 'habit',
  title: 'RL from models that search once and answer',
  computation: computation<Stage, StageRecord>({
    // Runs with twice the steps, but without the time of dev answers, give an estimate.
    prepare: planTraining(habitRuns, budgetRuns),
    jobs: () =>
      listStageJobs(
        HABIT,
        habitRuns().flatMap((run) => HABIT_STEPS.map((step) => ({ run, step }))),
        ROUGH_SECONDS,
      ),
    work: (stage, context) => answerFreshTest(HABIT, stage, context),
  }),
};

const MEANS = STAGE_METRICS.map(mainMeasure);

/** A mean of one training over comparisons of two to eight. */
interface TrainingMean {
  initial_model: string;
  method: string;
  step: number;
  metric: string;
  value: number;
}

/** Answers and curves of the runs from hasty models. */
export interface HabitResults {
  /** A row per figure and step, and per difference between the methods. */
  rows: (TidyRow & { step: number })[];
  contrasts: (TidyContrast & { step: number })[];
  /** The same by initial model, without intervals: each is one training. */
  trainings: TrainingMean[];
  /** Searches of the rollouts in training; evidence and searches of dev answers. */
  curves: TrainingRow[];
  done: Done<Stage, StageRecord>[];
}

/** Null before the runs are trained and have answered. */
export async function loadHabit(
  folder?: string,
  { filter, ...options }: SummaryOptions = {},
): Promise<HabitResults | null> {
  const stages = await readStages(habit, folder);
  if (stages === null) return null;
  const { done, answered } = stages;
  const atStep = HABIT_STEPS.map((step) => {
    const answers = matching(answered, { step }).flatMap((one) => one.answers);
    const settings = { measures: stageMeasures(habitRuns()), pairs: [BUDGET_METHODS], filter };
    const { rows, contrasts } = summarise({ answers, provenance: {} }, settings, options);
    return {
      rows: rows.map((row) => ({ ...row, step })),
      contrasts: contrasts.map((contrast) => ({ ...contrast, step })),
    };
  });
  return {
    rows: atStep.flatMap(({ rows }) => rows),
    contrasts: atStep.flatMap(({ contrasts }) => contrasts),
    trainings: answered.flatMap(({ run, step, answers }) =>
      MEANS.map(({ metric, numerator }) => ({
        initial_model: modelNameForRun(run),
        method: run.method,
        step,
        metric,
        value: mean(matching(answers, { benchmark: MANY }), numerator)!,
      })),
    ),
    curves: await readHabitCurves(),
    done,
  };
}

const TRAINING_METRICS = ['turns', 'turns/sequential', 'decomposition_ratio/parallelizable'];

/** The last generation answers. */
const searchesOf = (modelCalls: unknown): number => Number(modelCalls) - 1;

async function readHabitCurves(runs = habitRuns()): Promise<TrainingRow[]> {
  const dev = await readCurves(runs, undefined, 'dev.jsonl');
  const points = dev.map(({ evidenceSeen, modelCalls, ...point }) => ({
    ...point,
    evidence_seen: evidenceSeen,
    turns: searchesOf(modelCalls),
  }));
  const training = await readCurves(runs);
  return [
    ...trainingRows(training, TRAINING_METRICS, HASTY_STEPS / 5),
    ...trainingRows(points, ['evidence_seen', 'turns'], Infinity).map((row) => ({
      ...row,
      benchmark: 'dev' as const,
    })),
  ];
}
