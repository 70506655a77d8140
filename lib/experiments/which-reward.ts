/**
 * Which reward teaches what? The search-count reward r_s without parallel queries, and
 * the decomposition reward r_d without r_s, from models that search once and from those
 * that search entity by entity. The test is their own.
 */
import { REWARDS_TEST } from '../io/paths.js';
import { rewardConstants } from '../rewards/presets.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import { HABIT_STEPS, habitRuns } from './habit.js';
import { trainingTest } from './training-test.js';

const [PARALLEL, SEQUENTIAL] = BUDGET_METHODS;
const { lambdaD, lambdaS } = rewardConstants('paper');
/** RL steps from instruct models: of the runs with r_s, and of the others. */
const INSTRUCT_STEPS = { short: 50, main: 200 };

/** Names of the runs with other rewards than their method's. */
const COUNT_ONLY = 'Search-R1 with r_s';
const DECOMPOSITION_ONLY = 'ParallelSearch without r_s';

/** r_s joins Search-R1's outcome reward, under its prompt. */
const withCount = (run: PolicyRun): PolicyRun => ({
  ...run,
  lambdas: { lambdaD: 0, lambdaS },
  steps: run.steps ?? INSTRUCT_STEPS.short,
});
const withoutCount = (run: PolicyRun): PolicyRun => ({ ...run, lambdas: { lambdaD, lambdaS: 0 } });

/** Runs with the rewards of their methods, and the two variants of them. */
const withVariants = (runs: readonly PolicyRun[]): PolicyRun[] =>
  runs.flatMap((run) => [run, run.method === PARALLEL ? withoutCount(run) : withCount(run)]);

const nameMethod = ({ method, lambdas }: PolicyRun): string => {
  if (!lambdas) return method;
  return method === PARALLEL ? DECOMPOSITION_ONLY : COUNT_ONLY;
};

const [, ...HASTY] = HABIT_STEPS;

export const REWARDS = trainingTest({
  name: 'which-reward',
  title: 'the search-count reward without parallel queries, and the decomposition reward alone',
  folder: REWARDS_TEST,
  label: 'rewards',
  groups: () => [
    ...HASTY.map((step) => ({
      training: 'hasty',
      step,
      stages: withVariants(habitRuns()).map((run) => ({ run, step })),
    })),
    {
      training: 'instruct',
      step: INSTRUCT_STEPS.main,
      stages: withVariants(budgetRuns()).map((run) => ({
        run,
        step: run.steps ?? INSTRUCT_STEPS.main,
      })),
    },
  ],
  pairs: [
    BUDGET_METHODS,
    [COUNT_ONLY, SEQUENTIAL],
    [DECOMPOSITION_ONLY, SEQUENTIAL],
    [DECOMPOSITION_ONLY, PARALLEL],
  ],
  nameMethod,
});
