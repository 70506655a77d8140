/**
 * RL from a habit: initial models that search once, with one query for everything, and
 * answer from what they find. How many steps does each method need to search enough? The
 * models without adapter, after a few steps and after training answer a test of their
 * own, drawn once the weights were frozen.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mean } from 'd3-array';
import { readQuestions } from '../data/flashrag.js';
import type { Question } from '../data/question.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { Measurement, QuestionResult } from '../evaluation/result.js';
import { MANY } from '../evaluation/selections.js';
import {
  matching,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../evaluation/table.js';
import { HABIT_TEST } from '../io/paths.js';
import { configHash, contentHash, type Provenance } from '../io/provenance.js';
import { loadLocalPolicy } from '../policy/model-folder.js';
import { readDraw, type World } from '../retrieval/small-world.js';
import { gaveUp } from '../rewards/sub-questions.js';
import {
  isTrained,
  modelNameForRun,
  rolloutForRun,
  runName,
  weightFolders,
  type PolicyRun,
} from '../training/stored-policies.js';
import { trainingRows, type TrainingRow } from '../report/curves.js';
import { dataHash, evaluationBatchSize, readCurves, stratifiedSample } from './answers.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import { computation, type Experiment, type WorkContext } from './experiment.js';
import { readRecords, type Done } from './records.js';
import { summarise } from './report.js';
import { EARLY_STEP, INIT_SEEDS, SEEDS, stepFolder } from './runs.js';
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

const QUESTIONS = join(HABIT_TEST, 'questions.jsonl');
/** Before the draw, one dev question in this many is used. */
const ONE_OF = 10;

async function readHabitQuestions({ questions }: Pick<World, 'questions'>): Promise<Question[]> {
  if (existsSync(QUESTIONS)) return readQuestions(QUESTIONS);
  const dev = questions.filter(({ split }) => split === 'dev');
  return stratifiedSample(dev, { oneOf: ONE_OF, seed: 'habit' });
}

/** For the provenance. */
export async function describeHabitQuestions(): Promise<Provenance> {
  const draw = await readDraw(HABIT_TEST);
  return draw === null
    ? { habitQuestions: 'dev: the test of habits has not been drawn' }
    : { habitQuestions: 'fresh test', habitTestDrawnFrom: draw.commit };
}

/** A job: a run after so many RL steps. */
export interface HabitInput {
  run: PolicyRun;
  step: number;
}
/** What a job records. */
export interface HabitRecord {
  answers: Measurement[];
}

/** Folders of the model, and of the adapter after so many steps. */
function stageFolders({ run, step }: HabitInput): string[] {
  const [model, adapter] = weightFolders(run);
  if (step === 0) return [model];
  return [model, step < HASTY_STEPS ? join(adapter, stepFolder(step)) : adapter];
}

async function answerAtStep(
  input: HabitInput,
  { world, backend, onFraction }: WorkContext,
): Promise<HabitRecord> {
  const [model, adapter] = stageFolders(input);
  const policy = await loadLocalPolicy(model, { adapter });
  const questions = await readHabitQuestions(world);
  const answers = await evaluatePolicy(policy, world.retriever, questions, {
    rollout: rolloutForRun(input.run),
    batchSize: evaluationBatchSize(backend),
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose();
  return { answers };
}

/** For the test on one core; only for estimates. */
const ROUGH_SECONDS = 60;

export const habit: Experiment = {
  name: 'habit',
  title: 'RL from models that search once and answer',
  computation: computation<HabitInput, HabitRecord>({
    // Runs with twice the steps, but without the time of dev answers, give an estimate.
    prepare: planTraining(habitRuns, budgetRuns),
    jobs: async () => {
      const draw = existsSync(QUESTIONS) ? await contentHash([QUESTIONS]) : { devOneOf: ONE_OF };
      const data = await dataHash();
      const inputs = habitRuns()
        .filter((run) => isTrained(run))
        .flatMap((run) => HABIT_STEPS.map((step): HabitInput => ({ run, step })));
      return Promise.all(
        inputs.map(async (input) => {
          const weights = stageFolders(input).map((folder, i) =>
            join(folder, i === 0 ? 'model.safetensors' : 'adapter_model.safetensors'),
          );
          return {
            key: `habit/${runName(input.run)}-step${input.step}`,
            hash: configHash({
              rollout: rolloutForRun(input.run),
              weights: await contentHash(weights),
              data,
              draw,
            }),
            input,
            seconds: ROUGH_SECONDS,
          };
        }),
      );
    },
    work: answerAtStep,
  }),
};

/** The same for all of these runs. */
const [{ maxSearchTurns }] = habitRuns().map((run) => rolloutForRun(run));

const MEANS = (['evidence_seen', 'em', 'model_calls'] as const).map(mainMeasure);
const MEASURES: readonly Measure[] = [
  ...MEANS,
  mainMeasure('decomposition_ratio'),
  { metric: 'gave_up', numerator: (answer) => Number(gaveUp({ ...answer, maxSearchTurns })) },
];

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
  done: Done<HabitInput, HabitRecord>[];
}

/** Null before the runs are trained and have answered. */
export async function loadHabit(
  folder?: string,
  { filter, ...options }: SummaryOptions = {},
): Promise<HabitResults | null> {
  const records = await readRecords(habit, folder);
  if (records.length === 0 || records.some(({ done }) => done === null)) return null;
  const done = records.map((record) => record.done as Done<HabitInput, HabitRecord>);
  const answered = done.map(({ job: { input }, record }) => {
    const { method, model, initSeed, seed } = input.run;
    const named = { method, model, initSeed, seed };
    const answers = record.value.answers.map((answer): QuestionResult => ({ ...answer, ...named }));
    return { ...input, answers };
  });
  const atStep = HABIT_STEPS.map((step) => {
    const answers = matching(answered, { step }).flatMap((one) => one.answers);
    const settings = { measures: MEASURES, pairs: [BUDGET_METHODS], filter };
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
