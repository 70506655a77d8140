/**
 * RL from a habit: initial models that search once, with one query for everything, and
 * answer from what they find. How many steps does each method need to search enough? The
 * models without adapter, after a few steps and after training answer a test of their
 * own, drawn once the weights were frozen.
 */
import { HABIT_SEEDS_TEST, HABIT_TEST } from '../io/paths.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { BUDGET_METHODS } from './budget.js';
import { EARLY_STEP, listRuns, SEEDS } from './runs.js';
import { trainingTest } from './training-test.js';

/** RL steps from hasty models: half of the main comparison's, which takes an hour. */
export const HASTY_STEPS = 100;
/** Steps after which the test is answered; the last is the adapter chosen on dev. */
export const HABIT_STEPS = [0, EARLY_STEP, HASTY_STEPS] as const;

/** Both methods from each hasty model; default: with one seed. */
export const habitRuns = (seeds?: readonly number[]): PolicyRun[] =>
  listRuns({ methods: BUDGET_METHODS, models: ['hasty'], seeds }).map((run) => ({
    ...run,
    steps: HASTY_STEPS,
  }));

export const HABIT = trainingTest({
  name: 'habit',
  title: 'RL from models that search once and answer',
  folder: HABIT_TEST,
  label: 'habit',
  groups: () =>
    HABIT_STEPS.map((step) => ({
      training: 'hasty',
      step,
      stages: habitRuns().map((run) => ({ run, step })),
    })),
});

/** Whether another RL seed does the same: both seeds answer a test of their own. */
export const HABIT_SEEDS = trainingTest({
  name: 'habit-seeds',
  title: 'RL from models that search once and answer, with two seeds',
  folder: HABIT_SEEDS_TEST,
  label: 'habitSeeds',
  groups: () =>
    [EARLY_STEP, HASTY_STEPS].map((step) => ({
      training: 'hasty_two_seeds',
      step,
      stages: habitRuns(SEEDS).map((run) => ({ run, step })),
    })),
});
